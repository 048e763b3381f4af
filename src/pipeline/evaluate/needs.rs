//! What the graders of a suite need of every row, and what is wrong with rows that lack it.
//!
//! It says who needs what, and nothing of how it is used: an edited rubric that shows the same things needs the same.

use crate::base::diagnostic::clipped;
use crate::pipeline::dataset::fields::{RowProblem, RowSpec};
use crate::pipeline::dataset::row::{OpenedRow, RowRecord};
use crate::pipeline::grade;
use crate::pipeline::judge::template;
use crate::pipeline::spec::{ExtractorSpec, GraderKind, GraderSpec};

/// The extractors that read what only a trajectory has.
const OF_TRAJECTORIES: [&str; 3] = ["tool_arguments", "tool_output", "trajectory"];

/// What graders need of every row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowNeeds {
    /// Grader → the rubric variables that it names.
    vars: Vec<(String, Vec<String>)>,
    /// The graders that read the input.
    input: Vec<InputReader>,
    /// The first grader that compares with one text, and its function.
    one_truth: Option<(String, String)>,
    /// The first grader that reads trajectories.
    trajectory: Option<String>,
}

/// A grader that reads the input.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InputReader {
    grader: String,
    /// None of a program, which is handed the whole sample.
    judge: Option<JudgeView>,
}

/// What judges are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JudgeView {
    /// Whether the rubric of the grader shows the input.
    input: bool,
    /// Whether two submissions are compared.
    compares: bool,
}

impl RowNeeds {
    /// What these graders need.
    pub fn of<'a>(graders: impl Iterator<Item = &'a GraderSpec>) -> Self {
        let mut needs = Self::default();
        for grader in graders {
            needs.add(grader);
        }
        needs
    }

    fn add(&mut self, grader: &GraderSpec) {
        let name = || grader.name.clone();
        match &grader.kind {
            GraderKind::Tool(tool) => {
                let info = grade::find(&tool.function);
                let takes_lists = info.is_some_and(|info| info.takes_lists);
                let reads_own = grader.ground_truth.is_some();
                if grade::needs_ground_truth(tool) && !takes_lists && !reads_own {
                    self.one_truth.get_or_insert_with(|| (name(), tool.function.clone()));
                }
                if info.is_some_and(|info| info.reads_trajectory) {
                    self.trajectory.get_or_insert_with(name);
                }
            }
            GraderKind::Rubric(rubric) => {
                let compares = rubric.compare_to.is_some();
                let input = template::shows_input(&rubric.prompt, compares);
                let judge = Some(JudgeView { input, compares });
                self.input.push(InputReader { grader: name(), judge });
                if !rubric.rubric_vars.is_empty() {
                    self.vars.push((name(), rubric.rubric_vars.clone()));
                }
            }
            GraderKind::Program(_) => {
                self.input.push(InputReader { grader: name(), judge: None });
            }
            GraderKind::Reward(_) => return,
        }
        let ExtractorSpec { name: extractor, .. } = &grader.extractor;
        if OF_TRAJECTORIES.contains(&extractor.as_str()) {
            self.trajectory.get_or_insert_with(name);
        }
    }

    /// What a row lacks. Of a row that cannot be read at all, something else is wrong.
    pub fn problems(&self, record: RowRecord<'_>, spec: &RowSpec) -> Vec<RowProblem> {
        let Ok(row) = OpenedRow::new(record, spec) else { return Vec::new() };
        let mut problems = self.without_vars(&row);
        problems.extend(self.without_input(&row));
        problems.extend(self.with_several_truths(&row));
        problems.extend(self.without_trajectory(&row));
        problems
    }

    fn without_vars(&self, row: &OpenedRow<'_>) -> Vec<RowProblem> {
        // A row with a rubric of its own is not judged by the grader's.
        if self.vars.is_empty() || has_own_rubric(row) {
            return Vec::new();
        }
        let Ok(vars) = row.rubric_vars() else { return Vec::new() };
        let missing = |(grader, names): &(String, Vec<String>)| {
            let absent: Vec<&String> =
                names.iter().filter(|name| !vars.contains_key(*name)).collect();
            (!absent.is_empty()).then(|| no_vars(grader, &absent))
        };
        self.vars.iter().filter_map(missing).collect()
    }

    fn without_input(&self, row: &OpenedRow<'_>) -> Option<RowProblem> {
        if self.input.is_empty() {
            return None;
        }
        let problem = row.no_input()?;
        let own = row.rubric().ok().flatten();
        let has_own_file = row.rubric_path().is_ok_and(|path| path.is_some());
        let reads = |reader: &&InputReader| match (&reader.judge, &own) {
            (None, _) => true,
            (Some(judge), Some(rubric)) => template::shows_input(rubric, judge.compares),
            // What the file says is not known here.
            (Some(judge), None) => judge.input || has_own_file,
        };
        let reader = self.input.iter().find(reads)?;
        let message =
            format!("{}, which the grader `{}` reads", problem.message, clipped(&reader.grader));
        Some(RowProblem { message, ..problem })
    }

    fn with_several_truths(&self, row: &OpenedRow<'_>) -> Option<RowProblem> {
        let (grader, function) = self.one_truth.as_ref()?;
        let problem = row.no_single_truth()?;
        let grader = clipped(grader);
        let message =
            format!("{}: `{grader}` ({function}) compares with one text", problem.message);
        let hint = "`function: one_of` accepts any answer of a list; a list of one answer a turn needs an `input` that is a list of turns";
        Some(RowProblem { message, ..problem }.hint(hint))
    }

    fn without_trajectory(&self, row: &OpenedRow<'_>) -> Option<RowProblem> {
        let grader = self.trajectory.as_ref()?;
        let problem = row.no_trajectory()?;
        let message =
            format!("{}; the grader `{}` reads trajectories", problem.message, clipped(grader));
        Some(RowProblem { message, ..problem })
    }
}

fn has_own_rubric(row: &OpenedRow<'_>) -> bool {
    row.rubric().is_ok_and(|own| own.is_some()) || row.rubric_path().is_ok_and(|own| own.is_some())
}

fn no_vars(grader: &str, names: &[&String]) -> RowProblem {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let example: Vec<String> = names.iter().map(|name| format!("\"{name}\": …")).collect();
    let message =
        format!("the grader `{grader}` needs {} in the row's `rubric_vars`", quoted.join(", "));
    RowProblem::new(message)
        .hint(format!("add \"rubric_vars\": {{{}}} to the row", example.join(", ")))
}
