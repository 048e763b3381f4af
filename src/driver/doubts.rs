//! What is probably not meant: graders that look for something that no row has.
//!
//! Only warnings: a rubric may well contain braces, and a grader may be there for rows to come.

use crate::dataset::fields::{Fields, RowSpec};
use crate::db::inputs::Root;
use crate::db::{Database, queries};
use crate::diagnostic::{Diagnostic, Place, clipped, suggest};
use crate::grade::registry;
use crate::judge::template::{NAMES, PAIR_NAMES, open_names};
use crate::path::Row;
use crate::suite::{GraderKind, GraderSpec};

/// Everything that graders look for in vain.
pub(super) fn doubts(db: &Database, root: Root) -> Vec<Diagnostic> {
    let (Some(suite), Some(spec)) = (&queries::suite(db, root).suite, queries::row_spec(db, root))
    else {
        return Vec::new();
    };
    let path = root.suite(db).path(db);
    let any_row = |has: &dyn Fn(&str, &Fields<'_>) -> bool| {
        let mut rows = root.chunks(db).iter().flat_map(|chunk| chunk.records(db).iter());
        rows.any(|(row, _)| Fields::new(row, spec).is_ok_and(|fields| has(row, &fields)))
    };
    suite
        .graders
        .iter()
        .flat_map(|grader| of_grader(grader, spec, &any_row))
        .map(|doubt| doubt.diagnostic(path))
        .collect()
}

/// Whether some row of the dataset has it.
type AnyRow<'a> = &'a dyn Fn(&dyn Fn(&str, &Fields<'_>) -> bool) -> bool;

struct Doubt {
    message: String,
    hint: String,
}

impl Doubt {
    fn diagnostic(self, path: &str) -> Diagnostic {
        Diagnostic::warning(Place::file(path), self.message).hint(self.hint)
    }
}

fn of_grader(grader: &GraderSpec, spec: &RowSpec, any_row: AnyRow<'_>) -> Vec<Doubt> {
    match &grader.kind {
        GraderKind::Tool(tool) => {
            let needs = registry::find(&tool.function).is_some_and(|info| info.needs_ground_truth);
            let in_vain = needs && !any_row(&|_, fields| fields.raw("ground_truth").is_some());
            in_vain.then(|| no_ground_truth(grader, &tool.function, spec)).into_iter().collect()
        }
        GraderKind::Rubric(rubric) => {
            let compares = rubric.compare_to.is_some();
            let names = open_names(&rubric.prompt, compares).into_iter();
            let in_vain =
                names.filter(|name| !any_row(&|row, fields| stands_for(name, row, fields)));
            in_vain.map(|name| unknown_name(grader, name, compares)).collect()
        }
    }
}

/// Whether `{name}` stands for something in this row.
fn stands_for(name: &str, row: &str, fields: &Fields<'_>) -> bool {
    if let Some(path) = name.strip_prefix("row.") {
        return Row { text: row }.get(path).is_some();
    }
    fields.raw("rubric_vars").is_some_and(|vars| {
        let text = vars.get();
        // CSV cells hold the object as text: there the name is enough.
        text.contains(&format!("\"{name}\"")) || text.contains(&format!("\\\"{name}\\\""))
    })
}

fn no_ground_truth(grader: &GraderSpec, function: &str, spec: &RowSpec) -> Doubt {
    let name = clipped(&grader.name);
    let mapped = spec.fields.paths.iter().any(|(ours, _)| ours == "ground_truth");
    Doubt {
        message: format!(
            "no row has a `ground_truth`: `{name}` ({function}) will give every row 0.0"
        ),
        hint: if mapped {
            "check the path of `ground_truth` in `fields`".to_owned()
        } else {
            "say where it is: `fields: {ground_truth: NAME}`".to_owned()
        },
    }
}

fn unknown_name(grader: &GraderSpec, name: &str, compares: bool) -> Doubt {
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
    let (grader, name) = (clipped(&grader.name), clipped(name));
    Doubt {
        message: format!(
            "the rubric of `{grader}` names `{{{name}}}`, which no row has: the judge is sent the braces"
        ),
        hint,
    }
}
