//! `evalrs schemas`: JSON Schemas of the records, for those who write graders and read results in other languages, and
//! those of suites, roll-ups and `evalrs.toml`, for editors.

use serde_json::Value;

use super::grading::write_text;
use crate::args::harness::SchemasArgs;
use crate::schemas::{names, schema};
use evalrs_base::file_path::join;
use evalrs_suite::schema::{rollup_schema, suite_schema, workspace_schema};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

pub(crate) fn schemas(args: &SchemasArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let output = args.output.as_deref();
    match (&args.name, output) {
        _ if args.list => list("", console)?,
        // The files that people write are none of the records: the lists leave them out.
        (Some(name), _) if name == "suite" => {
            write_text(&format!("{:#}", suite_schema()), output, console)?;
        }
        (Some(name), _) if name == "rollup" => {
            write_text(&format!("{:#}", rollup_schema()), output, console)?;
        }
        (Some(name), _) if name == "workspace" => {
            write_text(&format!("{:#}", workspace_schema()), output, console)?;
        }
        (Some(name), _) => {
            let schema = schema(name).ok_or_else(|| unknown(name))?;
            write_text(&format!("{schema:#}"), output, console)?;
        }
        (None, Some(folder)) if args.split => {
            for (name, schema) in all() {
                let path = join(folder, &format!("{name}.json"));
                write_text(&format!("{schema:#}"), Some(&path), console)?;
            }
            let folder = folder.trim_end_matches('/');
            writeln!(console.err, "Wrote {} schema files to {folder}/", names().count())?;
        }
        (None, _) if args.json => {
            let all = Value::Object(all().collect());
            write_text(&format!("{all:#}"), output, console)?;
        }
        (None, None) if args.split => {
            list(" (--split writes them to the folder that -o names)", console)?;
        }
        (None, _) => list(" (use --json to export)", console)?,
    }
    Ok(ExitStatus::Success)
}

fn all() -> impl Iterator<Item = (String, Value)> {
    names().filter_map(|name| Some((name.to_owned(), schema(name)?)))
}

fn list(remark: &str, console: &mut Console<'_>) -> std::io::Result<()> {
    writeln!(console.out, "Available schemas{remark}:")?;
    names().try_for_each(|name| writeln!(console.out, "  - {name}"))
}

fn unknown(name: &str) -> Error {
    let known = names().collect::<Vec<_>>().join(", ");
    Error::harness_usage(format!("Unknown schema '{name}'\nAvailable: {known}"))
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::schemas::names;

    #[test]
    fn no_schema_is_left_out() {
        assert_eq!(all().count(), names().count());
    }
}
