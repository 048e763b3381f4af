//! The calls of earlier runs of a suite, for the comparison with the missing ones.
//!
//! The previous run decides. Where it was narrowed down, to some samples or graders, the runs before it answer for what
//! it left out; so they do for judgments that it neither had nor asked, as a frozen run may. Texts are kept as digests: a
//! history is as small as the keys it holds.

use std::collections::{BTreeSet, HashMap};

use memchr::memmem::Finder;

use super::read::{NOT_ASKED, PastLine, PastRun, runs};
use super::sample_lines::{SampleLines, written_id};
use evalrs_metrics::reason::{Panel, PreviousCase, Texts};
use evalrs_model::key::ActionKey;
use evalrs_system::System;

/// How many runs are read back at most.
const MAX_RUNS: usize = 10;

/// Sample, model and trial.
type CaseIdentity = (String, Option<String>, u32);

/// The calls of earlier runs, the newest first.
#[derive(Debug, Default)]
pub struct History {
    runs: Vec<RunActions>,
}

#[derive(Debug)]
struct RunActions {
    id: String,
    panels: Vec<(String, Panel)>,
    cases: HashMap<CaseIdentity, Vec<Option<AskedKeys>>>,
    /// Whether it left judgments unasked.
    has_unasked: bool,
}

/// What was judged by one grader, and the key of its first judgment.
#[derive(Clone, Copy, Debug)]
struct AskedKeys {
    texts: Texts,
    key: Option<ActionKey>,
    /// Whether it was neither cached nor called then.
    was_not_asked: bool,
}

impl History {
    /// Reads the records under `home` back to the last run of `suite` that was of all samples and of all `graders`, and
    /// left nothing unasked. It may lack others than `samples`, if these are given.
    pub fn read(
        system: &dyn System,
        home: &str,
        suite: &str,
        graders: &[&str],
        samples: Option<&BTreeSet<String>>,
    ) -> Self {
        let wanted = WantedLines::of(samples);
        Self::of(runs(system, home, suite), graders, &|past| {
            RunActions::read(past, &wanted, system)
        })
    }

    /// The same of one sample alone.
    pub fn of_sample(
        lines: &SampleLines<'_>,
        pasts: impl Iterator<Item = PastRun>,
        graders: &[&str],
    ) -> Self {
        Self::of(pasts, graders, &|past| {
            let mut run = RunActions::without_cases(past);
            lines.of(past).iter().for_each(|line| run.add(line));
            run
        })
    }

    fn of(
        pasts: impl Iterator<Item = PastRun>,
        graders: &[&str],
        read: &dyn Fn(&PastRun) -> RunActions,
    ) -> Self {
        let mut history = Self::default();
        for past in pasts.take(MAX_RUNS) {
            let run = read(&past);
            let has_all = graders.iter().all(|name| run.grader(name).is_some());
            let is_whole = has_all && !run.has_unasked;
            history.runs.push(run);
            if is_whole && !past.header.is_narrowed() {
                break;
            }
        }
        history
    }

    /// The id of the previous run: the newest that left nothing unasked, else the newest.
    pub fn newest(&self) -> Option<&str> {
        let whole = self.runs.iter().find(|run| !run.has_unasked);
        whole.or_else(|| self.runs.first()).map(|run| run.id.as_str())
    }

    /// The call of a case by `grader`.
    pub fn before(&self, case: (&str, Option<&str>, u32), grader: &str) -> PreviousCase<'_> {
        if self.runs.is_empty() {
            return PreviousCase::NoRun;
        }
        let name: CaseIdentity = (case.0.to_owned(), case.1.map(str::to_owned), case.2);
        let mut had_grader = false;
        let mut unasked = None;
        for run in &self.runs {
            let Some(at) = run.grader(grader) else { continue };
            had_grader = true;
            if let Some(Some(asked)) = run.cases.get(&name).and_then(|case| case.get(at)) {
                let panel = &run.panels[at].1;
                let found = PreviousCase::Case { panel, texts: asked.texts, key: asked.key };
                if !asked.was_not_asked {
                    return found;
                }
                unasked.get_or_insert(found);
            }
        }
        if let Some(found) = unasked {
            return found;
        }
        if had_grader { PreviousCase::NoSample } else { PreviousCase::NoGrader }
    }
}

/// Which lines of results are worth parsing.
struct WantedLines(Vec<Finder<'static>>);

impl WantedLines {
    /// More samples than these take longer to look for than lines to parse.
    const MOST: usize = 16;

    fn of(samples: Option<&BTreeSet<String>>) -> Self {
        let Some(samples) = samples.filter(|samples| samples.len() <= Self::MOST) else {
            return Self(Vec::new());
        };
        let ids = samples.iter().map(|id| written_id(id));
        let texts = ids.chain(NOT_ASKED.map(str::to_owned));
        Self(texts.map(|text| Finder::new(text.as_bytes()).into_owned()).collect())
    }

    fn may_be(&self, line: &[u8]) -> bool {
        self.0.is_empty() || self.0.iter().any(|finder| finder.find(line).is_some())
    }
}

impl RunActions {
    fn read(past: &PastRun, wanted: &WantedLines, system: &dyn System) -> Self {
        let mut run = Self::without_cases(past);
        past.each_line_that(system, &|line| wanted.may_be(line), &mut |line| run.add(&line));
        run
    }

    fn without_cases(past: &PastRun) -> Self {
        let graders = past.header.graders();
        let panels =
            graders.map(|(name, settings)| (name.to_owned(), Panel::read(settings))).collect();
        Self { id: past.id.clone(), panels, cases: HashMap::new(), has_unasked: false }
    }

    fn add(&mut self, line: &PastLine) {
        let panels = self.panels.iter();
        let asked: Vec<Option<AskedKeys>> =
            panels.map(|(grader, _)| AskedKeys::of(line, grader)).collect();
        self.has_unasked |= asked.iter().flatten().any(|asked| asked.was_not_asked);
        self.cases.insert((line.sample_id.clone(), line.model.clone(), line.trial), asked);
    }

    fn grader(&self, name: &str) -> Option<usize> {
        self.panels.iter().position(|(panel, _)| panel == name)
    }
}

impl AskedKeys {
    fn of(line: &PastLine, grader: &str) -> Option<Self> {
        let grade = line.grades.get(grader)?;
        let submission = line.submission_of(grader)?;
        Some(Self {
            texts: Texts::new(submission, line.input(), line.ground_truth()),
            key: grade.key.as_deref().and_then(ActionKey::parse),
            was_not_asked: grade.was_not_asked(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::History;
    use evalrs_metrics::reason::PreviousCase;
    use evalrs_system::memory::MemorySystem;

    fn header(graders: &str, samples: &str) -> String {
        format!(
            r#"{{"format": 1, "suite": "s", "settings": {{"samples": {samples}, "graders": [{graders}]}}}}"#
        )
    }

    fn line(id: &str, grader: &str) -> String {
        format!(
            r#"{{"format":1,"sample_id":"{id}","input":"i","submissions":{{"{grader}":"s"}},"grades":{{"{grader}":{{}}}}}}"#
        ) + "\n"
    }

    fn before(history: &History, id: &str, grader: &str) -> &'static str {
        match history.before((id, None, 0), grader) {
            PreviousCase::NoRun => "no run",
            PreviousCase::NoGrader => "no grader",
            PreviousCase::NoSample => "no sample",
            PreviousCase::Case { panel, .. } if panel.votes == 2 => "new",
            PreviousCase::Case { .. } => "old",
        }
    }

    #[test]
    fn what_a_narrowed_run_left_out_is_that_of_the_run_before_it() {
        let old = r#"{"name": "g"}"#;
        let new = r#"{"name": "g", "votes": 2}"#;
        let all = line("a", "g") + &line("b", "g");
        let system = MemorySystem::with(&[
            ("h/runs/0/header.json", &header(new, "[]")),
            ("h/runs/0/results.jsonl", &line("z", "g")),
            ("h/runs/1/header.json", &header(old, "[]")),
            ("h/runs/1/results.jsonl", &all),
            ("h/runs/2/header.json", &header(new, r#"["a"]"#)),
            ("h/runs/2/results.jsonl", &line("a", "g")),
        ]);
        let history = History::read(&system, "h", "s", &["g"], None);
        assert_eq!(history.newest(), Some("2"));
        let found = ["a", "b", "z"].map(|id| before(&history, id, "g"));
        assert_eq!(found, ["new", "old", "no sample"]);
        assert_eq!(before(&history, "a", "other"), "no grader");
        let nothing = History::read(&system, "h", "other", &["g"], None);
        assert_eq!((before(&nothing, "a", "g"), nothing.newest()), ("no run", None));
    }

    #[test]
    fn what_a_frozen_run_did_not_have_is_that_of_the_run_before_it() {
        let [old, new] = [r#"{"name": "g"}"#, r#"{"name": "g", "votes": 2}"#];
        let missed = |id: &str| {
            line(id, "g")
                .replace(r#""g":{}"#, r#""g":{"error":{"kind":"not_stored","message":"no"}}"#)
        };
        let system = MemorySystem::with(&[
            ("h/runs/1/header.json", &header(old, "[]")),
            ("h/runs/1/results.jsonl", &(line("a", "g") + &line("b", "g"))),
            ("h/runs/2/header.json", &header(new, "[]")),
            ("h/runs/2/results.jsonl", &(missed("a") + &line("b", "g") + &missed("c"))),
        ]);
        let history = History::read(&system, "h", "s", &["g"], None);
        assert_eq!(history.newest(), Some("1"));
        assert_eq!(
            ["a", "b", "c", "d"].map(|id| before(&history, id, "g")),
            ["old", "new", "new", "no sample"]
        );
    }

    #[test]
    fn a_run_of_all_samples_answers_for_itself() {
        let both = header(r#"{"name": "g"}, {"name": "k"}"#, "[]");
        let system = MemorySystem::with(&[
            ("h/runs/1/header.json", &both),
            ("h/runs/1/results.jsonl", &(line("a", "k") + &line("b", "g"))),
            ("h/runs/2/header.json", &header(r#"{"name": "g"}"#, "[]")),
            ("h/runs/2/results.jsonl", &line("a", "g")),
        ]);
        let history = History::read(&system, "h", "s", &["g"], None);
        assert_eq!(["a", "b"].map(|id| before(&history, id, "g")), ["old", "no sample"]);
        let history = History::read(&system, "h", "s", &["g", "k"], None);
        assert_eq!(before(&history, "a", "k"), "old", "the last run left this grader out");
    }
}
