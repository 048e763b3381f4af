//! The groups in which `evalrs --help`, the manual page and docs/cli.md list the commands.

use std::fmt::Write as _;

use clap::Command;

use super::examples::with_examples;

/// Commands that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandGroup {
    pub title: &'static str,
    /// In the order in which they are listed. A build may leave some out.
    pub commands: &'static [&'static str],
}

impl CommandGroup {
    /// The commands of this group that this build has.
    pub fn commands_of<'a>(&self, root: &'a Command) -> impl Iterator<Item = &'a Command> {
        self.commands.iter().filter_map(|name| root.find_subcommand(name))
    }
}

/// The group of every command: a test fails if one has none.
pub const GROUPS: &[CommandGroup] = &[
    CommandGroup { title: "Evaluate", commands: &["run", "watch", "plan", "batch", "calibrate"] },
    CommandGroup { title: "Inspect", commands: &["explain", "diff", "agree", "history"] },
    CommandGroup {
        title: "Share and serve",
        commands: &["report", "serve", "runs", "merge", "cache", "mcp"],
    },
    CommandGroup {
        title: "Set up",
        commands: &["init", "import", "validate", "list", "completions", "man"],
    },
    CommandGroup {
        title: "Compatible with agent-eval-harness",
        commands: &[
            "grade",
            "validate-refs",
            "capture",
            "trials",
            "headless",
            "extract",
            "format",
            "summarize",
            "compare",
            "balance",
            "schemas",
        ],
    },
];

/// The columns in front of what a command does: those of the longest name, and two on each side.
const NAMES: usize = 13;

/// The root with what is made of all its commands: the list in groups, and examples below the flags of each.
pub(super) fn completed_help(root: Command) -> Command {
    let template = template(&root);
    with_examples(root.help_template(template))
}

/// What `evalrs --help` prints.
fn template(root: &Command) -> String {
    let heading = root.get_styles().get_header();
    let name = root.get_styles().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in GROUPS {
        let commands = group.commands_of(root).map(|command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let padding = " ".repeat(NAMES.saturating_sub(command.get_name().len()));
            format!("  {name}{}{name:#}{padding}  {about}\n", command.get_name())
        });
        let _ = write!(text, "\n{heading}{}:{heading:#}\n", group.title);
        text.extend(commands);
    }
    let _ = write!(text, "\n{heading}Options:{heading:#}\n{{options}}\n\n");
    text + "Run `evalrs COMMAND --help` for its flags and examples.\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::GROUPS;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let root = Cli::command();
        let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
        let shown: BTreeSet<&str> = shown.map(clap::Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        assert_eq!(grouped.len(), grouped.iter().collect::<BTreeSet<_>>().len(), "one twice");
        let grouped = grouped.into_iter().collect();
        #[cfg(all(feature = "serve", feature = "import", feature = "harness"))]
        assert_eq!(shown, grouped);
        assert!(shown.is_subset(&grouped), "{:?} have no group", shown.difference(&grouped));
    }
}
