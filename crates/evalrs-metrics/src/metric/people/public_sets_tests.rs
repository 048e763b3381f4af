//! What people would have said, estimated of public data whose labels are all known: how often the interval holds the truth, and
//! how wide it is beside that of labels alone.
//!
//! The table in `docs/labels.md` is what `cargo test --lib public_sets -- --ignored --nocapture` prints.

use serde_json::Value;

use super::{JudgedCase, PeopleEstimate};
use evalrs_base::random::SplitMix;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::spec::Label;
use evalrs_statistics::prediction_powered::PredictionPoweredMean;
use evalrs_test_data as test_data;

/// How often data are drawn again.
const DRAWS: usize = 1000;

/// Labels that are given of each draw.
const LABELS: [usize; 3] = [50, 100, 200];

/// A case whose label is known: what the judge says, none if it gave no verdict, and what people say.
#[derive(Clone, Copy)]
struct KnownCase {
    judge: Option<f64>,
    label: f64,
}

/// Public data.
struct PublicSet {
    name: &'static str,
    /// What is a pass.
    threshold: f64,
    /// Samples, with all their cases.
    samples: Vec<Vec<KnownCase>>,
    /// How many samples a draw has.
    size: usize,
}

/// What draws of a set come to with so many labels.
struct FoundCoverage {
    /// The share of draws that hold the truth, by both estimates: PPI++, labels alone.
    held: [f64; 2],
    /// The mean width of their intervals.
    width: [f64; 2],
    /// The most that the first was wider than the second.
    widest: f64,
    /// The mean share of labels that the judge saves.
    saved: f64,
}

impl PublicSet {
    /// The mean of what people say where the judge gave a verdict.
    fn truth(&self, value: &dyn Fn(f64) -> f64) -> f64 {
        let labels = self.samples.iter().flatten().filter(|case| case.judge.is_some());
        let labels: Vec<f64> = labels.map(|case| value(case.label)).collect();
        labels.iter().sum::<f64>() / labels.len() as f64
    }

    /// Samples drawn with replacement, of which `labels` cases at random have their label.
    fn draw(&self, labels: usize, generator: &mut SplitMix) -> Vec<JudgedCase> {
        let mut cases = Vec::new();
        for sample in 0..self.size as u32 {
            let drawn = generator.below(self.samples.len() as u64) as usize;
            cases.extend(self.samples[drawn].iter().map(|case| self.judged(sample, *case)));
        }
        for at in 0..cases.len() - labels {
            let other = at + generator.below((cases.len() - at) as u64) as usize;
            cases.swap(at, other);
            cases[at].label = None;
        }
        cases
    }

    fn judged(&self, sample: u32, case: KnownCase) -> JudgedCase {
        let cell = match case.judge {
            None => Cell { score: 0.0, state: CellState::Errored },
            Some(score) if score >= self.threshold => Cell { score, state: CellState::Passed },
            Some(score) => Cell { score, state: CellState::Failed },
        };
        JudgedCase { sample, cell, label: Some(Label::Score(case.label)), is_chosen: false }
    }

    fn coverage(
        &self,
        labels: usize,
        truth: f64,
        estimate: fn(&PeopleEstimate) -> Option<PredictionPoweredMean>,
    ) -> FoundCoverage {
        let mut generator = SplitMix::new(labels as u64);
        let mut found = FoundCoverage { held: [0.0; 2], width: [0.0; 2], widest: 0.0, saved: 0.0 };
        for _ in 0..DRAWS {
            let cases = self.draw(labels, &mut generator);
            let known = PeopleEstimate::of(cases.into_iter(), self.threshold).unwrap();
            let known = estimate(&known).unwrap();
            let both = [known.interval, known.labels_interval];
            for (at, interval) in both.iter().enumerate() {
                let holds = interval.low <= truth && truth <= interval.high;
                found.held[at] += f64::from(holds) / DRAWS as f64;
                found.width[at] += (interval.high - interval.low) / DRAWS as f64;
            }
            let width = both.map(|interval| interval.high - interval.low);
            found.widest = f64::max(found.widest, width[0] / width[1]);
            found.saved += known.saved / DRAWS as f64;
        }
        found
    }
}

fn json(set: &str, name: &str) -> Option<Vec<Value>> {
    let text = test_data::text(set, name)?;
    let lines = || text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    Some(serde_json::from_str(&text).or_else(|_| lines()).unwrap())
}

/// Which of two answers is better, by three people and by two judges: 1 the first, 0 the second, 0.5 neither.
fn pandalm() -> Option<[PublicSet; 2]> {
    const SET: &str = "pandalm-human-labels";
    let people = json(SET, "testset-v1.json")?;
    let score = |side: i64| [0.5, 1.0, 0.0].get(usize::try_from(side).ok()?).copied();
    let label = |row: &Value| {
        let votes = [1, 2, 3].map(|n| row[format!("annotator{n}")].as_i64().unwrap());
        let count = |side: i64| votes.iter().filter(|vote| **vote == side).count();
        score((0..3).max_by_key(|side| count(*side)).unwrap()).unwrap()
    };
    let set = |name, verdicts: Vec<Option<f64>>| PublicSet {
        name,
        threshold: 1.0,
        samples: people
            .iter()
            .zip(verdicts)
            .map(|(row, judge)| vec![KnownCase { judge, label: label(row) }])
            .collect(),
        size: people.len(),
    };
    let gpt = json(SET, "gpt-3.5-turbo-testset-v1.json")?;
    let gpt = gpt.iter().map(|row| match row["gpt_result"].as_str().unwrap() {
        "Tie" => score(0),
        side => side.parse().ok().and_then(score),
    });
    let own = json(SET, "pandalm-7b-testset-v1.json")?;
    let own = own.iter().map(|row| score(row["pandalm_result"].as_i64().unwrap()));
    Some([set("PandaLM, GPT-3.5", gpt.collect()), set("PandaLM, PandaLM-7B", own.collect())])
}

/// Scores from 1 to 5 of four answers to each of 80 questions: the first of three runs of a judge in the place of people.
fn prometheus() -> Option<PublicSet> {
    let rows = json("prometheus-vicuna-rubric", "vicuna_eval.json")?;
    let mut samples: Vec<(String, Vec<KnownCase>)> = Vec::new();
    for row in &rows {
        let score = |run: usize| (row["gpt4_score"][run].as_f64().unwrap() - 1.0) / 4.0;
        let case = KnownCase { judge: Some(score(1)), label: score(0) };
        let prompt = row["instruction"].as_str().unwrap();
        // What stands between the two heads is the question.
        let question = prompt.split("###Response to evaluate").next().unwrap().to_owned();
        match samples.iter_mut().find(|(known, _)| *known == question) {
            Some((_, cases)) => cases.push(case),
            None => samples.push((question, vec![case])),
        }
    }
    assert_eq!((rows.len(), samples.len()), (320, 80));
    let samples = samples.into_iter().map(|(_, cases)| cases).collect();
    Some(PublicSet { name: "Prometheus, Vicuna", threshold: 0.75, samples, size: 80 })
}

/// Whether each of four systems solved a problem; the judge says that the answer is right which another system gives too.
fn gsm8k() -> Option<PublicSet> {
    const SYSTEMS: [&str; 4] =
        ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"];
    let rows = json("gsm8k-humaneval-outputs", "gsm8k-example_model_solutions.jsonl")?;
    let sample = |row: &Value| {
        let answers = SYSTEMS.map(|system| {
            let solution = row[system]["solution"].as_str().unwrap();
            solution.rsplit_once("A: ").map(|(_, answer)| answer.trim().to_owned())
        });
        let case = |at: usize| {
            let alike = answers.iter().filter(|answer| answer.is_some() && **answer == answers[at]);
            KnownCase {
                judge: Some(f64::from(alike.count() > 1)),
                label: f64::from(row[SYSTEMS[at]]["is_correct"].as_bool().unwrap()),
            }
        };
        (0..SYSTEMS.len()).map(case).collect()
    };
    let samples = rows.iter().map(sample).collect();
    Some(PublicSet { name: "GSM8K, four systems", threshold: 1.0, samples, size: 250 })
}

/// A number that people would have given.
struct EstimatedNumber {
    what: &'static str,
    value: fn(f64, f64) -> f64,
    estimate: fn(&PeopleEstimate) -> Option<PredictionPoweredMean>,
}

const BOTH: [EstimatedNumber; 2] = [
    EstimatedNumber {
        what: "pass rate",
        value: |label, threshold| f64::from(label >= threshold),
        estimate: |of| of.pass_rate,
    },
    EstimatedNumber { what: "mean", value: |label, _| label, estimate: |of| of.mean },
];

fn check(set: &PublicSet, estimated: &[EstimatedNumber], sizes: &[usize]) {
    for EstimatedNumber { what, value, estimate } in estimated {
        let truth = set.truth(&|label| value(label, set.threshold));
        for labels in sizes {
            let found = set.coverage(*labels, truth, *estimate);
            let percent = |share: f64| format!("{:.1}", share * 100.0);
            let [held, alone] = found.held.map(percent);
            let [width, width_alone] = found.width.map(percent);
            let saved = percent(found.saved);
            let line = format!(
                "| {}: {what} {} | {labels} | {held} | {alone} | {width} | {width_alone} | {:.3} | {saved} |",
                set.name,
                percent(truth),
                found.widest
            );
            println!("{line}");
            assert!(found.held[0] >= 0.93, "{line}");
            assert!(found.widest <= 1.02, "{line}");
        }
    }
}

/// With few labels, where intervals fail first.
#[test]
fn fifty_labels_of_public_sets_say_what_they_can() {
    let Some(of_pandalm) = pandalm() else { return };
    let others = prometheus().into_iter().chain(gsm8k());
    for set in of_pandalm.into_iter().take(1).chain(others) {
        check(&set, &BOTH[..1], &LABELS[..1]);
    }
}

#[test]
#[ignore = "prints the table of docs/labels.md, which takes minutes"]
fn the_table() {
    let Some(of_pandalm) = pandalm() else { return };
    for set in of_pandalm.iter().chain(&prometheus()).chain(&gsm8k()) {
        let estimated = if set.name.starts_with("GSM8K") { &BOTH[..1] } else { &BOTH };
        check(set, estimated, &LABELS);
    }
}
