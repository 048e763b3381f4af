//! Held-out labels, which are not shown, and the number of queries about them.
//!
//! Which ones is a matter of content and not of order, so that a label stays where it is whatever is added beside it. The answers
//! are those of [`evalrs_statistics::reusable_holdout`]; here stands what a session must remember of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::label_queue::{answer_number, first_number};
use evalrs_statistics::reusable_holdout::{
    AgreementCount, HoldoutQuery, TOLERANCE, ToldAgreement, answer, bound, budget,
};

/// The version of the lines of a [`HoldoutLog`].
const FORMAT: u32 = 1;

/// Whether the label of this submission of a sample is held out, where the share `holdout` (0.0..=1.0) of all is; the submission is
/// named by its digest.
///
/// A changed answer is another one: its label is drawn anew.
pub fn is_held_out(sample_id: &str, submission: u64, holdout: f64) -> bool {
    let number = answer_number("evalrs 2026 labels held out", sample_id, submission);
    (number as f64) < holdout * 2f64.powi(64)
}

/// A held-out label and the verdict beside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldOutVerdict {
    /// Identifies the case.
    pub case: String,
    /// What people say: whether it passes.
    pub label: bool,
    /// What the grader says.
    pub verdict: bool,
}

/// The reported results for the held-out labels of one grader, kept over restarts: a line of JSON for each
/// distinct query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HoldoutLog {
    /// Digest of a query → its reported result.
    told: BTreeMap<String, LoggedAnswer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LoggedAnswer {
    format: u32,
    /// The path of the suite; lines of earlier versions have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    suite: String,
    /// The grader.
    grader: String,
    /// Digest of a query: 32 hexadecimal digits.
    query: String,
    /// Which of the distinct queries it was, from 1.
    number: usize,
    /// The reported result.
    #[serde(flatten)]
    told: ToldAgreement,
}

/// The reported result for the held-out labels of a grader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOutAgreement {
    /// Held-out labels with a verdict.
    pub n: usize,
    /// A lower bound of the agreement with endless labels (0.0..=1.0); of all values ever reported for these labels some is wrong
    /// in at most 5 of 100 suites.
    pub at_least: f64,
    /// About how large it is (0.0..=1.0).
    pub agreement: f64,
    /// Distinct queries so far, this one among them.
    pub query: usize,
    /// About how many the held-out labels are good for.
    pub budget: usize,
}

impl HeldOutAgreement {
    /// The bound, which leads, and how much of what the labels are good for is used: `at least 54% (about 71%; query 7 of about
    /// 70)`.
    pub fn shown(&self) -> String {
        let Self { agreement, query, budget, .. } = self;
        let surely = self.surely();
        let about = 100.0 * agreement;
        format!("at least {surely}% (about {about:.0}%; query {query} of about {budget})")
    }

    /// The bound alone: `at least 54%`.
    pub fn shown_short(&self) -> String {
        format!("at least {}%", self.surely())
    }

    /// The bound in whole percent. Rounding up would say more than holds.
    fn surely(&self) -> f64 {
        (100.0 * self.at_least).floor()
    }
}

/// A query of the held-out labels of a grader.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOutQuestion {
    /// The grader.
    pub grader: String,
    /// Agreement on the labels that are shown.
    pub shown: AgreementCount,
    /// Those that are held out.
    pub held_out: Vec<HeldOutVerdict>,
}

impl HoldoutLog {
    /// Reads the lines that are of `grader`, and of no other suite; others, and those that are none, are left alone.
    pub fn read(text: &str, grader: &str, is_other: &dyn Fn(&str) -> bool) -> Self {
        let own = text
            .lines()
            .filter_map(|line| serde_json::from_str::<LoggedAnswer>(line).ok())
            .filter(|told| told.format == FORMAT && told.grader == grader)
            .filter(|told| !is_other(&told.suite));
        Self { told: own.map(|told| (told.query.clone(), told)).collect() }
    }

    /// Answers the query of the suite at `suite`, and returns the line to add to the log if the query is new. None without labels of
    /// either part.
    ///
    /// Of the same held-out verdicts and labels the same is told whenever they are asked about, and that is no further query.
    pub fn ask(
        &mut self,
        asked: &HeldOutQuestion,
        suite: &str,
    ) -> Option<(HeldOutAgreement, Option<String>)> {
        let HeldOutQuestion { grader, shown, held_out } = asked;
        let digest = digest_of(grader, held_out);
        let query = digest.to_hex().chars().take(32).collect::<String>();
        let n = held_out.len();
        let counted = |told: ToldAgreement, query: usize| HeldOutAgreement {
            n,
            at_least: bound(told, n, query),
            agreement: told.agreement,
            query,
            budget: budget(n, TOLERANCE),
        };
        if let Some(known) = self.told.get(&query) {
            return Some((counted(known.told, self.told.len()), None));
        }
        let agree = held_out.iter().filter(|one| one.label == one.verdict).count();
        let number = self.told.len() + 1;
        let told = answer(&HoldoutQuery {
            shown: *shown,
            held_out: AgreementCount { agree, n },
            content: first_number(&digest),
            number,
            best: self.told.values().map(|line| line.told.agreement).reduce(f64::max),
        })?;
        let line = LoggedAnswer {
            format: FORMAT,
            suite: suite.to_owned(),
            grader: grader.clone(),
            query: query.clone(),
            number,
            told,
        };
        let text = serde_json::to_string(&line).ok();
        self.told.insert(query, line);
        Some((counted(told, number), text))
    }
}

/// The digest of the held-out labels and verdicts, in any order.
fn digest_of(grader: &str, held_out: &[HeldOutVerdict]) -> blake3::Hash {
    let mut sorted = held_out.to_vec();
    sorted.sort_unstable();
    let mut hasher = blake3::Hasher::new_derive_key("evalrs 2026 query of labels held out");
    for text in std::iter::once(grader).chain(sorted.iter().map(|one| one.case.as_str())) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    for one in sorted {
        hasher.update(&[u8::from(one.label), u8::from(one.verdict)]);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::{AgreementCount, HeldOutQuestion, HeldOutVerdict, HoldoutLog, is_held_out};

    #[test]
    fn what_is_held_out_follows_from_content() {
        let ids: Vec<String> = (0..2000).map(|at| format!("q{at}")).collect();
        let held = |holdout: f64| ids.iter().filter(|id| is_held_out(id, 7, holdout)).count();
        assert_eq!((held(0.0), held(1.0)), (0, 2000));
        assert!((760..840).contains(&held(0.4)), "{}", held(0.4));
        // A greater share holds out more, and lets go of none; another answer is drawn anew.
        assert!(ids.iter().all(|id| !is_held_out(id, 7, 0.2) || is_held_out(id, 7, 0.4)));
        let moved = ids.iter().filter(|id| is_held_out(id, 7, 0.4) != is_held_out(id, 8, 0.4));
        assert!(moved.count() > 800);
        assert_eq!(is_held_out("q1", 7, 0.4), is_held_out("q1", 7, 0.4));
    }

    /// So many verdicts, of which the first are wrong.
    fn question(of: usize, wrong: usize) -> HeldOutQuestion {
        let verdict = |at: usize| HeldOutVerdict {
            case: format!("q{at}"),
            label: true,
            verdict: at >= wrong,
        };
        HeldOutQuestion {
            grader: "quality".to_owned(),
            shown: AgreementCount { agree: 90, n: 120 },
            held_out: (0..of).map(verdict).collect(),
        }
    }

    #[test]
    fn distinct_queries_are_counted_over_restarts() {
        let mut log = HoldoutLog::default();
        let mut file = String::from("not a line\n");
        let mut told = Vec::new();
        for wrong in [20, 40, 20, 5, 40] {
            let (counted, line) = log.ask(&question(80, wrong), "s.yaml").unwrap();
            told.push(counted);
            file.extend(line.into_iter().map(|line| line + "\n"));
        }
        let counts: Vec<usize> = told.iter().map(|told| told.query).collect();
        assert_eq!(counts, [1, 2, 2, 3, 3]);
        assert_eq!(told[0].agreement.to_bits(), told[2].agreement.to_bits());
        assert_eq!(told[1].agreement.to_bits(), told[4].agreement.to_bits());
        assert!(told[2].at_least <= told[0].at_least, "the bound is of all that was asked");
        // What is read again goes on where it stood, in whatever order its lines are.
        let mut lines: Vec<&str> = file.lines().collect();
        lines.reverse();
        let mut again = HoldoutLog::read(&lines.join("\n"), "quality", &|of| of != "s.yaml");
        assert_eq!(again, log);
        let mut reversed = question(80, 20);
        reversed.held_out.reverse();
        let (counted, line) = again.ask(&reversed, "s.yaml").unwrap();
        assert_eq!((counted.query, line), (3, None));
        assert_eq!(counted.agreement.to_bits(), told[0].agreement.to_bits());
        assert_eq!(HoldoutLog::read(&file, "other", &|_| false), HoldoutLog::default());
        assert_eq!(again.ask(&question(0, 0), "s.yaml"), None);
    }
}
