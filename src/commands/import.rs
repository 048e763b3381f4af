//! `evalrs import`: reads what another tool wrote, and writes a folder with suites that run, and a report.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::import_files::{RootedFiles, check_is_there};
use super::starter::{self, StartedSuite};
use crate::cli::ImportSourceArgs;
use evalrs_base::file_path::{join, non_empty};
use evalrs_base::text::sanitize;
use evalrs_import::imported::{ImportedFile, ImportedSource};
use evalrs_import::report::{NO_SUITE, REPORT, SourceReport};
use evalrs_import::source::ImportSource;
use evalrs_import::starter::STARTERS;
use evalrs_import::{IMPORTERS, Importer, folder, importer, recognized};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

pub(crate) fn import(
    args: &ImportSourceArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let files = RootedFiles::new(&args.source, args.root.as_deref(), console.system);
    check_is_there(&args.source, &files, console.system)?;
    check_folder(args, console.system)?;
    let ImportPlan { report, files: written } = plan(args, &files, console.system)?;
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

/// What is written, and the account of it.
struct ImportPlan {
    report: SourceReport,
    files: Vec<ImportedFile>,
}

/// By the importer that `--from` names, or that recognizes the source, else as a suite to start from.
fn plan(
    args: &ImportSourceArgs,
    files: &RootedFiles<'_>,
    system: &dyn System,
) -> Result<ImportPlan, Error> {
    let source = ImportSource::new(args.source.as_str(), files);
    let is_starter = |kind: &String| STARTERS.iter().any(|(name, _)| name == kind);
    let importer = match &args.from {
        Some(kind) if is_starter(kind) => None,
        Some(kind) => {
            let unknown = || Error::plain(format!("unknown kind of source `{kind}`"), kinds());
            Some(importer(kind).ok_or_else(unknown)?)
        }
        None => recognized(&source),
    };
    match importer {
        Some(importer) => imported(importer, args, source),
        None => over_data(args, files, system),
    }
}

fn imported(
    importer: &Importer,
    args: &ImportSourceArgs,
    source: ImportSource<'_>,
) -> Result<ImportPlan, Error> {
    let imported = (importer.import)(&source).map_err(starter::error)?;
    let mut secrets = source.into_secrets();
    let mut report = SourceReport::new(importer.kind, &args.source, &args.output, &imported);
    let files = folder::files(imported, &mut secrets, &mut report);
    Ok(ImportPlan { report, files })
}

/// The suite that `evalrs init --from` writes.
fn over_data(
    args: &ImportSourceArgs,
    files: &RootedFiles<'_>,
    system: &dyn System,
) -> Result<ImportPlan, Error> {
    let started = starter::started(&args.source, files, &args.output, &[], system)?;
    let started =
        started.filter(|it| args.from.as_deref().is_none_or(|kind| kind == it.suite.kind));
    let Some(StartedSuite { suite, text, samples, notes }) = started else {
        let message = format!("cannot recognize `{}`", args.source);
        let hint = match &args.from {
            Some(kind) => format!("it is not of the kind `{kind}`; {}", kinds()),
            None => format!("name its kind with `--from KIND`; {}", kinds()),
        };
        return Err(Error::plain(message, hint));
    };
    let graders: Map<String, Value> =
        suite.graders().map(|name| (name.to_owned(), Value::Null)).collect();
    let mut account = ImportedSource { notes, referenced: samples, ..ImportedSource::default() };
    account.count_all("samples", samples);
    account.add_suite("suite", json!({"graders": graders}), Vec::new());
    let report = SourceReport::new(suite.kind, &args.source, &args.output, &account);
    let of = |path: &str, text: String| ImportedFile { path: path.to_owned(), text };
    let files = vec![of("suite.yaml", text), of(REPORT, report.markdown())];
    Ok(ImportPlan { report, files })
}

fn kinds() -> String {
    let kinds = IMPORTERS.iter().map(|importer| (importer.kind, importer.reads)).chain(STARTERS);
    let kinds = kinds.map(|(kind, reads)| format!("`{kind}` ({reads})"));
    format!("kinds are {}", kinds.collect::<Vec<_>>().join(", "))
}
