//! What is probably not meant: graders that look for something that no row has.
//!
//! Only warnings: a rubric may well contain braces, and a grader may be there for rows to come.

use crate::base::diagnostic::{Diagnostic, Place, clipped, suggest};
use crate::graph::inputs::Root;
use crate::graph::votes::unused_votes;
use crate::graph::{Database, queries, rows};
use crate::pipeline::dataset::fields::RowSpec;
use crate::pipeline::evaluate::sought::Sought;
use crate::pipeline::expression::RowCondition;
use crate::pipeline::judge::template::{NAMES, PAIR_NAMES};
use crate::pipeline::spec::{GraderKind, GraderSpec};

/// Everything that graders look for in vain.
pub(crate) fn lints(db: &Database, root: Root) -> Vec<Diagnostic> {
    let (Some(suite), Some(spec)) = (&queries::suite(db, root).suite, queries::row_spec(db, root))
    else {
        return Vec::new();
    };
    let in_vain = rows::in_vain(db, root);
    let path = root.suite(db).path(db);
    let of_grader = |grader: &GraderSpec| -> Vec<Lint> {
        let sought = Sought::by_grader(grader).into_iter();
        let missing = sought.filter(|sought| in_vain.contains(sought));
        missing.filter_map(|sought| doubt(grader, spec, &sought)).collect()
    };
    let of_condition = |name: &str, condition: Option<&RowCondition>| -> Vec<Lint> {
        let missing = Sought::by_condition(condition).filter(|sought| in_vain.contains(sought));
        missing.filter_map(|sought| unknown_field(name, &sought)).collect()
    };
    let of_scope = |grader: &GraderSpec| {
        of_condition(&format!("`only` of `{}`", clipped(&grader.name)), grader.only.as_ref())
    };
    let of_dataset = of_condition("`where` of the dataset", suite.dataset.condition.as_ref());
    let lints = suite.graders.iter().flat_map(of_grader);
    let lints = of_dataset.into_iter().chain(suite.graders.iter().flat_map(of_scope)).chain(lints);
    lints.map(|doubt| doubt.diagnostic(path)).chain(unused_votes(db, root)).collect()
}

struct Lint {
    message: String,
    hint: String,
}

impl Lint {
    fn diagnostic(self, path: &str) -> Diagnostic {
        Diagnostic::warning(Place::file(path), self.message).hint(self.hint)
    }
}

fn doubt(grader: &GraderSpec, spec: &RowSpec, sought: &Sought) -> Option<Lint> {
    match (sought, &grader.kind) {
        (Sought::GroundTruth, GraderKind::Tool(tool)) => {
            Some(no_ground_truth(grader, &tool.function, spec))
        }
        (Sought::Trajectory, GraderKind::Tool(tool)) => Some(no_trajectory(grader, &tool.function)),
        (Sought::Name(name), GraderKind::Rubric(rubric)) => {
            Some(unknown_name(grader, name, rubric.compare_to.is_some()))
        }
        _ => None,
    }
}

fn unknown_field(condition: &str, sought: &Sought) -> Option<Lint> {
    let Sought::Condition(path) = sought else { return None };
    let path = clipped(path);
    Some(Lint {
        message: format!("{condition} names `{path}`, which no row has"),
        hint: "a condition names fields of the rows; texts stand in quotes: `'refund' in tags`"
            .to_owned(),
    })
}

fn no_ground_truth(grader: &GraderSpec, function: &str, spec: &RowSpec) -> Lint {
    let name = clipped(&grader.name);
    let mapped = spec.fields.paths.iter().any(|(ours, _)| ours == "ground_truth");
    Lint {
        message: format!(
            "no row has a `ground_truth`: `{name}` ({function}) cannot grade any of them"
        ),
        hint: if mapped {
            "check the path of `ground_truth` in `fields`".to_owned()
        } else {
            "say where it is: `fields: {ground_truth: NAME}`".to_owned()
        },
    }
}

fn no_trajectory(grader: &GraderSpec, function: &str) -> Lint {
    let name = clipped(&grader.name);
    Lint {
        message: format!("no row has a trajectory: `{name}` ({function}) will find no tool calls"),
        hint: "tool calls are read from `messages` or `trajectory`: `fields: {messages: NAME}`"
            .to_owned(),
    }
}

fn unknown_name(grader: &GraderSpec, name: &str, compares: bool) -> Lint {
    let known = if compares { [&NAMES[..], &PAIR_NAMES].concat() } else { NAMES.to_vec() };
    let hint = if PAIR_NAMES.contains(&name) {
        "two submissions are compared where the grader says `compare_to`".to_owned()
    } else if let Some(near) = suggest(name, known.iter().copied()) {
        format!("did you mean `{{{near}}}`?")
    } else {
        let known: Vec<String> = known.iter().map(|name| format!("`{{{name}}}`")).collect();
        format!(
            "a rubric can name {}, the names in `rubric_vars`, and `{{row.KEY}}`",
            known.join(", ")
        )
    };
    let grader = clipped(&grader.name);
    let name = clipped(name);
    Lint {
        message: format!(
            "the rubric of `{grader}` names `{{{name}}}`, which no row has: the judge is sent the braces"
        ),
        hint,
    }
}
