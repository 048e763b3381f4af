//! `evalrs cache import --as`: judgments made elsewhere, bound to the actions that a suite plans now.
//!
//! A row names a sample, a score and why. What the judge would have been asked is known from the suite, so the row
//! becomes the outcome of that action, with where it comes from beside it. All files are read before anything is kept:
//! a file with a mistake in it imports nothing.

use std::path::Path;

use super::binder::{Binder, JudgmentFile, ReadRows};
use super::fields_args::layout;
use super::import_tally::{ImportReport, ImportTally};
use super::judgments_file::read;
use super::vote_import;
use crate::cli::ImportArgs;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries::{self, Grader};
use evalrs_store::lock_imports;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::loaded_session;

/// Binds the judgments of every file to the grader's actions and keeps them.
pub(super) fn bind(args: &ImportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let [suite, grader] = &args.bind[..] else {
        return Err(Error::plain("`--as` takes a suite and a grader", "`--as suite.yaml quality`"));
    };
    let mut layout = layout(&args.fields, &args.map)?;
    let (surroundings, mut session) =
        loaded_session(suite, &args.store, Overrides::default(), console)?;
    while session.read_unread(console.system) {}
    let grader = named_grader(&session, grader)?;
    if queries::ready(&session.db, grader).records_votes() {
        return vote_import::import(&session, grader, &surroundings, args, console);
    }
    let binder = Binder::new(&session, grader)?;
    layout.map.takes_truths = binder.takes_truths();
    let at = console.system.now().to_string();
    let mut files = Vec::new();
    let mut seen = ReadRows::default();
    for path in &args.files {
        let bytes = read(path, console)?;
        let file = JudgmentFile { path, bytes: &bytes, layout: &layout, at: &at };
        files.push((path, binder.file(&file, &mut seen).map_err(Error::Diagnostics)?));
    }
    let _alone = lock_imports(Path::new(&surroundings.cache_dir));
    let store = surroundings.store(console)?;
    let mut tallies = Vec::new();
    for (path, bound) in &files {
        let mut refused = Vec::new();
        let fresh = binder.fresh(&bound.entries, args.replace, store.as_ref(), &mut refused);
        if let Err(error) = store.put_many(&fresh) {
            writeln!(console.err, "error: {error}")?;
            return Ok(ExitStatus::Incomplete);
        }
        tallies.push(ImportTally {
            path,
            judgments: bound.judgments,
            new: fresh.len(),
            there: bound.entries.len() - fresh.len() - refused.len() + bound.twice,
            failures: bound.failures,
            refused,
            unbound: &bound.unbound,
        });
    }
    let bound = files.iter().map(|(_, bound)| bound.entries.len()).sum();
    let grader = grader.name(&session.db);
    ImportReport { suite, grader, tallies, bound }.say(args, console)
}

fn named_grader<'a>(session: &'a Session, name: &str) -> Result<Grader<'a>, Error> {
    let db = &session.db;
    let graders = queries::graders(db, session.root);
    graders.iter().find(|grader| grader.name(db) == name).copied().ok_or_else(|| {
        let known: Vec<&str> = graders.iter().map(|grader| grader.name(db).as_str()).collect();
        Error::plain(
            format!("the suite has no grader `{name}`"),
            format!("it has `{}`", known.join("`, `")),
        )
    })
}
