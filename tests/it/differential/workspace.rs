//! The workspace that is edited at random: a suite of programs and a judge, its rows, and every file that an import may find.

use std::collections::BTreeMap;

use serde_json::json;

use super::folder::{Files, PathContent};
use crate::space::jsonl;

/// Imports what may be there or not, beside what always is: modules, packages, and a name of the standard library.
const FUNCTION: &str = "\
import colorsys
import helper

try:
    import rules
except ImportError:
    rules = None
try:
    import space.inner as inner
except ImportError:
    inner = None


def f(sample, submission):
    try:
        import late
    except ImportError:
        late = None
    scores = [getattr(module, 'SCORE', 0.5) for module in (colorsys, helper, rules, inner, late)]
    return sum(scores) / len(scores)
";

/// Resolves names by `package.json`, and by what stands beside it.
const MODULE: &str = "\
import {createRequire} from 'node:module';
import {score} from '#score';

const require = createRequire(import.meta.url);
const optional = (name) => {
    try {
        return require(name).score;
    } catch {
        return 0.5;
    }
};

export const grade = async () => {
    const {default: deep} = await import('./js/deep.js');
    return {pass: true, score: (score + deep.score + optional('./optional') + optional('./js')) / 4};
};
";

const EXTRACTOR: &str = "\
try:
    from words import WORD
except ImportError:
    WORD = ' '


def pick(trajectory, config):
    text = trajectory[-1][-1].content
    return text.split(WORD)[-1]
";

/// The one file that is executed.
const SCRIPT: &str = "count.sh";

const EXECUTABLE: &str = "\
#!/bin/sh
found=0
for file in limits/*.txt; do
  [ -e \"$file\" ] && found=$((found + 1))
done
echo \"{\\\"pass\\\": true, \\\"score\\\": 0.$found}\"
";

const REWARD: &str = "\
try:
    from weights import WEIGHT
except ImportError:
    WEIGHT = 0.5


def total(ctx):
    return WEIGHT * ctx.grades['f'].score + (1 - WEIGHT) * ctx.grades['g'].score
";

/// What may be a file or not, and how its text is made of a score.
const OPTIONAL: &[(&str, Content)] = &[
    ("colorsys.py", Content::Python("SCORE")),
    ("rules.py", Content::Python("SCORE")),
    ("rules/__init__.py", Content::Python("SCORE")),
    ("late.py", Content::Python("SCORE")),
    ("helper/__init__.py", Content::Python("SCORE")),
    ("space/inner.py", Content::Python("SCORE")),
    ("space/__init__.py", Content::Python("OTHER")),
    ("space.py", Content::Python("SCORE")),
    ("weights.py", Content::Python("WEIGHT")),
    ("words.py", Content::Word),
    ("optional.js", Content::CommonJs),
    ("optional.json", Content::Json),
    ("optional/index.js", Content::CommonJs),
    ("optional/package.json", Content::Text("{\"main\": \"other.js\"}\n")),
    ("optional/other.js", Content::CommonJs),
    ("js/index.js", Content::CommonJs),
    ("limits/one.txt", Content::Text("1\n")),
    ("limits/two.txt", Content::Text("2\n")),
    ("unrelated.py", Content::Python("SCORE")),
];

/// What is always there, with a score.
const ALWAYS: &[(&str, Content)] = &[
    ("helper.py", Content::Python("SCORE")),
    ("js/deep.js", Content::CommonJs),
    ("one.js", Content::EsModule),
    ("two.js", Content::EsModule),
];

const SCORES: [&str; 4] = ["0.25", "0.5", "0.75", "1.0"];

/// How the text of a file is made.
#[derive(Clone, Copy)]
enum Content {
    /// A module of Python with a variable of this name.
    Python(&'static str),
    /// A module of Python with the word that an extractor splits at.
    Word,
    /// A `CommonJS` module.
    CommonJs,
    /// An ES module, whatever `package.json` says of the folder.
    EsModule,
    /// A JSON document.
    Json,
    /// Always this.
    Text(&'static str),
}

impl Content {
    fn text(self, score: &str) -> String {
        match self {
            Self::Python(name) => format!("{name} = {score}\n"),
            Self::Word => format!("WORD = '{}'\n", score.chars().last().unwrap_or('5')),
            Self::CommonJs => format!("module.exports = {{score: {score}}};\n"),
            Self::EsModule => format!("export const score = {score};\n"),
            Self::Json => format!("{{\"score\": {score}}}\n"),
            Self::Text(text) => text.to_owned(),
        }
    }
}

/// The state of a workspace.
#[derive(Clone, Debug)]
pub(super) struct Workspace {
    /// Path → text of what programs are made of.
    programs: BTreeMap<String, String>,
    /// Number of the row → its answer and its ground truth.
    rows: BTreeMap<u32, (u32, u32)>,
    rubric: u32,
    /// How often the judge votes.
    votes: u32,
    /// From which score on a grade passes.
    pass_threshold: &'static str,
    /// By which of two patterns the shell script declares its inputs.
    has_deep_pattern: bool,
    has_extractor: bool,
    round: u32,
}

impl Workspace {
    /// What the first evaluation is made of: nothing optional.
    pub(super) fn new() -> Self {
        let mut programs: BTreeMap<String, String> = [
            ("f.py", FUNCTION),
            ("g.mjs", MODULE),
            ("pick.py", EXTRACTOR),
            (SCRIPT, EXECUTABLE),
            ("total.py", REWARD),
            ("limits/always.txt", "0\n"),
            ("package.json", "{\"imports\": {\"#score\": \"./one.js\"}, \"type\": \"module\"}\n"),
            ("js/package.json", "{\"type\": \"commonjs\"}\n"),
            ("optional/README", "A folder that may be a package.\n"),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
        for (path, content) in ALWAYS {
            programs.insert((*path).to_owned(), content.text("0.25"));
        }
        Self {
            programs,
            rows: (0..5).map(|at| (at, (at, at % 2))).collect(),
            rubric: 0,
            votes: 1,
            pass_threshold: "0.5",
            has_deep_pattern: true,
            has_extractor: true,
            round: 0,
        }
    }

    /// The number of the round, by which an evaluation is recognised.
    pub(super) fn number(&mut self, round: u32) {
        self.round = round;
    }

    /// The threshold of the gate.
    pub(super) fn threshold(&self) -> f64 {
        format!("0.{:04}", self.round).parse().unwrap()
    }

    /// One to three edits at random, or back to how it was `earlier`. Returns what was done.
    pub(super) fn edit(&mut self, earlier: &[Self], random: &mut fastrand::Rng) -> Vec<String> {
        super::some_edits(self, earlier, random, Self::edit_once)
    }

    fn edit_once(&mut self, random: &mut fastrand::Rng) -> String {
        match random.u32(..10) {
            0..=4 => self.edit_optional(random),
            5 => {
                let (path, content) = ALWAYS[random.usize(..ALWAYS.len())];
                self.programs.insert(path.to_owned(), content.text(score(random)));
                format!("edit {path}")
            }
            6 => self.edit_package(random),
            7 => self.edit_rows(random),
            _ => self.edit_suite(random),
        }
    }

    /// Adds, edits or removes a file that programs look for.
    fn edit_optional(&mut self, random: &mut fastrand::Rng) -> String {
        let (path, content) = OPTIONAL[random.usize(..OPTIONAL.len())];
        if self.programs.contains_key(path) && random.bool() {
            self.programs.remove(path);
            return format!("remove {path}");
        }
        self.programs.insert(path.to_owned(), content.text(score(random)));
        format!("write {path}")
    }

    fn edit_package(&mut self, random: &mut fastrand::Rng) -> String {
        let target = ["./one.js", "./two.js"][random.usize(..2)];
        let package =
            json!({"imports": {"#score": target}, "type": "module", "private": random.bool()});
        self.programs.insert("package.json".to_owned(), format!("{package}\n"));
        format!("package.json: {target}")
    }

    fn edit_rows(&mut self, random: &mut fastrand::Rng) -> String {
        let at = random.u32(..8);
        if self.rows.len() > 2 && random.u32(..3) == 0 && self.rows.remove(&at).is_some() {
            return format!("remove row {at}");
        }
        self.rows.insert(at, (random.u32(..6), random.u32(..3)));
        format!("write row {at}")
    }

    fn edit_suite(&mut self, random: &mut fastrand::Rng) -> String {
        match random.u32(..5) {
            0 => self.rubric = random.u32(..3),
            1 => self.votes = random.u32(1..=2),
            2 => self.pass_threshold = SCORES[random.usize(..SCORES.len())],
            3 => self.has_deep_pattern = !self.has_deep_pattern,
            _ => self.has_extractor = !self.has_extractor,
        }
        "suite".to_owned()
    }

    /// Every file.
    pub(super) fn files(&self) -> Files {
        let mut files = self.programs.clone();
        let row = |(id, (answer, truth)): (&u32, &(u32, u32))| {
            let output = format!("The answer is {answer}.");
            json!({"id": format!("s{id}"), "input": "q", "output": output, "ground_truth": truth})
        };
        files.insert("rows.jsonl".to_owned(), jsonl(self.rows.iter().map(row)));
        let adverb = ["", "very ", "hardly "][self.rubric as usize];
        let rubric = format!("Is it {adverb}polite? {{submission}}\n");
        files.insert("rubric.txt".to_owned(), rubric);
        files.insert("suite.yaml".to_owned(), self.suite());
        let content = |path: &str, text| match path {
            SCRIPT => PathContent::Script(text),
            _ => PathContent::Text(text),
        };
        files.into_iter().map(|(path, text)| (path.clone(), content(&path, text))).collect()
    }

    fn suite(&self) -> String {
        let Self { votes, pass_threshold, .. } = self;
        let pattern = if self.has_deep_pattern { "limits/**" } else { "limits/*.txt" };
        let extractor = if self.has_extractor { ", extractor: 'pick.py:pick'" } else { "" };
        let threshold = self.threshold();
        format!(
            "\
name: s
dataset: rows.jsonl
graders:
  f: {{kind: tool, function: 'f.py:f', pass_threshold: {pass_threshold}}}
  g: {{kind: program, path: g.mjs, runtime: node, pass_threshold: {pass_threshold}}}
  count: {{kind: program, path: {SCRIPT}, inputs: ['{pattern}']}}
  right: {{kind: tool, function: contains{extractor}}}
  polite: {{kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, votes: {votes}, pass_threshold: 0.5}}
reward: {{kind: custom, function: 'total.py:total'}}
gate: {{metric_key: f, metric: avg_score, op: gte, value: {threshold}}}
"
        )
    }
}

fn score(random: &mut fastrand::Rng) -> &'static str {
    SCORES[random.usize(..SCORES.len())]
}
