//! What `evalrs cache audit` found, as text and as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use evalrs_base::text::{count, percent, sanitize};
use evalrs_engine::inspect::foreign::SaidScore;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::ExitStatus;

/// The share of forged judgments, in percent, for which it is said how likely one is found.
const FORGED: u32 = 5;

/// What others made of a suite.
pub(super) struct Audit {
    pub suite: String,
    /// The judgments that are stored.
    pub stored: usize,
    /// Writer → how many are theirs.
    pub foreign: BTreeMap<String, usize>,
    /// What repeating all of those would cost, if that is known.
    pub cost: Option<String>,
    pub repeated: Option<JudgmentRepeats>,
}

/// What was repeated.
pub(super) struct JudgmentRepeats {
    /// How much scores may differ.
    pub tolerance: f64,
    pub was_interrupted: bool,
    pub repeats: Vec<RepeatedJudgment>,
}

/// A judgment of somebody else, and what came of the same call now.
pub(super) struct RepeatedJudgment {
    pub sample: String,
    pub model: Option<String>,
    pub trial: u32,
    pub grader: String,
    pub writer: String,
    pub key: String,
    pub stored: Result<SaidScore, String>,
    pub now: Result<SaidScore, String>,
}

impl Audit {
    pub(super) fn show(&self, is_json: bool, console: &mut Console<'_>) -> std::io::Result<()> {
        if is_json {
            return console.write_json(&self.json());
        }
        let stored = count(self.stored, "judgment");
        let suite = sanitize(&self.suite);
        let all: usize = self.foreign.values().sum();
        let writers = self.foreign.iter().map(|(writer, count)| format!("{count} of `{writer}`"));
        let writers: Vec<String> = writers.collect();
        if all == 0 {
            return writeln!(console.out, "{suite}: {stored}, none from the shared cache");
        }
        writeln!(console.out, "{suite}: {stored}, from the shared cache {}", writers.join(", "))?;
        let Some(repeated) = &self.repeated else {
            let costs = self.cost.as_ref().map(|cost| format!(" and costs {cost}"));
            let costs = costs.unwrap_or_default();
            let calls = count(all, "call");
            return writeln!(
                console.out,
                "to repeat all of them takes {calls}{costs}: --recheck {all}"
            );
        };
        repeated.lines().iter().try_for_each(|line| writeln!(console.out, "{line}"))
    }

    fn json(&self) -> Value {
        let Self { suite, stored, foreign, cost, repeated } = self;
        let mut object =
            json!({"format": 1, "suite": suite, "judgments": stored, "foreign": foreign});
        if let Some(cost) = cost {
            object["cost_of_all"] = json!(cost);
        }
        if let Some(repeated) = repeated {
            object["repeated"] = repeated.json();
        }
        object
    }
}

impl JudgmentRepeats {
    /// Those with a score now that is another one than before.
    fn differing(&self) -> impl Iterator<Item = &RepeatedJudgment> {
        self.repeats.iter().filter(|repeat| match (&repeat.stored, &repeat.now) {
            // What was computed in another order may differ in the last digit.
            (Ok(stored), Ok(now)) => (stored.score - now.score).abs() > self.tolerance + 1e-9,
            (Err(_), Ok(_)) => true,
            (_, Err(_)) => false,
        })
    }

    /// Those that have no score now.
    fn failed(&self) -> impl Iterator<Item = &RepeatedJudgment> {
        self.repeats.iter().filter(|repeat| repeat.now.is_err())
    }

    fn compared(&self) -> usize {
        self.repeats.len() - self.failed().count()
    }

    /// How likely one of those that were compared would be forged, if 5 % of all were: 1 − (1 − f)^M.
    fn found(&self) -> f64 {
        1.0 - (1.0 - f64::from(FORGED) / 100.0).powf(self.compared() as f64)
    }

    /// How the command ends.
    pub(super) fn status(&self) -> ExitStatus {
        if self.differing().next().is_some() {
            ExitStatus::GateFailed
        } else if self.was_interrupted {
            ExitStatus::Interrupted
        } else if self.failed().next().is_some() {
            ExitStatus::Incomplete
        } else {
            ExitStatus::Success
        }
    }

    fn lines(&self) -> Vec<String> {
        let differing = self.differing().count();
        let compared = self.compared();
        let differ = match differing {
            0 => "all as before".to_owned(),
            differing => format!("{differing} with another score"),
        };
        let mut lines = vec![format!("repeated {compared}, chosen at random: {differ}")];
        lines.extend(self.differing().map(RepeatedJudgment::line));
        lines.extend(self.failed().map(RepeatedJudgment::line));
        if compared > 0 {
            let found = percent(Some(self.found()));
            lines.push(format!(
                "if {FORGED}% were forged, that finds one with a probability of {found}"
            ));
        }
        lines
    }

    fn json(&self) -> Value {
        let of = |repeats: Vec<&RepeatedJudgment>| {
            repeats.into_iter().map(RepeatedJudgment::json).collect::<Vec<_>>()
        };
        json!({
            "compared": self.compared(),
            "tolerance": self.tolerance,
            "differ": of(self.differing().collect()),
            "failed": of(self.failed().collect()),
            "found_if_5_percent_forged": self.found(),
        })
    }
}

impl RepeatedJudgment {
    fn line(&self) -> String {
        let mut case = sanitize(&self.sample);
        if let Some(model) = &self.model {
            case = format!("{case} ({})", sanitize(model));
        }
        if self.trial > 0 {
            case = format!("{case} trial {}", self.trial);
        }
        let Self { grader, writer, stored, now, .. } = self;
        let grader = sanitize(grader);
        format!("  {case}: {grader}: `{writer}` has {}, now {}", said(stored), said(now))
    }

    fn json(&self) -> Value {
        let said = |said: &Result<SaidScore, String>| match said {
            Ok(SaidScore { score, rationale }) => json!({"score": score, "rationale": rationale}),
            Err(error) => json!({"error": error}),
        };
        json!({
            "sample_id": self.sample, "model": self.model, "trial": self.trial, "grader": self.grader,
            "writer": self.writer, "key": self.key, "stored": said(&self.stored), "now": said(&self.now),
        })
    }
}

fn said(said: &Result<SaidScore, String>) -> String {
    match said {
        Ok(said) => format!("{:.3}", said.score),
        Err(error) => format!("an error: {}", sanitize(error)),
    }
}
