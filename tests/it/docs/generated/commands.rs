//! The reference of the command line, out of what clap knows of it.

use std::fmt::Write as _;

use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory};
use evalrs_cli::cli::{Cli, GROUPS};

use super::{cell, table};

/// All commands, by the groups of `evalrs --help`, and the options of all of them.
pub(super) fn reference() -> String {
    let mut cli = Cli::command();
    cli.build();
    let global = cli.get_arguments().filter(|arg| arg.is_global_set());
    let mut text = format!("## Options of every command\n\n{}", arguments(global));
    for group in GROUPS {
        let sections = group.commands_of(&cli).map(|command| section(command, "evalrs"));
        let _ = write!(text, "\n## {}\n{}", group.title, sections.collect::<String>());
    }
    text
}

fn shown(command: &Command) -> Vec<&Command> {
    let inner = command.get_subcommands();
    inner.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help").collect()
}

/// A command and its subcommands.
fn section(command: &Command, parent: &str) -> String {
    let path = format!("{parent} {}", command.get_name());
    let about = command.get_long_about().or(command.get_about());
    let about = paragraphs(&about.map(ToString::to_string).unwrap_or_default());
    let usage = command.clone().render_usage().to_string().replace("Usage: ", "");
    let mut text = format!("\n### {path}\n\n{about}\n\n```text\n{}\n```\n", usage.trim());
    let is_own = |arg: &&Arg| {
        let is_common = arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
        !arg.is_hide_set() && !is_common
    };
    let own: Vec<&Arg> = command.get_arguments().filter(is_own).collect();
    if !own.is_empty() {
        let _ = write!(text, "\n{}", arguments(own));
    }
    if let Some(examples) = command.get_after_long_help().or(command.get_after_help()) {
        let examples = examples.to_string().replace("Examples:", "").replace("\n  ", "\n");
        let _ = write!(text, "\n```sh\n{}\n```\n", examples.trim());
    }
    text + &shown(command).into_iter().map(|inner| section(inner, &path)).collect::<String>()
}

/// Help as paragraphs of one line each; indented ones are blocks of code.
fn paragraphs(text: &str) -> String {
    let paragraph = |text: &str| match text.strip_prefix(' ') {
        Some(_) => format!("```text\n{text}\n```"),
        None => sentence(text),
    };
    text.trim().split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n")
}

/// Help on one line, with the full stop of each paragraph that help leaves out.
fn sentence(text: &str) -> String {
    let stop = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || text.ends_with(['.', ':', '!', '?']) { text } else { text + "." }
    };
    text.split("\n\n").map(stop).collect::<Vec<_>>().join(" ")
}

fn arguments<'a>(arguments: impl IntoIterator<Item = &'a Arg>) -> String {
    let row = |arg: &Arg| vec![cell(&name(arg)), cell(&meaning(arg))];
    table("argument | meaning", arguments.into_iter().map(row))
}

/// `-o`, `--output <PATH>`, or the name of an argument without an option.
fn name(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.iter().map(|value| format!("<{value}>")).collect::<Vec<_>>().join(" ");
    let count = arg.get_num_args().unwrap_or_default();
    if arg.is_positional() {
        return format!("`{values}`{}", if count.max_values() > 1 { " …" } else { "" });
    }
    let values = match count.min_values() {
        _ if !arg.get_action().takes_values() => String::new(),
        0 => format!("[={}]", values.trim_matches(['<', '>'])),
        _ => format!(" {values}"),
    };
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| format!("`--{long}{values}`"));
    let aliases = arg.get_visible_aliases().unwrap_or_default().into_iter();
    let aliases = aliases.map(|alias| format!("`--{alias}`"));
    short.into_iter().chain(long).chain(aliases).collect::<Vec<_>>().join(", ")
}

fn help(value: &PossibleValue) -> String {
    sentence(&value.get_help().map(ToString::to_string).unwrap_or_default())
}

fn meaning(arg: &Arg) -> String {
    let long = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
    let long = long.unwrap_or_default();
    let mut text = long.split("\n\n").map(sentence).collect::<Vec<_>>().join(" ");
    if !arg.get_action().takes_values() {
        return text;
    }
    for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        let _ = write!(text, " `{}`: {}", value.get_name(), help(value));
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults = defaults.collect::<Vec<_>>().join(", ");
    if !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(text, " Default: `{defaults}`.");
    }
    text
}

/// The values of the option `name` of a command.
pub(super) fn values(command: &str, name: &str) -> String {
    let cli = Cli::command();
    let command = cli.find_subcommand(command).unwrap();
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name)).unwrap();
    let row = |value: &PossibleValue| vec![format!("`{}`", value.get_name()), cell(&help(value))];
    table("value | meaning", arg.get_possible_values().iter().map(row))
}
