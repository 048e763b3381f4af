//! Why an action would be called: the changes since the previous run.
//!
//! Pure. Both sides are read from what `header.json` and `results.jsonl` hold, the present one from the settings and
//! texts that would be written there, so that nothing can differ by the way it was written. Knows no files and no
//! graph. One action has one reason; where several apply, the order of [`Reason`] decides.

use serde_json::{Map, Value};

use evalrs_model::key::ActionKey;
use evalrs_model::spec::Role;

/// Why an action would be called, in the order in which reasons win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is cached, and `--refresh` repeats it.
    Refreshed,
    /// It is cached as a failure, and `--retry-errors` retries it.
    FailedBefore,
    /// It is stored under a key of an earlier version of evalrs, which made keys of other texts.
    KeyVersion,
    /// It is stored for another endpoint, which is part of its key.
    OtherEndpoint,
    /// The suite has no record of an earlier run.
    FirstRun,
    /// The previous run had no such grader.
    NewGrader,
    /// The previous run had no such sample, model or trial.
    NewSample,
    /// The grader had fewer votes or judges, or this one confirms a verdict that did not need it then.
    NewVote,
    /// The grader's rubric reads otherwise.
    RubricEdited,
    /// The program, what it declares or what it loads reads otherwise.
    ProgramEdited,
    /// Another model judges.
    ModelChanged,
    /// The judge has another endpoint, other settings, or another prompt.
    SettingsChanged,
    /// The target's output or the extractor picks another text.
    SubmissionChanged,
    /// The row reads otherwise: its input, ground truth, variables, or a rubric of its own.
    SampleEdited,
    /// It is the same action as then, but the store does not have it: it failed, was never called, or was
    /// removed.
    NotStored,
}

impl Reason {
    /// Its name in plans and explanations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refreshed => "refreshed",
            Self::FailedBefore => "failed before",
            Self::KeyVersion => "key version",
            Self::OtherEndpoint => "other endpoint",
            Self::FirstRun => "first run",
            Self::NewGrader => "new grader",
            Self::NewSample => "new sample",
            Self::NewVote => "new vote",
            Self::RubricEdited => "rubric edited",
            Self::ProgramEdited => "program edited",
            Self::ModelChanged => "model changed",
            Self::SettingsChanged => "settings changed",
            Self::SubmissionChanged => "submission changed",
            Self::SampleEdited => "sample edited",
            Self::NotStored => "not stored",
        }
    }
}

/// The settings of a grader that decide its prompts, as `header.json` has them. A program stands for a judge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// The text of the rubric; none in records that do not hold it.
    pub rubric: Option<String>,
    /// The settings of each judge; none in records that do not hold them.
    pub judges: Option<Vec<PanelJudge>>,
    /// Independent judgments by each judge.
    pub votes: u64,
    /// Whether a program grades.
    pub is_program: bool,
    /// Other settings that change every prompt: the other submission of a comparison, the path of the reference
    /// answer.
    pub question: [Value; 5],
}

/// One judge of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelJudge {
    /// The model.
    pub model: String,
    /// Everything else that is in all of its keys.
    pub settings: Map<String, Value>,
}

impl Panel {
    /// Reads the settings of a grader.
    pub fn of(settings: &Value) -> Self {
        settings.as_object().map_or_else(Self::default, Self::read)
    }

    /// Reads the settings of a grader. What is not there is not known.
    pub fn read(settings: &Map<String, Value>) -> Self {
        let of = |name: &str| settings.get(name).cloned().unwrap_or_default();
        let judges = settings.get("judges").and_then(Value::as_array);
        let judges = judges.map(|judges| judges.iter().map(PanelJudge::read).collect());
        let program = settings.get("program");
        Self {
            rubric: settings.get("prompt").and_then(Value::as_str).map(str::to_owned),
            judges: judges.or_else(|| Some(vec![PanelJudge::read(program?)])),
            is_program: program.is_some(),
            votes: settings.get("votes").and_then(Value::as_u64).unwrap_or(1),
            question: [
                of("compare_to"),
                of("ground_truth_pattern"),
                of("ground_truth"),
                of("fence"),
                of("unfenced"),
            ],
        }
    }

    /// The judge of `past` that corresponds to our judge `at`: an equal one, else the one of the others in the same
    /// place among those without an equal. None if it is a further judge.
    fn judge_before<'a>(&self, at: usize, past: &'a [PanelJudge]) -> Option<&'a PanelJudge> {
        let now = self.judges.as_deref().unwrap_or_default();
        let judge = now.get(at)?;
        if let Some(equal) = past.iter().find(|past| *past == judge) {
            return Some(equal);
        }
        let place = now[..at].iter().filter(|judge| !past.contains(judge)).count();
        past.iter().filter(|past| !now.contains(past)).nth(place)
    }
}

impl PanelJudge {
    fn read(settings: &Value) -> Self {
        let mut settings = settings.as_object().cloned().unwrap_or_default();
        // Earlier versions told every judge of a grader the same first, and recorded it as a setting.
        settings.remove("system");
        let model = settings.remove("model").and_then(|model| model.as_str().map(str::to_owned));
        Self { model: model.unwrap_or_default(), settings }
    }

    fn is_command(&self) -> bool {
        self.settings.get("role").is_some_and(|role| role == Role::Judge.name())
    }

    /// Whether another judge gets the same prompt, by the same words.
    fn is_asked_like(&self, other: &Self) -> bool {
        let same = |name: &str| self.settings.get(name) == other.settings.get(name);
        ["response_schema", "arguments"].into_iter().all(same)
    }
}

/// What is judged of one case by one grader: digests of the texts as `results.jsonl` holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts {
    /// Of the submission.
    pub submission: blake3::Hash,
    /// Of the input and the ground truth.
    pub sample: blake3::Hash,
}

impl Texts {
    /// The digests; `input` and `ground_truth` are JSON text.
    pub fn new(submission: &str, input: &str, ground_truth: &str) -> Self {
        let mut sample = blake3::Hasher::new();
        // Neither can hold a line break: they are compact JSON.
        for text in [input, "\n", ground_truth] {
            sample.update(text.as_bytes());
        }
        Self { submission: blake3::hash(submission.as_bytes()), sample: sample.finalize() }
    }
}

/// What the previous run says of the same case and grader.
#[derive(Clone, Copy, Debug)]
pub enum PreviousCase<'a> {
    /// There was none.
    NoRun,
    /// It had no such grader.
    NoGrader,
    /// It had no such sample, model or trial.
    NoSample,
    /// It had both.
    Case {
        /// The grader's settings.
        panel: &'a Panel,
        /// What was judged.
        texts: Texts,
        /// The key of the first judgment, if there was one.
        key: Option<ActionKey>,
    },
}

/// Why the store does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMiss {
    /// It has nothing under the key, or nothing that can be read.
    Nothing,
    /// It has an outcome that is repeated.
    Refreshed,
    /// It has a failure that is retried.
    Failed,
    /// It has an outcome under the key of an earlier version.
    Superseded,
    /// It has an outcome of the same model and prompt from another endpoint.
    Elsewhere,
}

/// The action as it would be called now.
#[derive(Clone, Copy, Debug)]
pub struct PlannedJudgment<'a> {
    /// The grader's settings.
    pub panel: &'a Panel,
    /// The ordinal of the judge in its grader.
    pub judge: usize,
    /// Which of the judge's votes it is, from 0.
    pub vote: u32,
    /// What is judged.
    pub texts: Texts,
    /// Whether the row brings a rubric of its own.
    pub own_rubric: bool,
    /// The key of the grader's first judgment of the case.
    pub first_key: ActionKey,
    /// Why the store does not answer.
    pub held: StoreMiss,
}

/// The reason: the first in the order of [`Reason`] that applies.
pub fn reason(before: &PreviousCase<'_>, now: &PlannedJudgment<'_>) -> Reason {
    match now.held {
        StoreMiss::Refreshed => return Reason::Refreshed,
        StoreMiss::Failed => return Reason::FailedBefore,
        StoreMiss::Superseded => return Reason::KeyVersion,
        StoreMiss::Elsewhere => return Reason::OtherEndpoint,
        StoreMiss::Nothing => {}
    }
    match before {
        PreviousCase::NoRun => Reason::FirstRun,
        PreviousCase::NoGrader => Reason::NewGrader,
        PreviousCase::NoSample => Reason::NewSample,
        PreviousCase::Case { panel, texts, key } => edit(panel, *texts, now).unwrap_or_else(|| {
            if is_same(panel, *key, now) { Reason::NotStored } else { rest(panel) }
        }),
    }
}

/// The first difference that the records show.
fn edit(past: &Panel, texts: Texts, now: &PlannedJudgment<'_>) -> Option<Reason> {
    let mut judges = None;
    if let (Some(before), Some(own)) = (&past.judges, &now.panel.judges) {
        let before = now.panel.judge_before(now.judge, before);
        judges = before.zip(own.get(now.judge)).filter(|_| u64::from(now.vote) < past.votes);
        if judges.is_none() {
            return Some(Reason::NewVote);
        }
    }
    let is_known = past.rubric.is_some() && !now.own_rubric;
    if is_known && past.rubric != now.panel.rubric {
        return Some(Reason::RubricEdited);
    }
    if let Some((before, judge)) = judges {
        if before.model != judge.model {
            return Some(Reason::ModelChanged);
        }
        let is_same_question = past.question == now.panel.question;
        if before.settings != judge.settings || !is_same_question {
            let is_program = past.is_program && now.panel.is_program
                || is_same_question && judge.is_command() && before.is_asked_like(judge);
            return Some(if is_program { Reason::ProgramEdited } else { Reason::SettingsChanged });
        }
    }
    if texts.submission != now.texts.submission {
        return Some(Reason::SubmissionChanged);
    }
    (texts.sample != now.texts.sample).then_some(Reason::SampleEdited)
}

/// Whether the action is the same as then, as far as the one recorded key shows: it is that of the first judge, and is
/// of no use where that one changed.
fn is_same(past: &Panel, key: Option<ActionKey>, now: &PlannedJudgment<'_>) -> bool {
    let first = |panel: &Panel| panel.judges.as_ref().and_then(|judges| judges.first().cloned());
    key == Some(now.first_key) || (past.judges.is_some() && first(past) != first(now.panel))
}

/// What changed where the record does not show it: something of the row that is not in it, or a setting that older
/// records lack.
fn rest(past: &Panel) -> Reason {
    if past.judges.is_some() { Reason::SampleEdited } else { Reason::SettingsChanged }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Panel, PlannedJudgment, PreviousCase, Reason, StoreMiss, Texts, reason};
    use evalrs_model::key::ActionKey;

    fn panel(settings: &Value) -> Panel {
        Panel::read(settings.as_object().unwrap())
    }

    fn settings() -> Value {
        json!({
            "prompt": "Is it kind?", "votes": 2, "compare_to": null, "scale": null,
            "judges": [{"model": "a", "temperature": 0}, {"model": "b", "temperature": 0}],
        })
    }

    fn edited(edit: impl Fn(&mut Value)) -> Value {
        let mut settings = settings();
        edit(&mut settings);
        settings
    }

    const KEY: ActionKey = ActionKey([1; 32]);
    const OTHER: ActionKey = ActionKey([2; 32]);

    fn texts() -> Texts {
        Texts::new("s", "\"i\"", "null")
    }

    /// The reason for vote `vote` of judge `judge` after the settings were edited and the first key was `key`.
    fn check(
        now: &Value,
        (judge, vote): (usize, u32),
        (texts_now, key): (Texts, ActionKey),
        expected: Reason,
    ) {
        let past = panel(&settings());
        let present = panel(now);
        let before = PreviousCase::Case { panel: &past, texts: texts(), key: Some(KEY) };
        let now = PlannedJudgment {
            panel: &present,
            judge,
            vote,
            texts: texts_now,
            own_rubric: false,
            first_key: key,
            held: StoreMiss::Nothing,
        };
        assert_eq!(reason(&before, &now), expected, "{now:?}");
    }

    #[test]
    fn every_difference_has_its_reason() {
        let same = (texts(), KEY);
        let other = (texts(), OTHER);
        let submitted = (Texts::new("t", "\"i\"", "null"), OTHER);
        let asked = (Texts::new("s", "\"j\"", "null"), OTHER);
        let expected = (Texts::new("s", "\"i\"", "\"g\""), OTHER);
        check(&settings(), (0, 0), same, Reason::NotStored);
        check(&settings(), (1, 1), same, Reason::NotStored);
        check(&settings(), (0, 0), other, Reason::SampleEdited);
        check(&settings(), (0, 0), submitted, Reason::SubmissionChanged);
        check(&settings(), (0, 0), asked, Reason::SampleEdited);
        check(&settings(), (0, 0), expected, Reason::SampleEdited);
        check(&settings(), (0, 2), same, Reason::NewVote);
        let third = edited(|settings| {
            settings["judges"].as_array_mut().unwrap().insert(0, json!({"model": "c"}));
        });
        check(&third, (2, 0), other, Reason::NotStored);
        let rubric = edited(|settings| settings["prompt"] = json!("Is it rude?"));
        check(&rubric, (0, 0), submitted, Reason::RubricEdited);
        let model = edited(|settings| settings["judges"][0]["model"] = json!("c"));
        check(&model, (0, 0), submitted, Reason::ModelChanged);
        check(&model, (1, 0), other, Reason::NotStored);
        let warm = edited(|settings| settings["judges"][1]["temperature"] = json!(1));
        check(&warm, (1, 0), submitted, Reason::SettingsChanged);
        check(&warm, (0, 0), asked, Reason::SampleEdited);
        let pattern = edited(|settings| settings["ground_truth_pattern"] = json!("(.*)"));
        check(&pattern, (0, 0), other, Reason::SettingsChanged);
        let compared = edited(|settings| settings["compare_to"] = json!({"field": "row.b"}));
        check(&compared, (0, 0), other, Reason::SettingsChanged);
    }

    #[test]
    fn a_command_that_judges_is_a_program() {
        let command = json!({"model": "c", "role": "judge", "arguments": "[]", "inputs": "a 1"});
        let settings = |judge: &Value| json!({"prompt": "x", "judges": [judge]});
        for (name, value, expected) in [
            ("inputs", "a 2", Reason::ProgramEdited),
            ("version", "2", Reason::ProgramEdited),
            ("arguments", "[1]", Reason::SettingsChanged),
            ("model", "d", Reason::ModelChanged),
        ] {
            let mut edited = command.clone();
            edited[name] = json!(value);
            let past = panel(&settings(&command));
            let before = PreviousCase::Case { panel: &past, texts: texts(), key: Some(KEY) };
            let now = PlannedJudgment {
                panel: &panel(&settings(&edited)),
                judge: 0,
                vote: 0,
                texts: texts(),
                own_rubric: false,
                first_key: OTHER,
                held: StoreMiss::Nothing,
            };
            assert_eq!(reason(&before, &now), expected, "{name}");
        }
    }

    #[test]
    fn a_further_judge_is_a_new_vote_wherever_it_stands() {
        for (place, votes) in
            [(0, [true, false, false]), (1, [false, true, false]), (2, [false, false, true])]
        {
            let now = edited(|settings| {
                settings["judges"].as_array_mut().unwrap().insert(place, json!({"model": "c"}));
            });
            for (judge, is_new) in votes.into_iter().enumerate() {
                let expected = if is_new { Reason::NewVote } else { Reason::NotStored };
                check(&now, (judge, 0), (texts(), KEY), expected);
            }
        }
    }

    #[test]
    fn what_does_not_change_a_question_is_no_reason() {
        let now = edited(|settings| {
            settings["pass_threshold"] = json!(0.5);
            settings["combine"] = json!("mean");
            settings["confirm_fails"] = json!(2);
            settings["votes"] = json!(1);
        });
        check(&now, (0, 0), (texts(), KEY), Reason::NotStored);
    }

    #[test]
    fn what_was_not_there_and_what_is_asked_anew_come_first() {
        let past = panel(&settings());
        let present = panel(&edited(|all| all["prompt"] = json!("x")));
        let case = PreviousCase::Case { panel: &past, texts: texts(), key: Some(KEY) };
        let of = |before, held, own_rubric| {
            let now = PlannedJudgment {
                panel: &present,
                judge: 0,
                vote: 0,
                texts: texts(),
                own_rubric,
                first_key: OTHER,
                held,
            };
            reason(&before, &now)
        };
        assert_eq!(of(PreviousCase::NoRun, StoreMiss::Nothing, false), Reason::FirstRun);
        assert_eq!(of(PreviousCase::NoGrader, StoreMiss::Nothing, false), Reason::NewGrader);
        assert_eq!(of(PreviousCase::NoSample, StoreMiss::Nothing, false), Reason::NewSample);
        assert_eq!(of(PreviousCase::NoSample, StoreMiss::Refreshed, false), Reason::Refreshed);
        assert_eq!(of(case, StoreMiss::Failed, false), Reason::FailedBefore);
        assert_eq!(of(PreviousCase::NoRun, StoreMiss::Superseded, false), Reason::KeyVersion);
        assert_eq!(of(case, StoreMiss::Elsewhere, false), Reason::OtherEndpoint);
        assert_eq!(of(case, StoreMiss::Nothing, false), Reason::RubricEdited);
        assert_eq!(
            of(case, StoreMiss::Nothing, true),
            Reason::SampleEdited,
            "it brings its own rubric"
        );
    }

    #[test]
    fn records_of_older_versions_say_less() {
        let past = panel(&json!({"name": "quality", "model": "a"}));
        let present = panel(&settings());
        let of = |texts_now, key| {
            let before = PreviousCase::Case { panel: &past, texts: texts(), key: Some(KEY) };
            let now = PlannedJudgment {
                panel: &present,
                judge: 0,
                vote: 0,
                texts: texts_now,
                own_rubric: false,
                first_key: key,
                held: StoreMiss::Nothing,
            };
            reason(&before, &now)
        };
        assert_eq!(of(texts(), KEY), Reason::NotStored);
        assert_eq!(of(texts(), OTHER), Reason::SettingsChanged);
        assert_eq!(of(Texts::new("t", "\"i\"", "null"), OTHER), Reason::SubmissionChanged);
    }

    #[test]
    fn the_order_of_reasons_is_the_order_in_which_they_win() {
        let all = [
            Reason::Refreshed,
            Reason::FailedBefore,
            Reason::KeyVersion,
            Reason::OtherEndpoint,
            Reason::FirstRun,
            Reason::NewGrader,
            Reason::NewSample,
            Reason::NewVote,
            Reason::RubricEdited,
            Reason::ProgramEdited,
            Reason::ModelChanged,
            Reason::SettingsChanged,
            Reason::SubmissionChanged,
            Reason::SampleEdited,
            Reason::NotStored,
        ];
        assert!(all.is_sorted());
        let names: std::collections::BTreeSet<&str> =
            all.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), all.len());
    }
}
