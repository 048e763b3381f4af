//! What the graders of a suite need of every row, and what is wrong with rows that lack it.
//!
//! It says who needs what, and nothing of how it is used: an edited rubric that shows the same things needs the same.

use super::scope::GraderScope;
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::row::{OpenedRow, RowRecord};
use crate::judge::template;
use crate::{extract, grade};
use evalrs_base::diagnostic::clipped;
use evalrs_model::spec::{GraderKind, GraderSpec};

/// The extractors that read what only a trajectory has.
const OF_TRAJECTORIES: [&str; 3] = ["tool_arguments", "tool_output", "trajectory"];

/// What graders need of the rows that they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowNeeds(Vec<GraderNeeds>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct GraderNeeds {
    scope: GraderScope,
    vars: Vec<String>,
    /// What its judges are shown of the input; none if it has none. What a program reads of its sample is not known.
    input: Option<JudgeView>,
    /// Its function, if that compares with one text.
    one_truth: Option<String>,
    trajectory: bool,
    /// Whether it reads what the target answered.
    answer: bool,
}

/// What judges are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JudgeView {
    /// Whether the rubric of the grader shows the input.
    input: bool,
    compares: bool,
}

impl RowNeeds {
    /// What these graders need.
    pub fn of<'a>(graders: impl Iterator<Item = &'a GraderSpec>) -> Self {
        Self(graders.filter_map(GraderNeeds::of).collect())
    }

    /// What a row lacks. Of a row that cannot be read at all, something else is wrong.
    pub fn problems(&self, record: RowRecord<'_>, spec: &RowSpec) -> Vec<RowProblem> {
        let Ok(row) = OpenedRow::new(record, spec) else { return Vec::new() };
        let needs: Vec<&GraderNeeds> =
            self.0.iter().filter(|needs| needs.scope.leaves_out(&row).is_none()).collect();
        let mut problems = without_vars(&needs, &row);
        // What is wrong with the row is said once, of the first grader.
        if let Some(needs) = needs.iter().find(|needs| needs.answer)
            && let Some(problem) = row.no_answer()
        {
            problems.push(needs.reads(problem, "the answer"));
            return problems;
        }
        problems.extend(without_input(&needs, &row));
        problems.extend(needs.iter().find_map(|needs| needs.with_several_truths(&row)));
        problems.extend(needs.iter().find_map(|needs| needs.without_trajectory(&row)));
        problems
    }
}

impl GraderNeeds {
    /// None of a grader that needs nothing.
    fn of(grader: &GraderSpec) -> Option<Self> {
        let scope = GraderScope::of(grader);
        let mut needs = Self {
            scope,
            vars: Vec::new(),
            input: None,
            one_truth: None,
            trajectory: false,
            answer: !extract::reads_row(&grader.extractor),
        };
        match &grader.kind {
            GraderKind::Tool(tool) => {
                let info = grade::find(&tool.function);
                let takes_lists = info.is_some_and(|info| info.takes_lists);
                let reads_own = grader.ground_truth.is_some();
                if grade::needs_ground_truth(tool) && !takes_lists && !reads_own {
                    needs.one_truth = Some(tool.function.clone());
                }
                needs.trajectory = info.is_some() && grade::reads_trajectory(tool);
                needs.answer &= needs.trajectory || !grade::reads_row(tool);
            }
            GraderKind::Rubric(rubric) if rubric.embedding.is_some() => {
                let has_own = grader.ground_truth.is_some()
                    || rubric.embedding.as_ref().is_some_and(|spec| spec.value.is_some());
                needs.one_truth = (!has_own).then(|| "similarity".to_owned());
            }
            GraderKind::Rubric(rubric) => {
                let compares = rubric.compare_to.is_some();
                let input = template::shows_input(&rubric.prompt, compares);
                needs.input = Some(JudgeView { input, compares });
                needs.vars.clone_from(&rubric.rubric_vars);
            }
            GraderKind::Program(_) => needs.answer = true,
            GraderKind::Reward(_) => return None,
        }
        needs.trajectory |= OF_TRAJECTORIES.contains(&grader.extractor.name.as_str());
        needs.answer |= needs.trajectory;
        let reads = needs.input.is_some() || needs.one_truth.is_some() || needs.answer;
        (reads || !needs.vars.is_empty()).then_some(needs)
    }

    fn with_several_truths(&self, row: &OpenedRow<'_>) -> Option<RowProblem> {
        let function = self.one_truth.as_ref()?;
        let problem = row.no_single_truth()?;
        let grader = clipped(&self.scope.name);
        let message =
            format!("{}: `{grader}` ({function}) compares with one text", problem.message);
        let hint = "`function: one_of` accepts any answer of a list; a list of one answer a turn needs an `input` that is a list of turns";
        Some(RowProblem { message, ..problem }.hint(hint))
    }

    /// The problem, which keeps the grader from reading `what`.
    fn reads(&self, problem: RowProblem, what: &str) -> RowProblem {
        let grader = clipped(&self.scope.name);
        let message = format!("{}; the grader `{grader}` reads {what}", problem.message);
        RowProblem { message, ..problem }
    }

    fn without_trajectory(&self, row: &OpenedRow<'_>) -> Option<RowProblem> {
        let problem = self.trajectory.then(|| row.no_trajectory())??;
        Some(self.reads(problem, "trajectories"))
    }
}

fn without_vars(needs: &[&GraderNeeds], row: &OpenedRow<'_>) -> Vec<RowProblem> {
    // A row with a rubric of its own is not judged by the grader's.
    if needs.iter().all(|needs| needs.vars.is_empty()) || has_own_rubric(row) {
        return Vec::new();
    }
    let Ok(vars) = row.rubric_vars() else { return Vec::new() };
    let missing = needs.iter().filter_map(|needs| {
        let absent = needs.vars.iter().filter(|name| !vars.contains_key(*name));
        let absent: Vec<&String> = absent.collect();
        (!absent.is_empty()).then(|| no_vars(&needs.scope.name, &absent))
    });
    missing.collect()
}

fn without_input(needs: &[&GraderNeeds], row: &OpenedRow<'_>) -> Option<RowProblem> {
    needs.iter().find(|needs| needs.input.is_some())?;
    let problem = row.no_input()?;
    let own = row.rubric().ok().flatten();
    let has_own_file = row.rubric_path().is_ok_and(|path| path.is_some());
    let reads = |judge: JudgeView| match &own {
        Some(rubric) => template::shows_input(rubric, judge.compares),
        // What the file says is not known here.
        None => judge.input || has_own_file,
    };
    let reader = needs.iter().find(|needs| needs.input.is_some_and(reads))?;
    let grader = clipped(&reader.scope.name);
    let message = format!("{}, which the grader `{grader}` reads", problem.message);
    Some(RowProblem { message, ..problem })
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
