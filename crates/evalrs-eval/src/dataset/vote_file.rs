//! Reads a file of votes that others gave: JSON Lines, a JSON array or CSV, a vote or several a row.
//!
//! A row is of all models and trials of its sample unless it names one. Who voted decides which column of a matrix of
//! votes a vote belongs to, where all rows say that; else its number does, else its place among those of its sample.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::label_file::without_ending;
use super::split;
use super::split::RecordStart;
use crate::votes::judgments::{Judgment, JudgmentLayout, JudgmentReader};
use crate::votes::score_map::VoteValue;
use crate::votes::{GivenVote, GivenVotes};
use evalrs_base::diagnostic::{Diagnostic, clipped};
use evalrs_base::path::Row;
use evalrs_model::spec::DatasetFormat;

/// The most voters that have columns of their own. Of a crowd nobody asks how two of it agree.
const MAX_VOTERS: usize = 16;

/// The most votes on one answer.
const MAX_VOTES: u32 = 1_000;

/// The votes of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VoteTable {
    samples: BTreeMap<String, Vec<VoteLine>>,
    voters: Arc<[String]>,
}

#[derive(Clone, Debug, PartialEq)]
struct VoteLine {
    model: Option<String>,
    trial: Option<u32>,
    place: usize,
    vote: GivenVote,
}

impl VoteLine {
    /// Lines that say more of what they are of come first.
    fn rank(&self) -> (bool, bool) {
        (self.trial.is_none(), self.model.is_none())
    }
}

/// A file of votes, and everything that is wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VoteReading {
    /// What could be read.
    pub table: Arc<VoteTable>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// The file in which `evalrs cache import` keeps the votes for a grader of the suite at `suite`: `bot.people.votes.jsonl`
/// beside `bot.yaml`.
pub fn beside(suite: &str, grader: &str) -> String {
    let is_odd = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '-' | '_');
    let grader = grader.replace(is_odd, "_");
    format!("{}.{grader}.votes.jsonl", without_ending(suite))
}

/// A judgment, and where its row begins.
struct ReadVote {
    judgment: Judgment,
    start: RecordStart,
}

/// Reads the text of the file at `path`.
pub fn read(path: &str, text: &str, layout: &JudgmentLayout) -> VoteReading {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Whoever takes back the last vote leaves an empty file.
    if text.trim().is_empty() {
        return VoteReading::default();
    }
    let format = DatasetFormat::of_name(path).unwrap_or(DatasetFormat::Jsonl);
    let rows = match split::split(path, text, format) {
        Ok(rows) => rows,
        Err(problems) => return VoteReading { problems, ..VoteReading::default() },
    };
    let reader = JudgmentReader::new(layout, &rows.iter().map(|row| row.text.as_ref()));
    let mut read = Vec::new();
    let mut problems = Vec::new();
    for row in &rows {
        match reader.judgments(Row::new(&row.text)) {
            Ok(judgments) => read.extend(
                judgments.into_iter().map(|judgment| ReadVote { judgment, start: row.start }),
            ),
            Err(message) => {
                problems.push(Diagnostic::error(split::line_place(path, text, row.start), message));
            }
        }
    }
    let table = VoteTable::of(read, |start, message| {
        problems.push(Diagnostic::error(split::line_place(path, text, start), message));
    });
    VoteReading { table: Arc::new(table), problems }
}

/// What a vote is of, and its place there.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VoteSlot {
    id: String,
    model: Option<String>,
    trial: Option<u32>,
    place: usize,
}

/// The first line that says what a vote is.
struct FirstLine {
    line: u32,
    value: VoteValue,
}

impl VoteTable {
    fn of(read: Vec<ReadVote>, mut problem: impl FnMut(RecordStart, String)) -> Self {
        let voters = voters(&read);
        let mut table = Self { samples: BTreeMap::new(), voters: voters.into() };
        let mut lines: BTreeMap<VoteSlot, FirstLine> = BTreeMap::new();
        for ReadVote { judgment, start } in read {
            let place = match table.place(&judgment) {
                Ok(place) => place,
                Err(message) => {
                    problem(start, message);
                    continue;
                }
            };
            let Judgment { id, model, trial, value, rationale, answer, .. } = judgment;
            let of = VoteSlot { id: id.clone(), model: model.clone(), trial, place };
            if let Some(FirstLine { line: first, value: held }) = lines.get(&of) {
                if *held != value {
                    let message = format!(
                        "`{}` has another score for the same vote in line {first}",
                        clipped(&id)
                    );
                    problem(start, message);
                }
                continue;
            }
            lines.insert(of, FirstLine { line: start.line, value: value.clone() });
            let vote = GivenVote { value, rationale, answer };
            table.samples.entry(id).or_default().push(VoteLine { model, trial, place, vote });
        }
        for lines in table.samples.values_mut() {
            lines.sort_by_key(VoteLine::rank);
        }
        table
    }

    /// The place of a vote among the votes on its answer.
    fn place(&self, judgment: &Judgment) -> Result<usize, String> {
        if let Some(who) = voter(judgment)
            && let Ok(at) = self.voters.binary_search(&who)
        {
            return Ok(at);
        }
        if let Some(vote) = judgment.vote {
            if vote >= MAX_VOTES {
                return Err(format!("`vote` is {vote}: an answer has at most {MAX_VOTES} votes"));
            }
            return Ok(vote as usize);
        }
        let held = self.samples.get(&judgment.id).into_iter().flatten();
        let own = held.filter(|line| line.model == judgment.model && line.trial == judgment.trial);
        let next = own.map(|line| line.place + 1).max().unwrap_or(0);
        if next >= MAX_VOTES as usize {
            return Err(format!("an answer has at most {MAX_VOTES} votes"));
        }
        Ok(next)
    }

    /// The votes on the answer of a model in a trial of a sample; none where nobody voted.
    pub fn find(&self, id: &str, model: Option<&str>, trial: u32) -> Option<GivenVotes> {
        let mut votes: Vec<Option<GivenVote>> = vec![None; self.voters.len()];
        let mut is_empty = true;
        for line in self.samples.get(id)?.iter().filter(|line| {
            line.model.as_deref().is_none_or(|named| Some(named) == model)
                && line.trial.is_none_or(|named| named == trial)
        }) {
            if votes.len() <= line.place {
                votes.resize(line.place + 1, None);
            }
            // What says more of what it is of came first.
            votes[line.place].get_or_insert_with(|| line.vote.clone());
            is_empty = false;
        }
        (!is_empty).then(|| GivenVotes { votes, voters: Arc::clone(&self.voters) })
    }

    /// The samples that are voted on, sorted.
    pub fn samples(&self) -> impl Iterator<Item = &str> {
        self.samples.keys().map(String::as_str)
    }
}

/// The name of the voter, if known; with its number, from 1, if it has one.
fn voter(judgment: &Judgment) -> Option<String> {
    let who = judgment.judge.as_ref()?;
    Some(match judgment.vote {
        Some(vote) => format!("{who} {}", u64::from(vote) + 1),
        None => who.clone(),
    })
}

/// Who voted, sorted; nobody where not all votes say who gave them, or where that is a crowd.
fn voters(read: &[ReadVote]) -> Vec<String> {
    let mut voters = BTreeSet::new();
    for vote in read {
        match voter(&vote.judgment) {
            Some(who) => voters.insert(who),
            None => return Vec::new(),
        };
        if voters.len() > MAX_VOTERS {
            return Vec::new();
        }
    }
    voters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{VoteReading, beside, read};
    use crate::votes::judgments::JudgmentLayout;
    use crate::votes::score_map::VoteValue;

    fn told(reading: &VoteReading, id: &str, model: Option<&str>, trial: u32) -> String {
        let Some(found) = reading.table.find(id, model, trial) else { return "-".to_owned() };
        let vote = |vote: &Option<super::GivenVote>| match vote.as_ref().map(|vote| &vote.value) {
            None => "_".to_owned(),
            Some(VoteValue::Score(score)) => score.to_string(),
            Some(VoteValue::Failed(text)) => format!("!{text}"),
        };
        let votes: Vec<String> = found.votes.iter().map(vote).collect();
        format!("{} {}", votes.join(" "), found.voters.join(",")).trim_end().to_owned()
    }

    #[test]
    fn votes_stand_at_the_place_of_who_gave_them() {
        let lines = "{\"id\":\"a\",\"who\":\"eve\",\"score\":1}\n{\"id\":\"a\",\"who\":\"bob\",\"score\":2}\n{\"id\":\"b\",\"who\":\"eve\",\"score\":3}\n";
        let reading = read("v.jsonl", lines, &JudgmentLayout::default());
        assert_eq!(reading.problems.len(), 0);
        assert_eq!(told(&reading, "a", None, 0), "2 1 bob,eve");
        assert_eq!(told(&reading, "b", Some("m"), 3), "_ 3 bob,eve");
        assert_eq!(told(&reading, "c", None, 0), "-");
        let lines = "id,vote,score\na,1,5\na,,4\nb,,3\n";
        let reading = read("v.csv", lines, &JudgmentLayout::default());
        assert_eq!(told(&reading, "a", None, 0), "_ 5 4");
        assert_eq!(told(&reading, "b", None, 0), "3");
    }

    #[test]
    fn what_names_an_answer_comes_before_what_names_none() {
        let lines = "{\"id\":\"a\",\"vote\":0,\"score\":1}\n{\"id\":\"a\",\"model\":\"m\",\"vote\":0,\"score\":2}\n{\"id\":\"a\",\"trial\":1,\"vote\":0,\"score\":3}\n";
        let reading = read("v.jsonl", lines, &JudgmentLayout::default());
        for (model, trial, expected) in
            [(None, 0, "1"), (Some("m"), 0, "2"), (Some("n"), 0, "1"), (Some("m"), 1, "3")]
        {
            assert_eq!(told(&reading, "a", model, trial), expected, "{model:?} {trial}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (lines, expected) in [
            ("", None),
            ("\u{feff}\n", None),
            (
                "{\"id\":\"a\",\"vote\":0,\"score\":1}\n{\"id\":\"a\",\"vote\":0,\"score\":1}\n",
                None,
            ),
            (
                "{\"id\":\"a\",\"vote\":0,\"score\":1}\n{\"id\":\"a\",\"vote\":0,\"score\":2}\n",
                Some("`a` has another score for the same vote in line 1"),
            ),
            ("{\"id\":\"a\"}\n", Some("the row has no score")),
            (
                "{\"id\":\"a\",\"vote\":4000000000,\"score\":1}\n",
                Some("`vote` is 4000000000: an answer has at most 1000 votes"),
            ),
            ("[1", Some("")),
        ] {
            let reading = read("v.jsonl", lines, &JudgmentLayout::default());
            assert_eq!(reading.problems.is_empty(), expected.is_none(), "{lines}");
            if let Some(expected) = expected.filter(|expected| !expected.is_empty()) {
                assert_eq!(reading.problems[0].message, expected);
            }
        }
    }

    #[test]
    fn the_file_stands_beside_the_suite() {
        for (suite, grader, expected) in [
            ("suite.yaml", "people", "suite.people.votes.jsonl"),
            ("a.b/bot.v2.yaml", "ü x/..", "a.b/bot.v2.ü_x___.votes.jsonl"),
        ] {
            assert_eq!(beside(suite, grader), expected);
        }
    }
}
