//! `evalrs import`: reads what another tool wrote, and writes a folder with suites that run, and a report.

use super::Console;
use super::import_files::RootedFiles;
use crate::app::cli::ImportSourceArgs;
use crate::app::error::{Error, ExitStatus};
use crate::base::system::{FileBytes, System, join, non_empty};
use crate::base::text::sanitize;
use crate::pipeline::import::imported::ImportError;
use crate::pipeline::import::report::SourceReport;
use crate::pipeline::import::source::ImportSource;
use crate::pipeline::import::{IMPORTERS, Importer, folder, importer, recognized};

/// Imports a source into a folder.
pub(crate) fn import(
    args: &ImportSourceArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    check_is_there(&args.source, console.system)?;
    check_folder(args, console.system)?;
    let files = RootedFiles::new(&args.source, args.root.as_deref(), console.system);
    let source = ImportSource::new(args.source.as_str(), &files);
    let importer = chosen(args, &source)?;
    let imported = (importer.import)(&source).map_err(error)?;
    let secrets = source.into_secrets();
    let report = SourceReport::new(importer.kind, &args.source, &args.output, &imported, &secrets);
    for file in folder::files(imported, &secrets, &report) {
        let path = join(&args.output, &file.path);
        console.system.write(&path, &mut |to| to.write_all(file.text.as_bytes()))?;
    }
    if args.json {
        console.write_json(&report)?;
    } else {
        report
            .summary()
            .lines()
            .try_for_each(|line| writeln!(console.out, "{}", sanitize(line)))?;
    }
    Ok(if report.has_suites() { ExitStatus::Success } else { ExitStatus::UserError })
}

fn error(error: ImportError) -> Error {
    match error {
        ImportError::Diagnostics(diagnostics) => Error::Diagnostics(diagnostics),
        ImportError::Unreadable { message, hint } => Error::plain(message, hint),
    }
}

fn check_is_there(source: &str, system: &dyn System) -> Result<(), Error> {
    let reason = match system.read(source) {
        FileBytes::Bytes(_) | FileBytes::Folder => return Ok(()),
        FileBytes::Missing => "there is no such file".to_owned(),
        FileBytes::Unreadable(reason) => reason,
    };
    let hint = "name a file or folder that another tool wrote: `evalrs import SOURCE -o DIR`";
    Err(Error::plain(format!("cannot read `{source}`: {reason}"), hint))
}

fn check_folder(args: &ImportSourceArgs, system: &dyn System) -> Result<(), Error> {
    let output = args.output.as_str();
    let holds_files = system.list(non_empty(output)).is_some_and(|names| !names.is_empty());
    if holds_files && !args.force {
        let message = format!("the folder `{output}` holds files already, and nothing was written");
        return Err(Error::plain(message, "name another folder, or write over it with `--force`"));
    }
    Ok(())
}

/// The importer that `--from` names, or that recognizes the source.
fn chosen(args: &ImportSourceArgs, source: &ImportSource<'_>) -> Result<&'static Importer, Error> {
    match &args.from {
        Some(kind) => importer(kind)
            .ok_or_else(|| Error::plain(format!("there is no kind of source `{kind}`"), kinds())),
        None => recognized(source).ok_or_else(|| {
            let message = format!("cannot tell what `{}` is", args.source);
            Error::plain(message, format!("say it with `--from KIND`; {}", kinds()))
        }),
    }
}

fn kinds() -> String {
    let kinds =
        IMPORTERS.iter().map(|importer| format!("`{}` ({})", importer.kind, importer.reads));
    format!("kinds are {}", kinds.collect::<Vec<_>>().join(", "))
}
