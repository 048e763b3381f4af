//! `evalrs completions`: what makes a shell ask for completions, and the answers.
//!
//! The shell calls the binary with the words that are typed so far. Flags come from the definition of the command line, ids of
//! samples and names of graders from the suite among the words. A suite that cannot be read completes nothing.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use clap::{Arg, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter};
use clap_complete::env::Shells;

use crate::cli::{Cli, CompletionsArgs};
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::new_session;

/// The variable by which the scripts say for which shell words are to be completed.
pub const VARIABLE: &str = "EVALRS_COMPLETE";

/// More candidates than a shell shows with profit.
const MOST: usize = 1000;

pub(crate) fn completions(
    args: &CompletionsArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let mut text = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&args.shell.to_string()) {
        shell.write_registration(VARIABLE, "evalrs", "evalrs", "evalrs", &mut text)?;
    }
    console.out.write_all(&text)?;
    Ok(ExitStatus::Success)
}

/// Prints what may stand at the cursor. `words` are those of the call: the binary, `--`, and what is typed.
pub fn complete(
    shell: &str,
    words: impl Iterator<Item = OsString>,
    system: &'static (dyn System + Sync),
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(shell) else { return Ok(()) };
    let typed: Vec<OsString> = words.skip_while(|word| word != "--").skip(1).collect();
    let is_suite =
        |word: &&str| is_yaml(Path::new(word)) && matches!(system.read(word), FileBytes::Bytes(_));
    let suite = typed.iter().filter_map(|word| word.to_str()).find(is_suite);
    let named = suite.map(|path| NamedSuite { path: path.to_owned(), system });
    let mut command = with_names(Cli::command(), named.as_ref());
    let folder = system.absolute(".");
    shell.write_complete(&mut command, typed, Some(Path::new(&folder)), out)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// The suite on a command line that is being typed.
#[derive(Clone)]
struct NamedSuite {
    path: String,
    system: &'static (dyn System + Sync),
}

#[derive(Clone, Copy)]
enum SuiteName {
    Sample,
    Grader,
}

/// The command with what its arguments may be.
fn with_names(command: clap::Command, suite: Option<&NamedSuite>) -> clap::Command {
    let command = command.mut_args(|arg| match completer(&arg, suite) {
        Some(completer) => arg.add(completer),
        None => arg,
    });
    command.mut_subcommands(|command| with_names(command, suite))
}

/// What completes an argument, by what its value is called.
fn completer(arg: &Arg, suite: Option<&NamedSuite>) -> Option<ArgValueCompleter> {
    let name = match (arg.get_value_names()?.first()?.as_str(), arg.get_long()) {
        ("SUITE", _) => {
            let files = PathCompleter::any().filter(|path| path.is_dir() || is_yaml(path));
            return Some(ArgValueCompleter::new(files));
        }
        ("SAMPLE", _) | ("ID", Some("sample")) => SuiteName::Sample,
        ("GRADER", _) | ("NAME", Some("grader")) => SuiteName::Grader,
        _ => return None,
    };
    let suite = suite?.clone();
    Some(ArgValueCompleter::new(move |typed: &OsStr| suite.candidates(name, typed)))
}

impl NamedSuite {
    /// The names that begin with what is typed.
    fn candidates(&self, name: SuiteName, typed: &OsStr) -> Vec<CompletionCandidate> {
        let Ok(surroundings) = SuiteContext::find(&self.path, None, self.system) else {
            return Vec::new();
        };
        let mut session = new_session(&self.path, &surroundings, Overrides::default());
        session.load(self.system);
        let names: Box<dyn Iterator<Item = String>> = match name {
            SuiteName::Sample => {
                Box::new(results::cases(&session.db, session.root).map(|(id, ..)| id))
            }
            SuiteName::Grader => {
                Box::new(session.graders().iter().map(|grader| grader.name(&session.db).clone()))
            }
        };
        let typed = typed.to_string_lossy();
        let mut fit: Vec<String> =
            names.filter(|name| name.starts_with(typed.as_ref())).take(MOST).collect();
        // A sample has several cases: models, trials.
        fit.dedup();
        fit.into_iter().map(CompletionCandidate::new).collect()
    }
}
