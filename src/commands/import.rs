//! `evalrs import`: reads what another tool wrote, and writes a folder with suites that run, and a report.

use std::collections::BTreeSet;

use super::import_files::RootedFiles;
use crate::cli::ImportSourceArgs;
use evalrs_base::file_path::{join, non_empty};
use evalrs_base::text::sanitize;
use evalrs_import::imported::{ImportError, ImportedFile};
use evalrs_import::report::{NO_SUITE, SourceReport};
use evalrs_import::source::ImportSource;
use evalrs_import::{IMPORTERS, Importer, folder, importer, recognized};
use evalrs_system::{FileBytes, MISSING, System};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

pub(crate) fn import(
    args: &ImportSourceArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let files = RootedFiles::new(&args.source, args.root.as_deref(), console.system);
    check_is_there(&args.source, &files, console.system)?;
    check_folder(args, console.system)?;
    let source = ImportSource::new(args.source.as_str(), &files);
    let importer = chosen(args, &source)?;
    let imported = (importer.import)(&source).map_err(error)?;
    let mut secrets = source.into_secrets();
    let mut report = SourceReport::new(importer.kind, &args.source, &args.output, &imported);
    let written = folder::files(imported, &mut secrets, &mut report);
    check_links(args, &written, console.system)?;
    for file in written {
        let path = join(&args.output, &file.path);
        console.system.write(&path, &mut |to| to.write_all(file.text.as_bytes()))?;
    }
    if args.json {
        console.write_json(&report)?;
        if !report.has_suites() {
            writeln!(console.err, "error: {NO_SUITE}; see {}", sanitize(&report.path()))?;
        }
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

fn check_is_there(source: &str, files: &RootedFiles<'_>, system: &dyn System) -> Result<(), Error> {
    let reason = match system.read(source) {
        FileBytes::Bytes(_) | FileBytes::Folder => match files.check(source) {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        },
        FileBytes::Missing => MISSING.to_owned(),
        FileBytes::Unreadable(reason) => reason,
    };
    let hint = "name a file or folder that another tool wrote: `evalrs import SOURCE -o DIR`";
    Err(Error::plain(format!("cannot read `{source}`: {reason}"), hint))
}

fn check_folder(args: &ImportSourceArgs, system: &dyn System) -> Result<(), Error> {
    let output = args.output.as_str();
    let holds_files = system.list(non_empty(output)).is_some_and(|names| !names.is_empty());
    if holds_files && !args.force {
        let message = format!("the folder `{output}` already has files; nothing was written");
        return Err(Error::plain(message, "name another folder, or write over it with `--force`"));
    }
    Ok(())
}

/// Refuses to write where a link in the folder leads: that may be anywhere.
fn check_links(
    args: &ImportSourceArgs,
    files: &[ImportedFile],
    system: &dyn System,
) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for file in files {
        let ends = file.path.match_indices('/').map(|(at, _)| at).chain([file.path.len()]);
        for path in ends.map(|end| join(&args.output, &file.path[..end])) {
            if seen.insert(path.clone()) && system.is_link(&path) {
                let message = format!("`{path}` is a link; nothing was written");
                let hint = "an import does not write outside its folder: remove the link, or name another folder";
                return Err(Error::plain(message, hint));
            }
        }
    }
    Ok(())
}

/// The importer that `--from` names, or that recognizes the source.
fn chosen(args: &ImportSourceArgs, source: &ImportSource<'_>) -> Result<&'static Importer, Error> {
    match &args.from {
        Some(kind) => importer(kind)
            .ok_or_else(|| Error::plain(format!("unknown kind of source `{kind}`"), kinds())),
        None => recognized(source).ok_or_else(|| {
            let message = format!("cannot recognize `{}`", args.source);
            Error::plain(message, format!("name its kind with `--from KIND`; {}", kinds()))
        }),
    }
}

fn kinds() -> String {
    let kinds =
        IMPORTERS.iter().map(|importer| format!("`{}` ({})", importer.kind, importer.reads));
    format!("kinds are {}", kinds.collect::<Vec<_>>().join(", "))
}
