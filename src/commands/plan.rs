//! `evalrs plan`: what a run would ask, why, and what it would cost. No effect at all.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::plan_batching::BatchingPlanner;
use crate::cli::PlanArgs;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_engine::inspect::cache_forecast::{CacheForecast, ShortPrefix};
use evalrs_engine::inspect::forecast::{Bill, DEFAULT_OUTPUT, FollowingBill, Forecast, forecast};
use evalrs_engine::inspect::preview::{Preview, preview};
use evalrs_engine::inspect::reasons::AskReasons;
use evalrs_engine::resolve::batches::access::is_for_batches;
use evalrs_engine::resolve::settings::{Settings, USUAL_LEAST};
use evalrs_engine::session::Session;
use evalrs_eval::evaluate::Purpose;
use evalrs_graph::inputs::{CellId, Chunk, Overrides};
use evalrs_graph::queries;
use evalrs_graph::results::{self, sample_id};
use evalrs_metrics::reason::Reason;
use evalrs_model::outcome::{ActionTally, Usage};
use evalrs_model::spec::GraderSpec;
use evalrs_report::plan as report;
use evalrs_report::plan::{
    CachingLine, CutLine, FollowingJudgments, Plan, PlanBasis, PlanLine, ShortPrompt,
    StoredElsewhere, TokenEstimate,
};
use evalrs_store::record;
use evalrs_store::record::history::History;
use evalrs_use_cases::batch_settings::open_batches;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::known_chunks::session_that_knows;
use evalrs_use_cases::open::{check_refreshed, loaded_session, overrides, refresh, refresh_target};
use evalrs_use_cases::remembered::CommandQuestion;
use evalrs_use_cases::settled_plan::{PlanQuestion, label_counts};
use evalrs_use_cases::shared_pull::{CacheNeed, pull_now};
use evalrs_use_cases::suites::suite_files;

/// Plans every suite in turn. Nothing is planned unless all of them are valid. What the last run knew is printed at
/// once, if nothing has changed since.
pub(crate) fn plan(args: &PlanArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let words = PlanQuestion {
        select: &args.select,
        store: &args.store,
        labels: args.labels.as_deref(),
        refresh: &args.refresh,
        retry_errors: args.retry_errors,
        json: args.json,
    };
    let cache_dir = args.store.cache_dir.as_deref();
    let question =
        CommandQuestion::of(&args.suites, cache_dir, &format!("{words:?}"), false, console);
    let is_other = args.part.partition.is_some() || args.pull || !args.trust.believe.is_empty();
    let question = question.filter(|_| !is_other);
    let is_known = question.map(|question| question.print_answer(console)).transpose()?;
    if is_known != Some(true) {
        plan_all(args, console)?;
    }
    Ok(ExitStatus::Success)
}

fn plan_all(args: &PlanArgs, console: &mut Console<'_>) -> Result<(), Error> {
    let partition = args.part.read(true, console)?;
    let mut loaded = Vec::new();
    let suites = suite_files(&args.suites, console.system)?;
    for suite in &suites {
        let over = Overrides {
            labels: args.labels.clone(),
            partition: partition.clone(),
            ..overrides(&args.select)
        };
        // What the last run knew rests on whom that believed, and on what was here then.
        let is_other_store = args.pull || !args.trust.believe.is_empty();
        let repeats_calls = args.retry_errors || !args.refresh.is_empty();
        let load =
            if repeats_calls || is_other_store { loaded_session } else { session_that_knows };
        let mut opened = load(suite, &args.store, over, console)?;
        opened.0.believe(&args.trust.believe)?;
        if args.pull {
            pull_now(&opened.0, CacheNeed { is_required: false }, console)?;
        }
        args.part.check(suite, &opened.1)?;
        loaded.push(opened);
    }
    check_refreshed(&args.refresh, loaded.iter().filter_map(|(_, session)| session.suite()))?;
    let settings = Settings {
        refresh: refresh(&args.refresh),
        refresh_target: refresh_target(&args.refresh),
        retry_errors: args.retry_errors,
        ..Settings::default()
    };
    let mut plans = Vec::new();
    for (at, (surroundings, mut session)) in loaded.into_iter().enumerate() {
        let batches = open_batches(&surroundings, &session, console.system);
        let settings = Settings { batches, ..settings.clone() };
        let (mut plan, basis) = plan_one(&surroundings, &mut session, &settings, console)?;
        if surroundings.workspace.shared_cache.is_some() && !args.pull {
            plan.unknown_remotely = plan.totals.to_ask;
        }
        if args.json {
            plans.push(plan);
            continue;
        }
        if at > 0 {
            writeln!(console.out)?;
        }
        console.show(&report::page(&plan, &basis))?;
    }
    match plans.as_slice() {
        [] => {}
        [plan] => console.write_json(plan)?,
        plans => console.write_json(plans)?,
    }
    Ok(())
}

fn plan_one(
    surroundings: &SuiteContext,
    session: &mut Session,
    settings: &Settings,
    console: &mut Console<'_>,
) -> Result<(Plan, PlanBasis), Error> {
    let store = surroundings.store(console)?;
    let mut preview = preview(session, store.as_ref(), console.system, settings);
    preview.look_elsewhere(session, store.as_ref());
    let home = surroundings.records();
    if preview.conversations_used.0 == 0
        && let Some(id) = record::last_id(console.system, &home)
    {
        // Those of the newest run were held by another state of the target: they are as dear as any.
        let used = record::conversations_used(console.system, &home, &id);
        preview.conversations_used = used.unwrap_or_default();
    }
    console.warn(&preview.warnings)?;
    let forecast = forecast(session, &preview, &surroundings.prices());
    let (reasons, previous) = if preview.to_ask.is_empty() {
        (BTreeMap::new(), None)
    } else {
        let names: Vec<&str> = preview.tallies.iter().map(|(name, _)| name.as_str()).collect();
        let suite = session.suite().map(|suite| suite.name.as_str()).unwrap_or_default();
        let samples = Some(samples(session, &preview));
        let history = History::read(console.system, &home, suite, &names, samples.as_ref());
        (reasons(session, &preview, &history), history.newest().map(str::to_owned))
    };
    let suite = session.suite().map(|suite| suite.name.clone()).unwrap_or_default();
    let basis = PlanBasis {
        conversations: preview.conversations_used.0,
        covered: covered(session),
        previous,
        recorded: forecast.recorded,
        assumed: forecast.is_assumed.then_some(DEFAULT_OUTPUT),
        answer: forecast.answer,
        elsewhere: elsewhere(&preview),
        unpriced: forecast.unpriced.clone(),
        secrets: secrets(session),
    };
    let labels = label_counts(session);
    let caching = caching_line(&forecast.caching);
    let out = preview.out;
    let batch_saves = batch_saves(session, &preview, &forecast);
    let plan = Plan {
        labels,
        caching,
        batch_saves,
        out,
        cut: cut_line(session),
        ..assembled(suite, &preview, &reasons, &forecast)
    };
    let ways = BatchingPlanner {
        surroundings,
        settings,
        store: store.as_ref(),
        used: &preview.used,
        plan: &plan,
    };
    let batching = ways.of_each_rubric(session, console.system);
    Ok((Plan { batching, ..plan }, basis))
}

/// How the samples are cut into parts, if they are.
fn cut_line(session: &Session) -> Option<CutLine> {
    let cut = queries::selection(&session.db, session.root).cut.as_ref()?;
    let part = session.root.overrides(&session.db).partition.as_ref()?.part;
    Some(CutLine { digest: cut.digest.clone(), part, parts: cut.parts.clone() })
}

/// Half of what the graders would cost whose judges can be part of a batch, less what caches take off anyway.
fn batch_saves(session: &Session, preview: &Preview, forecast: &Forecast) -> Option<Cost> {
    let mut missing = vec![0; forecast.graders.len()];
    for to_ask in &preview.to_ask {
        missing[to_ask.cell.grader] += 1;
    }
    let bills = forecast.graders.iter().enumerate();
    let own = bills.filter(|(at, _)| missing[*at] > 0 && is_for_batches(session, *at));
    let (judgments, bill) = own.fold((0, Bill::default()), |(judgments, sum), (at, bill)| {
        (judgments + missing[at], sum.and(*bill))
    });
    let cached = forecast.caching.saved.unwrap_or(Cost::ZERO).nanos();
    let half = bill.cost?.nanos() / 2;
    let saves = Cost::from_nanos(half.saturating_sub(cached));
    (judgments >= USUAL_LEAST && saves > Cost::ZERO).then_some(saves)
}

/// What the calls would read from caches; none where no requests begin alike.
fn caching_line(forecast: &CacheForecast) -> Option<CachingLine> {
    let CacheForecast { written, read, saved, short } = forecast;
    let too_short = short.iter().map(|ShortPrefix { model, least, tokens }| {
        (model.clone(), ShortPrompt { tokens: *tokens, least: *least })
    });
    let too_short = OrderedMap(too_short.collect());
    let line = CachingLine { written: *written, read: *read, saved: *saved, too_short };
    (line.read > 0 || !line.too_short.0.is_empty()).then_some(line)
}

/// The samples of the missing calls.
fn samples(session: &Session, preview: &Preview) -> BTreeSet<String> {
    let cells = preview.to_ask.iter().map(|to_ask| to_ask.cell);
    cells.filter_map(|CellId { chunk, case, .. }| sample_id(&session.db, chunk, case)).collect()
}

/// How many judgments are stored for other endpoints than the current one.
fn elsewhere(preview: &Preview) -> Vec<StoredElsewhere> {
    let endpoints = preview.elsewhere.values();
    let counted = endpoints.fold(BTreeMap::<(&str, &str), u64>::new(), |mut counted, endpoint| {
        *counted.entry((&endpoint.stored, &endpoint.asked)).or_default() += 1;
        counted
    });
    let counted = counted.into_iter().map(|((stored, asked), judgments)| StoredElsewhere {
        judgments,
        stored: stored.to_owned(),
        asked: asked.to_owned(),
    });
    counted.collect()
}

/// The variables of programs whose values are in no key.
fn secrets(session: &Session) -> Vec<String> {
    let programs = session.suite().into_iter().flat_map(|suite| &suite.graders);
    let variables = programs.flat_map(GraderSpec::programs).flat_map(|spec| &spec.env);
    let secrets = variables.filter(|variable| variable.is_secret);
    let names: BTreeSet<String> = secrets.map(|variable| variable.name.clone()).collect();
    names.into_iter().collect()
}

/// Grader → reason → how many actions it needs for it.
type Reasons = BTreeMap<usize, BTreeMap<Reason, u64>>;

/// Why each action would be called, counted.
fn reasons(session: &Session, preview: &Preview, history: &History) -> Reasons {
    let ask_reasons = AskReasons::new(session, history);
    let mut heads: HashMap<(Chunk, usize), Option<results::Head>> = HashMap::new();
    let mut counted = Reasons::new();
    for to_ask in preview.to_ask.iter().filter(|to_ask| to_ask.purpose != Purpose::Answer) {
        let CellId { chunk, case, grader } = to_ask.cell;
        let head =
            heads.entry((chunk, case)).or_insert_with(|| results::head(&session.db, chunk, case));
        let Some(head) = head else { continue };
        let Some(reason) = ask_reasons.reason(to_ask, head) else { continue };
        *counted.entry(grader).or_default().entry(reason).or_default() += 1;
    }
    counted
}

/// Puts the parts together, and sums them up.
fn assembled(suite: String, preview: &Preview, reasons: &Reasons, forecast: &Forecast) -> Plan {
    let mut graders = Vec::new();
    let mut all = PlannedActions::default();
    for (at, (name, tally)) in preview.tallies.iter().enumerate() {
        let own = PlannedActions {
            total: tally.total,
            cached: tally.cached,
            failures: preview.failures.get(at).copied().unwrap_or_default(),
            is_open: preview.is_open.get(at).copied().unwrap_or_default(),
            reasons: reasons.get(&at).cloned().unwrap_or_default(),
            bill: forecast.graders.get(at).copied().unwrap_or_default(),
            following: forecast.following.get(at).cloned().unwrap_or_default(),
        };
        all.add(&own);
        graders.push((name.clone(), own.line()));
    }
    let target = preview.conversations.map(|tally| target_line(tally, preview.conversations_used));
    let graders = OrderedMap(graders);
    Plan { suite, target, graders, totals: all.line(), ..Plan::default() }
}

/// What the target would be run for. What a conversation costs is the mean of those that are stored.
fn target_line(tally: ActionTally, used: (u64, Usage)) -> PlanLine {
    let to_ask = tally.total - tally.cached;
    let (known, used) = used;
    let mean = |sum: u64| sum.checked_div(known).map_or(0, |mean| mean * to_ask);
    let tokens = TokenEstimate { input: mean(used.input), output: mean(used.output) };
    let cost = used.cost.filter(|_| known > 0).map(|cost| Cost::from_nanos(mean(cost.nanos())));
    let cost = if to_ask == 0 { Some(Cost::ZERO) } else { cost };
    let ActionTally { total, cached, .. } = tally;
    PlanLine { total, cached, to_ask, tokens, cost, ..PlanLine::default() }
}

/// What of the files of a target is in its key, where the suite says of none that it rests on it.
fn covered(session: &Session) -> Option<String> {
    let live = session.suite()?.target.live()?;
    let says_something = !live.program.inputs.is_empty() || live.version.is_some();
    (!says_something).then(|| match live.program.shown() {
        shown if shown.is_empty() => "the settings in the suite".to_owned(),
        shown => format!("`{shown}`"),
    })
}

/// How many actions there are, are stored, and are stored as failures; whether there will be more, and what they cost.
#[derive(Default)]
struct PlannedActions {
    total: u64,
    cached: u64,
    failures: u64,
    is_open: bool,
    reasons: BTreeMap<Reason, u64>,
    bill: Bill,
    following: FollowingBill,
}

impl PlannedActions {
    fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.cached += other.cached;
        self.failures += other.failures;
        self.is_open |= other.is_open;
        for (reason, n) in &other.reasons {
            *self.reasons.entry(*reason).or_default() += n;
        }
        self.bill = self.bill.and(other.bill);
        self.following.judgments += other.following.judgments;
        self.following.bill = self.following.bill.and(other.following.bill);
        self.following.models.extend(other.following.models.iter().cloned());
    }

    fn line(self) -> PlanLine {
        let named = self.reasons.iter().map(|(reason, n)| (reason.name().to_owned(), *n));
        let line = PlanLine {
            total: self.total,
            cached: self.cached,
            failures: self.failures,
            to_ask: self.total - self.cached,
            at_least: self.is_open,
            reasons: OrderedMap(named.collect()),
            tokens: TokenEstimate { input: self.bill.input, output: self.bill.output },
            cost: self.bill.cost,
            following: None,
        };
        let FollowingBill { judgments, models, bill } = self.following;
        if judgments == 0 {
            return line;
        }
        let following = FollowingJudgments {
            at_most: judgments,
            models: models.into_iter().collect(),
            tokens: TokenEstimate { input: bill.input, output: bill.output },
            cost: bill.cost,
        };
        // Where nothing but the judgments that follow can be priced, zero is not what the grader costs.
        let cost = if line.asks_judges() { line.cost } else { None };
        PlanLine { cost, following: Some(following), ..line }
    }
}
