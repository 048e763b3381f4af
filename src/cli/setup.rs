//! The flags of the commands that set things up, and how a command line that cannot be read ends.

use clap::{Args, CommandFactory, ValueEnum};

use super::Cli;
use evalrs_use_cases::args::dollars;

/// `evalrs init`.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// The folder, made if needed.
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: String,
    /// With a grader of one's own in this language.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub grader: Option<StarterLanguage>,
    /// With a rubric and a judge model: labelled rows, a job for CI, and what git has to know.
    #[arg(long, conflicts_with = "grader")]
    pub rubric: bool,
    /// Instead, what agents are told of evalrs: a skill in `.claude/skills` and `.agents/skills`.
    #[arg(long, conflicts_with_all = ["grader", "rubric"])]
    pub skill: bool,
}

/// `evalrs completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `evalrs mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Lets runs ask what is not stored, until they have spent this many US dollars in all. Without a budget nothing is asked.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// The same, until they have executed N actions in all.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
}

/// `evalrs man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Writes the pages of all commands to this folder.
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<String>,
}

/// What a grader is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StarterLanguage {
    /// A Python program.
    Python,
    /// A TypeScript module.
    Typescript,
    /// A JavaScript module.
    Javascript,
    /// A shell script.
    Bash,
}

/// What the process exits with where the command line cannot be read: 2, and 1 where the command exits as
/// agent-eval-harness does.
pub fn usage_code(words: &[String]) -> u8 {
    let is_strict = words.iter().take_while(|word| *word != "--").any(|word| word == "--strict");
    let read = Cli::command().ignore_errors(true).no_binary_name(true).try_get_matches_from(words);
    let command = read.ok().and_then(|read| read.subcommand_name().map(str::to_owned));
    let has_two_codes = [
        "grade",
        "calibrate",
        "validate-refs",
        "schemas",
        "capture",
        "trials",
        "headless",
        "extract",
        "format",
        "summarize",
        "balance",
        "compare",
    ];
    let is_raw = words.iter().take_while(|word| *word != "--").any(|word| word == "--raw");
    let is_harness = command.is_some_and(|command| {
        has_two_codes.contains(&command.as_str()) || (is_raw && command == "run")
    });
    if is_harness && !is_strict { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::usage_code;
    use crate::cli::Cli;
    #[cfg(feature = "harness")]
    use crate::cli::{Command, HarnessCommand};

    #[test]
    fn the_flags_agree_with_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_command_line_that_cannot_be_read_exits_as_its_command_does() {
        for (words, expected) in [
            ("grade --nonsense", 1),
            ("--color never -v grade --nonsense", 1),
            ("grade a --strict --nonsense", 2),
            ("grade -- --strict", 1),
            ("calibrate -s x", 1),
            ("validate-refs -g", 1),
            ("schemas --x", 1),
            ("compare --x", 1),
            ("run --x", 2),
            ("run --raw --x", 1),
            ("--x", 2),
            ("", 2),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(usage_code(&words), expected, "{words:?}");
        }
    }

    #[cfg(feature = "harness")]
    #[test]
    fn the_last_of_a_repeated_option_counts() {
        let line =
            "evalrs grade a.jsonl -g one --grader two --grader-timeout 1 --grader-timeout=0.25 b c";
        let parsed = Cli::try_parse_from(line.split(' ')).unwrap();
        let Command::Harness(HarnessCommand::Grade(args)) = parsed.command else {
            panic!("another command")
        };
        assert_eq!(args.program.grader.as_deref(), Some("two"));
        assert_eq!(args.program.grader_timeout.0, 250);
        assert_eq!((args.file.as_deref(), args.ignored.len()), (Some("a.jsonl"), 2));
        for wrong in ["grade --grader-timeout 0", "grade --grader-timeout NaN", "calibrate -s 2x"] {
            assert!(Cli::try_parse_from(["evalrs"].into_iter().chain(wrong.split(' '))).is_err());
        }
        for right in ["calibrate -s -1", "calibrate --sample=-1", "calibrate -s 0"] {
            let parsed = Cli::try_parse_from(["evalrs"].into_iter().chain(right.split(' ')));
            assert_eq!(parsed.is_ok(), right != "calibrate -s -1", "{right}");
        }
    }
}
