//! How a command line ends that cannot be read.

use clap::CommandFactory;

use super::Cli;

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
