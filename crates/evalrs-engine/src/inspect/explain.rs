//! Finds everything that an explanation holds: plans, keys and what they are made of, stored outcomes with the layer that
//! has them, and what differs from an earlier run.
//!
//! Reads only. A session is brought up to what the store has before anything here is asked.
use std::sync::Arc;

use serde_json::{Map, Value};

use super::preview::ToAsk;
use super::reasons::{AskReasons, grader_settings};
use super::sent::FoundJudgment;
use crate::resolve::elsewhere::{OtherEndpoint, earlier_key};
use crate::session::Session;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_eval::action::Action;
use evalrs_eval::evaluate::{self, GradePlan, Purpose, ReadyGrader};
use evalrs_eval::grade;
use evalrs_eval::judge::question::{Order, Question};
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::labels::{labels, people};
use evalrs_graph::planned_actions::wanted;
use evalrs_graph::queries::{self, Grader, Threshold};
use evalrs_graph::{Db, answers, results};
use evalrs_metrics::explain::conversation::{ExplainedConversation, changes};
use evalrs_metrics::explain::{
    Against, ExplainedAction, ExplainedGrade, ExplainedLabel, ExplainedOpinion, ExplainedOutcome,
    ExplainedResult, TextChange, ValueChange, changed_values, differing, short_ingredient,
    short_setting,
};
use evalrs_metrics::reason::{Reason, StoreMiss};
use evalrs_metrics::results::{GradeLine, ResultLine};
use evalrs_model::key::{ActionKey, Ingredient, KeyMap};
use evalrs_model::spec::GraderKind;
use evalrs_store::OutcomeStore;
use evalrs_store::record::read::{PastLine, PastRun};
use evalrs_store::record::sample_lines::SampleLines;

/// The layers of the store, each with its name.
pub type Layers = Vec<(String, Arc<dyn OutcomeStore>)>;

/// A case as an earlier run found it.
struct PastCase<'a> {
    past: &'a PastRun,
    line: PastLine,
    is_same: bool,
}

/// Earlier runs, and what they say of the sample that is explained.
#[derive(Clone, Copy, Debug)]
pub struct EarlierRuns<'a> {
    /// The runs, the newest first.
    pub pasts: &'a [PastRun],
    /// Their lines of the sample.
    pub lines: &'a SampleLines<'a>,
}

impl<'a> EarlierRuns<'a> {
    /// The case in the newest run that does not have it as it is now; if all have, in the newest. Reads no further.
    fn compared_with(self, now: &NowLine<'_>) -> Option<PastCase<'a>> {
        let mut newest = None;
        for past in self.pasts {
            let lines = self.lines.of(past);
            let Some(line) = lines.iter().find(|line| {
                line.model == now.line.model
                    && line.trial == now.line.trial
                    && line.grades.contains_key(now.name)
            }) else {
                continue;
            };
            let is_same = now.is_same(past, line);
            let found = || PastCase { past, line: line.clone(), is_same };
            if !is_same {
                return Some(found());
            }
            newest.get_or_insert_with(found);
        }
        newest
    }
}

/// What an explanation is made from.
pub struct ExplanationSource<'a> {
    /// The session, with what the store has.
    pub session: &'a Session,
    /// The layers of the store.
    pub layers: &'a mut Layers,
    /// Why actions would be called.
    pub reasons: &'a AskReasons<'a>,
    /// Earlier runs, if they are compared with.
    pub earlier: Option<EarlierRuns<'a>>,
    /// The settings of the graders, in their order.
    pub settings: Vec<Value>,
    /// What is stored for another endpoint, where that was looked for.
    pub elsewhere: KeyMap<Arc<OtherEndpoint>>,
}

impl<'a> ExplanationSource<'a> {
    /// What is needed to explain the cases of `session`.
    pub fn new(
        session: &'a Session,
        layers: &'a mut Layers,
        reasons: &'a AskReasons<'a>,
        earlier: Option<EarlierRuns<'a>>,
    ) -> Self {
        let settings = grader_settings(session);
        Self { session, layers, reasons, earlier, settings, elsewhere: KeyMap::default() }
    }

    /// Explains one case.
    pub fn case(&mut self, chunk: Chunk, case: usize) -> Option<ExplainedResult> {
        let db = &self.session.db;
        let line = results::line(db, chunk, case)?;
        let head = results::head(db, chunk, case)?;
        let conversation = self.conversation(chunk, case, &line);
        let mut graders = Vec::new();
        for (ordinal, grader) in self.session.graders().iter().enumerate() {
            let cell = CellId { chunk, case, grader: ordinal };
            graders.push((grader.name(db).clone(), self.grade(cell, *grader, &line, &head)?));
        }
        Some(ExplainedResult {
            model: line.model,
            trial: line.trial,
            input: line.input,
            ground_truth: line.ground_truth,
            conversation,
            graders: OrderedMap(graders),
        })
    }

    fn grade(
        &mut self,
        cell: CellId,
        grader: Grader<'_>,
        line: &ResultLine,
        head: &results::Head,
    ) -> Option<ExplainedGrade> {
        let db = &self.session.db;
        let name = grader.name(db);
        let settings = self.settings.get(cell.grader)?.as_object().cloned().unwrap_or_default();
        let planned = queries::plans(db, cell.chunk, grader).get(cell.case)?;
        let mut actions = Vec::new();
        let ready = queries::ready(db, grader);
        let is_per_turn = matches!(planned, GradePlan::Turns(_));
        let Threshold(threshold) = grader.pass_threshold(db);
        // Ballots that confirm are no part of a verdict that needs no confirmation.
        for (ballot, key) in wanted(db, cell) {
            let purpose = planned.purpose(ballot.turn);
            // The conversation is explained once, for all graders.
            if purpose != Purpose::Answer {
                let to_ask = ToAsk { cell, ballot, key, purpose, held: StoreMiss::Nothing };
                let mut action = self.action(grader, ready, &to_ask, head)?;
                action.turn = is_per_turn.then_some(ballot.turn);
                actions.push(action);
            }
        }
        let is_graded =
            evaluate::grade(planned, ready, &|key| db.outcome(key), threshold).is_some();
        let is_whole = is_graded && actions.iter().all(|action| action.outcome.is_some());
        let grade = line.grades.get(name).filter(|_| is_whole).cloned();
        let now = NowLine { line, name, settings: &settings, own_rubric: head.own_rubric };
        let against = self.against(&now, actions.first().map(|action| &action.ingredients[..]));
        Some(ExplainedGrade {
            label: self.label(cell, grader, grade.as_ref()),
            pending: matches!(planned, GradePlan::Converse(_))
                .then_some("the agent has not been run on this sample"),
            looked_at: looked_at(grader.kind(db)),
            submission: line.submission_of(name).unwrap_or_default().to_owned(),
            settings,
            grade,
            actions,
            against,
        })
    }

    /// Human labels of the case.
    fn label(
        &self,
        cell: CellId,
        grader: Grader<'_>,
        grade: Option<&GradeLine>,
    ) -> Option<ExplainedLabel> {
        let db = &self.session.db;
        let Threshold(threshold) = grader.pass_threshold(db);
        let label = labels(db, cell.chunk, grader).get(cell.case).copied().flatten();
        let said = people(db, cell.chunk, grader).get(cell.case).into_iter().flatten();
        let people: Vec<ExplainedOpinion> = said
            .map(|(who, label)| ExplainedOpinion::new(who.as_deref(), *label, threshold))
            .collect();
        if label.is_none() && people.is_empty() {
            return None;
        }
        let verdict = grade.filter(|grade| grade.error.is_none()).map(|grade| grade.pass);
        let label = label.map(|label| ExplainedOpinion::new(None, label, threshold));
        let agrees = label.as_ref().zip(verdict).map(|(label, pass)| label.passes == pass);
        let disputed = people.iter().any(|one| one.passes) && people.iter().any(|one| !one.passes);
        Some(ExplainedLabel { label, agrees, disputed, people })
    }

    fn action(
        &mut self,
        grader: Grader<'_>,
        ready: &ReadyGrader,
        to_ask: &ToAsk,
        head: &results::Head,
    ) -> Option<ExplainedAction> {
        let db = &self.session.db;
        let ToAsk { cell, ballot, key, .. } = *to_ask;
        let action = results::action_of(db, cell.chunk, cell.case, grader, ballot)?;
        let is_there = db.outcome(key).is_some();
        let mut to_ask = *to_ask;
        if !is_there
            && let Some(earlier) = earlier_key(self.session, cell, ballot, to_ask.purpose)
            && self.stored(earlier).is_some()
        {
            to_ask.held = StoreMiss::Superseded;
        }
        let elsewhere = self.elsewhere.get(&key).map(|endpoint| endpoint.stored.clone());
        if elsewhere.is_some() {
            to_ask.held = StoreMiss::Elsewhere;
        }
        let which = ready.judge().map(|judge| (judge.ballot(ballot.ballot), judge.question()));
        let program = ready.program().map(|identity| identity.spec.shown());
        let program = program.or_else(|| Some(grader.extractor(db).program.as_ref()?.shown()));
        let texts = action.long_texts().into_iter();
        Some(ExplainedAction {
            turn: None,
            model: action.model().map(str::to_owned).or(program).unwrap_or_default(),
            vote: which.map_or(0, |(which, _)| which.vote),
            reversed: which
                .filter(|(_, question)| **question == Question::Compare)
                .map(|(which, _)| which.order == Order::Reversed),
            key: key.to_string(),
            ingredients: action.ingredients(),
            texts: texts.map(|(name, text)| (name.to_owned(), Value::from(text))).collect(),
            outcome: self.stored(key).map(|found| {
                let FoundJudgment { stored, layer, generation } = found;
                let cost = action.cost(&stored.outcome, self.session.root.prices(db));
                ExplainedOutcome::new(stored, layer, generation, cost)
            }),
            to_ask: (!is_there)
                .then(|| self.reasons.reason(&to_ask, head))
                .flatten()
                .map(Reason::name),
            stored_for: elsewhere,
        })
    }

    /// The winning entry of `key`, and which layer has it.
    pub fn stored(&mut self, key: ActionKey) -> Option<FoundJudgment> {
        winning(self.layers, key)
    }

    /// What differs from the newest earlier run that is not the same; if all are, from the newest.
    fn against(
        &mut self,
        now: &NowLine<'_>,
        ingredients: Option<&[Ingredient]>,
    ) -> Option<Against> {
        let PastCase { past, line, is_same } = self.earlier?.compared_with(now)?;
        let key = line.grades.get(now.name).and_then(|grade| grade.key.clone());
        let mut against = Against {
            run: past.id.clone(),
            key: key.clone(),
            is_same,
            by_ingredients: false,
            differs: Vec::new(),
            values: Vec::new(),
            texts: now.texts(past, &line),
        };
        if against.is_same {
            against.texts.clear();
            return Some(against);
        }
        let before = key.as_deref().and_then(ActionKey::parse).and_then(|key| self.stored(key));
        let before = before.map(|found| found.stored.ingredients).filter(|list| !list.is_empty());
        against.by_ingredients = before.is_some() && ingredients.is_some();
        (against.differs, against.values) = match (before, ingredients) {
            (Some(before), Some(after)) => {
                let names = differing(&before, after);
                let of = |list| move |name: &str| short_ingredient(list, name);
                let values = changed_values(&names, of(&before), of(after));
                (names, values)
            }
            _ => {
                let names = now.differs(past, &against.texts);
                let values = now.changed_values(past, &names);
                (names, values)
            }
        };
        Some(against)
    }

    /// The conversation of a case; none where the target is recorded.
    pub fn conversation(
        &mut self,
        chunk: Chunk,
        case: usize,
        line: &ResultLine,
    ) -> Option<ExplainedConversation> {
        let db = &self.session.db;
        let sample = results::sample_id(db, chunk, case)?;
        let action = Action::Target(answers::conversation_of(db, chunk, case, sample)?);
        let key = action.key();
        let ingredients = action.ingredients();
        let kept = self.stored(key);
        let earlier = self.earlier_conversation(line);
        let before = earlier.as_ref().and_then(|(_, key)| *key);
        let differs = before.filter(|before| *before != key).and_then(|before| {
            let held: Vec<Ingredient> = self.stored(before)?.stored.ingredients;
            Some(changes(&held, &ingredients))
        });
        Some(ExplainedConversation {
            key: key.to_string(),
            ingredients,
            outcome: kept.map(|found| {
                let cost = action.cost(&found.stored.outcome, self.session.root.prices(db));
                ExplainedOutcome::new(found.stored, found.layer, found.generation, cost)
            }),
            earlier: earlier.map(|(run, _)| run),
            is_same: before == Some(key),
            differs: differs.unwrap_or_default(),
        })
    }

    /// The newest earlier run that ran a conversation of the case, and its key.
    fn earlier_conversation(&self, line: &ResultLine) -> Option<(String, Option<ActionKey>)> {
        let earlier = self.earlier?;
        earlier.pasts.iter().find_map(|past| {
            let lines = earlier.lines.of(past);
            let own = lines.iter().find(|it| it.model == line.model && it.trial == line.trial)?;
            Some((past.id.clone(), ActionKey::parse(own.conversation.as_deref()?)))
        })
    }
}

/// The entry of `key` that wins over those of other layers.
pub fn winning(layers: &mut Layers, key: ActionKey) -> Option<FoundJudgment> {
    let mut winner: Option<(evalrs_store::Entry, &str)> = None;
    for (name, layer) in layers.iter_mut() {
        let Some(entry) = layer.get_many(&[key]).pop().flatten() else { continue };
        if winner.as_ref().is_none_or(|(held, _)| entry.wins_over(held)) {
            winner = Some((entry, name));
        }
    }
    let (entry, layer) = winner?;
    let stored = serde_json::from_str(&entry.body).ok()?;
    Some(FoundJudgment { stored, layer: layer.to_owned(), generation: entry.generation })
}

/// What a grader looks at besides its own settings.
fn looked_at(kind: &GraderKind) -> Vec<&'static str> {
    let mut looked = vec!["submission", "ground truth"];
    match kind {
        GraderKind::Rubric(_) => looked.push("input"),
        GraderKind::Program(_) => looked.extend(["input", "trajectory", "row"]),
        GraderKind::Reward(_) => return vec!["grades"],
        GraderKind::Tool(tool) => {
            looked.extend(grade::reads_trajectory(tool).then_some("trajectory"));
            looked.extend(grade::reads_row(tool).then_some("row"));
        }
    }
    looked
}

/// One grader's part of a result in its current state.
struct NowLine<'a> {
    line: &'a ResultLine,
    name: &'a str,
    settings: &'a Map<String, Value>,
    own_rubric: bool,
}

impl NowLine<'_> {
    fn grade(&self) -> Option<&GradeLine> {
        self.line.grades.get(self.name)
    }

    /// Whether an earlier run had the same key; of a grade without one, the same texts and settings.
    fn is_same(&self, past: &PastRun, line: &PastLine) -> bool {
        let key = self.grade().and_then(|grade| grade.key.clone());
        let before = line.grades.get(self.name).and_then(|grade| grade.key.clone());
        if key.is_some() || before.is_some() {
            return key == before;
        }
        let texts = self.texts(past, line);
        texts.is_empty() && self.differs(past, &texts).is_empty()
    }

    fn texts(&self, past: &PastRun, line: &PastLine) -> Vec<TextChange> {
        let of_json = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            value.as_str().map_or_else(|| text.to_owned(), str::to_owned)
        };
        let rubric = |settings: Option<&Map<String, Value>>| {
            let text = settings.and_then(|settings| settings.get("prompt")?.as_str());
            text.unwrap_or_default().to_owned()
        };
        let before = past.header.grader(self.name);
        let is_known = before.is_some_and(|settings| settings.contains_key("prompt"));
        let rubrics = (is_known && !self.own_rubric)
            .then(|| ("rubric", rubric(before), rubric(Some(self.settings))));
        let submission = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let submissions = [line.submission_of(self.name), self.line.submission_of(self.name)];
        let [before, after] = submissions.map(submission);
        let ground_truth = self.line.ground_truth.to_string();
        let others = [
            ("input", of_json(line.input()), of_json(&self.line.input.to_string())),
            ("submission", before, after),
            ("ground truth", of_json(line.ground_truth()), of_json(&ground_truth)),
        ];
        let all = rubrics.into_iter().chain(others);
        all.filter(|(_, before, after)| before != after)
            .map(|(name, before, after)| TextChange { name, before, after })
            .collect()
    }

    /// The names of the settings and texts that differ, as far as the record holds them.
    fn differs(&self, past: &PastRun, texts: &[TextChange]) -> Vec<String> {
        const NOT_COMPARED: [&str; 7] =
            ["name", "prompt", "pass_threshold", "judges", "combine", "confirm_fails", "votes"];
        let empty = Map::new();
        let before = past.header.grader(self.name).unwrap_or(&empty);
        let mut names: Vec<String> = texts.iter().map(|change| change.name.to_owned()).collect();
        names.extend(differing_members(before, self.settings, &NOT_COMPARED));
        if before.contains_key("judges") {
            names.extend(differing_members(
                first_judge(before).unwrap_or(&empty),
                first_judge(self.settings).unwrap_or(&empty),
                &["model"],
            ));
        }
        if names.is_empty() && self.grade().is_some_and(|grade| grade.key.is_some()) {
            names.push("something of the row that records do not keep".to_owned());
        }
        names
    }

    /// What of the settings `names` is short, as far as the record holds them.
    fn changed_values(&self, past: &PastRun, names: &[String]) -> Vec<ValueChange> {
        let before = past.header.grader(self.name);
        let of = |settings: Option<&Map<String, Value>>, name: &str| {
            let own = settings.and_then(|settings| settings.get(name));
            short_setting(own.or_else(|| first_judge(settings?)?.get(name)))
        };
        changed_values(names, |name| of(before, name), |name| of(Some(self.settings), name))
    }
}

fn first_judge(settings: &Map<String, Value>) -> Option<&Map<String, Value>> {
    settings.get("judges")?.get(0)?.as_object()
}

/// The names of the members in which two objects differ, without those that are `left_out`.
fn differing_members(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    left_out: &[&str],
) -> Vec<String> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let names = after.keys().filter(|name| before.get(*name) != after.get(*name)).chain(gone);
    names.filter(|name| !left_out.contains(&name.as_str())).cloned().collect()
}
