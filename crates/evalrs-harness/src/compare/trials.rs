//! Runs with several trials a prompt: what each can do, how reliably, how flaky it is, and who won what.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::capture::LatencyInterval;
use super::statistics::{Bootstrap, Interval, LatencyStats, mean, percentile, sorted};
use super::{
    ComparedRun, Matchup, Matchups, PairwiseWins, RunRank, id, label, of_each, pairwise, ranked,
    winner, write_pairwise, write_table,
};
use crate::lines::{JsonRecord, members_of};
use crate::words::fixed;
use evalrs_base::ordered_map::OrderedMap;

/// The flakiest prompts that a report lists.
const FLAKIEST: usize = 10;

/// The weights of the weighted strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrialsWeights {
    pub capability: f64,
    pub reliability: f64,
    pub consistency: f64,
}

impl Default for TrialsWeights {
    fn default() -> Self {
        Self { capability: 0.4, reliability: 0.4, consistency: 0.2 }
    }
}

fn rate(record: &JsonRecord, name: &str) -> f64 {
    record.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

fn pass_at_k(record: &JsonRecord) -> f64 {
    rate(record, "passAtK")
}

fn pass_exp_k(record: &JsonRecord) -> f64 {
    rate(record, "passExpK")
}

/// How far what is possible is from what is certain.
fn flakiness(record: &JsonRecord) -> f64 {
    (pass_at_k(record) - pass_exp_k(record)).max(0.0)
}

fn trials(record: &JsonRecord) -> impl Iterator<Item = &Value> {
    record.get("trials").and_then(Value::as_array).into_iter().flatten()
}

/// Ranks by what a run can do, how reliably, and how alike its trials are.
pub(crate) fn rank_weighted(matchup: &Matchup<'_>, weights: TrialsWeights) -> Vec<RunRank> {
    let total = |record: &JsonRecord| {
        pass_at_k(record) * weights.capability
            + pass_exp_k(record) * weights.reliability
            + (1.0 - flakiness(record)) * weights.consistency
    };
    ranked(matchup.contestants.iter().map(|one| (one.run, total(one.record))).collect())
}

/// Ranks by the median of pass@k over resamples of the trials.
pub(crate) fn rank_statistical(matchup: &Matchup<'_>, bootstrap: Bootstrap) -> Vec<RunRank> {
    let median = |record: &JsonRecord| {
        let passed = |trial: &Value| f64::from(u8::from(trial["pass"] == Value::Bool(true)));
        let passes: Vec<f64> = trials(record).map(passed).collect();
        if passes.is_empty() {
            return 0.0;
        }
        let k = record.get("k").and_then(Value::as_f64).unwrap_or(passes.len() as f64);
        bootstrap.resample(&passes, |mean| 1.0 - (1.0 - mean).powf(k)).median
    };
    ranked(matchup.contestants.iter().map(|one| (one.run, median(one.record))).collect())
}

/// The input of a custom comparison grader.
pub(crate) fn grader_input(matchup: &Matchup<'_>, runs: &[ComparedRun]) -> Value {
    let contestants = matchup.contestants.iter().map(|one| {
        let names = ["passRate", "passAtK", "passExpK", "k", "trials"];
        (label(runs, one.run), Value::Object(members_of(one.record, &names)))
    });
    let contestants: Map<String, Value> = contestants.collect();
    let first = matchup.contestants.first();
    let mut input =
        first.map(|one| members_of(one.record, &["id", "input", "hint"])).unwrap_or_default();
    input.insert("runs".to_owned(), json!(contestants));
    Value::Object(input)
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrialsComparison {
    meta: TrialsMeta,
    capability: OrderedMap<Spread>,
    reliability: OrderedMap<Spread>,
    flakiness: OrderedMap<Flakiness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<OrderedMap<Spread>>,
    performance: OrderedMap<TrialPerformance>,
    head_to_head: TrialsHeadToHead,
    per_prompt: Vec<ComparedTrials>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialsMeta {
    generated_at: String,
    runs: Vec<String>,
    prompt_count: usize,
    trials_per_prompt: f64,
    input_format: &'static str,
}

/// A value of every prompt or trial of a run: its mean and its spread.
#[derive(Clone, Debug)]
struct Spread {
    metric: SpreadMetric,
    average: f64,
    median: f64,
    p25: f64,
    p75: f64,
    interval: Option<Interval>,
}

/// What a spread is of: what it says of itself, and what its names end with.
#[derive(Clone, Copy, Debug)]
struct SpreadMetric {
    kind: Option<&'static str>,
    name: &'static str,
}

const CAPABILITY: SpreadMetric = SpreadMetric { kind: None, name: "PassAtK" };
const RELIABILITY: SpreadMetric = SpreadMetric { kind: Some("trial"), name: "PassExpK" };
const QUALITY: SpreadMetric = SpreadMetric { kind: Some("trial"), name: "Score" };

impl Spread {
    fn of(metric: SpreadMetric, values: &[f64], intervals: Option<Bootstrap>) -> Self {
        let sorted = sorted(values.iter().copied());
        Self {
            metric,
            average: mean(values),
            median: percentile(&sorted, 0.5),
            p25: percentile(&sorted, 0.25),
            p75: percentile(&sorted, 0.75),
            interval: intervals.map(|bootstrap| bootstrap.interval(values)),
        }
    }

    fn row(&self, label: &str) -> Vec<String> {
        let mut row = vec![label.to_owned(), fixed(self.average, 3)];
        row.extend(self.interval.map(|interval| interval.shown(3)));
        row.extend([self.median, self.p25, self.p75].map(|value| fixed(value, 3)));
        row
    }
}

impl Serialize for Spread {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { metric: SpreadMetric { kind, name }, average, median, p25, p75, interval } =
            self;
        let mut members = Map::new();
        members.extend(kind.map(|kind| ("type".to_owned(), json!(kind))));
        for (part, value) in [("avg", average), ("median", median), ("p25", p25), ("p75", p75)] {
            members.insert(format!("{part}{name}"), json!(value));
        }
        let intervals = interval.map(|interval| json!({format!("avg{name}"): interval}));
        members.extend(intervals.map(|intervals| ("confidenceIntervals".to_owned(), intervals)));
        members.serialize(to)
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Flakiness {
    #[serde(rename = "avgFlakiness")]
    average: f64,
    #[serde(rename = "medianFlakiness")]
    median: f64,
    flaky_prompt_count: usize,
    top_flaky_prompts: Vec<FlakyPrompt>,
}

#[derive(Clone, Debug, Serialize)]
struct FlakyPrompt {
    id: String,
    flakiness: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialPerformance {
    latency: LatencyStats,
    total_duration: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_intervals: Option<LatencyInterval>,
}

#[derive(Clone, Debug, Serialize)]
struct TrialsHeadToHead {
    capability: Vec<PairwiseWins>,
    reliability: Vec<PairwiseWins>,
    overall: Vec<PairwiseWins>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedTrials {
    id: String,
    capability_winner: Option<String>,
    reliability_winner: Option<String>,
    pass_at_k: OrderedMap<f64>,
    pass_exp_k: OrderedMap<f64>,
    flakiness: OrderedMap<f64>,
}

/// Compares runs by the ranks of each prompt that is compared. Intervals are only made where they are asked for.
pub(crate) fn compare(
    runs: &[ComparedRun],
    ranks: &[Vec<RunRank>],
    intervals: Option<Bootstrap>,
    generated_at: &str,
) -> TrialsComparison {
    let matchups = Matchups::of(runs);
    let best = |of: fn(&JsonRecord) -> f64| -> Vec<Option<usize>> {
        matchups.compared.iter().map(|matchup| strictly_best(matchup, of)).collect()
    };
    let capability = best(pass_at_k);
    let reliability = best(pass_exp_k);
    let overall: Vec<Option<usize>> = ranks.iter().map(|ranks| winner(ranks)).collect();
    let first = runs.iter().flat_map(|run| &run.records).next();
    let spread = |metric, of: fn(&JsonRecord) -> f64| {
        of_each(runs, |records| {
            Spread::of(metric, &records.iter().map(of).collect::<Vec<_>>(), intervals)
        })
    };
    TrialsComparison {
        meta: TrialsMeta {
            generated_at: generated_at.to_owned(),
            runs: runs.iter().map(|run| run.label.clone()).collect(),
            prompt_count: matchups.prompts,
            trials_per_prompt: first.and_then(|record| record.get("k")?.as_f64()).unwrap_or(0.0),
            input_format: "trials",
        },
        capability: spread(CAPABILITY, pass_at_k),
        reliability: spread(RELIABILITY, pass_exp_k),
        flakiness: of_each(runs, flakiness_of),
        quality: quality(runs, intervals),
        performance: of_each(runs, |records| performance(records, intervals)),
        per_prompt: per_prompt(&matchups, runs, &capability, &reliability),
        head_to_head: TrialsHeadToHead {
            capability: pairwise(runs, &capability),
            reliability: pairwise(runs, &reliability),
            overall: pairwise(runs, &overall),
        },
    }
}

/// Whose value is the highest, if it is so alone.
fn strictly_best(matchup: &Matchup<'_>, of: fn(&JsonRecord) -> f64) -> Option<usize> {
    let highest = matchup.contestants.iter().map(|one| of(one.record)).fold(f64::MIN, f64::max);
    let mut best = matchup.contestants.iter().filter(|one| of(one.record) >= highest);
    let first = best.next()?;
    best.next().is_none().then_some(first.run)
}

fn flakiness_of(records: &[JsonRecord]) -> Flakiness {
    let values: Vec<f64> = records.iter().map(flakiness).collect();
    let mut flaky: Vec<FlakyPrompt> = records
        .iter()
        .filter(|record| flakiness(record) > 0.0)
        .map(|record| FlakyPrompt { id: id(record).to_owned(), flakiness: flakiness(record) })
        .collect();
    flaky.sort_by(|left, right| right.flakiness.total_cmp(&left.flakiness));
    let flaky_prompt_count = flaky.len();
    flaky.truncate(FLAKIEST);
    Flakiness {
        average: mean(&values),
        median: percentile(&sorted(values), 0.5),
        flaky_prompt_count,
        top_flaky_prompts: flaky,
    }
}

/// The scores of all trials, of the runs that have some.
fn quality(runs: &[ComparedRun], intervals: Option<Bootstrap>) -> Option<OrderedMap<Spread>> {
    let of_run = |run: &ComparedRun| {
        let trials = run.records.iter().flat_map(trials);
        let scores: Vec<f64> = trials.filter_map(|trial| trial["score"].as_f64()).collect();
        let is_scored = !scores.is_empty();
        is_scored.then(|| (run.label.clone(), Spread::of(QUALITY, &scores, intervals)))
    };
    let quality: Vec<_> = runs.iter().filter_map(of_run).collect();
    (!quality.is_empty()).then_some(OrderedMap(quality))
}

fn performance(records: &[JsonRecord], intervals: Option<Bootstrap>) -> TrialPerformance {
    let durations: Vec<f64> =
        records.iter().flat_map(trials).filter_map(|trial| trial["duration"].as_f64()).collect();
    let intervals = intervals.filter(|_| !durations.is_empty());
    TrialPerformance {
        latency: LatencyStats::of(&durations),
        total_duration: durations.iter().sum(),
        confidence_intervals: intervals
            .map(|bootstrap| LatencyInterval { latency_mean: bootstrap.interval(&durations) }),
    }
}

fn per_prompt(
    matchups: &Matchups<'_>,
    runs: &[ComparedRun],
    capability: &[Option<usize>],
    reliability: &[Option<usize>],
) -> Vec<ComparedTrials> {
    let prompt = |(at, matchup): (usize, &Matchup<'_>)| ComparedTrials {
        id: matchup.id.to_owned(),
        capability_winner: capability[at].map(|run| label(runs, run)),
        reliability_winner: reliability[at].map(|run| label(runs, run)),
        pass_at_k: matchup.of_each(runs, pass_at_k),
        pass_exp_k: matchup.of_each(runs, pass_exp_k),
        flakiness: matchup.of_each(runs, flakiness),
    };
    matchups.compared.iter().enumerate().map(prompt).collect()
}

pub(crate) fn markdown(comparison: &TrialsComparison) -> String {
    let TrialsMeta { generated_at, runs, prompt_count, trials_per_prompt, .. } = &comparison.meta;
    let mut text = format!(
        "# Trials Comparison Report\n\nGenerated: {generated_at}\nRuns: {}\n\
         Prompts: {prompt_count} | Trials per prompt: {trials_per_prompt}\n\n",
        runs.join(", ")
    );
    let TrialsComparison { capability, reliability, quality, .. } = comparison;
    let has_intervals = capability.0.iter().any(|(_, spread)| spread.interval.is_some());
    let write_spreads =
        |text: &mut String, title: &str, average: &str, all: &OrderedMap<Spread>| {
            let interval = has_intervals.then_some("95% CI");
            let head = ["Run", average].into_iter().chain(interval).chain(["Median", "P25", "P75"]);
            text.push_str(title);
            let rows = all.0.iter().map(|(label, spread)| spread.row(label));
            write_table(text, &head.collect::<Vec<_>>(), rows);
        };
    write_spreads(&mut text, "## Capability (passAtK)\n\n", "Avg", capability);
    write_spreads(&mut text, "## Reliability (passExpK)\n\n", "Avg", reliability);
    text.push_str("## Flakiness\n\n");
    let rows = comparison.flakiness.0.iter().map(|(label, one)| {
        let shown =
            [fixed(one.average, 3), fixed(one.median, 3), one.flaky_prompt_count.to_string()];
        [label.clone()].into_iter().chain(shown).collect()
    });
    write_table(&mut text, &["Run", "Avg", "Median", "Flaky Prompts"], rows);
    if let Some(quality) = quality {
        write_spreads(&mut text, "## Quality (Scores)\n\n", "Avg Score", quality);
    }
    write_performance(&mut text, &comparison.performance, has_intervals);
    text.push_str("## Head-to-Head\n\n");
    let TrialsHeadToHead { capability, reliability, overall } = &comparison.head_to_head;
    write_pairwise(&mut text, "### By Capability\n", capability);
    write_pairwise(&mut text, "### By Reliability\n", reliability);
    write_pairwise(&mut text, "### Overall (Weighted)\n", overall);
    text.truncate(text.trim_end().len());
    text
}

fn write_performance(to: &mut String, all: &OrderedMap<TrialPerformance>, has_intervals: bool) {
    let mut head = vec!["Run", "P50 (ms)", "P90 (ms)", "P99 (ms)", "Mean (ms)"];
    head.extend(has_intervals.then_some("95% CI"));
    head.push("Total (ms)");
    let rows = all.0.iter().map(|(label, one)| {
        let LatencyStats { p50, p90, p99, mean, .. } = one.latency;
        let mut row = vec![label.clone()];
        row.extend([p50, p90, p99, mean].map(|value| fixed(value, 0)));
        if has_intervals {
            let interval = one.confidence_intervals.as_ref();
            row.push(interval.map_or_else(|| "-".to_owned(), |one| one.latency_mean.shown(0)));
        }
        row.push(fixed(one.total_duration, 0));
        row
    });
    to.push_str("## Performance (Latency)\n\n");
    write_table(to, &head, rows);
}
