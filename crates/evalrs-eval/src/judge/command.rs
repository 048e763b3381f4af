//! The input of a judge that is a command: the prompt as one text, on its standard input or among its words.
//!
//! It is what models are sent in two messages, so that any command line of an agent can be a judge: the system message, an
//! empty line, the user message. What it prints is read as the reply of a model.

use std::fmt::Write as _;

use super::JudgeAction;
use evalrs_model::outcome::{RejectedReply, quoted};
use evalrs_model::spec::ProgramSpec;

/// The name of the provider in the keys of commands.
pub const PROVIDER: &str = "command";

/// The placeholder of the prompt among the words of a command.
const PROMPT: &str = "{prompt}";
/// The most bytes of one word; systems take no longer ones.
const MOST_WORD: usize = (128 << 10) - 1;
/// The characters of a command that name it.
const MOST_NAME: usize = 60;
/// The characters of a reply that was no verdict that a command is reminded of.
const MOST_REMINDER: usize = 2_000;

/// The input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandInput {
    /// The words after its name.
    pub arguments: Vec<String>,
    /// What is written to its standard input.
    pub stdin: String,
}

/// What a command is called where models have a name: its words, without the folders of its file.
pub fn name(spec: &ProgramSpec) -> String {
    let file = spec.path.rsplit('/').next().filter(|file| !file.is_empty());
    let first = file.or(spec.runtime.as_deref());
    let words = first.into_iter().chain(spec.arguments.iter().map(String::as_str));
    let words = words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let name: String = words.chars().take(MOST_NAME).collect();
    if name.len() < words.len() { format!("{name}…") } else { words }
}

/// The prompt; `rejected` are earlier replies that were no verdicts.
pub fn prompt(action: &JudgeAction, rejected: &[RejectedReply]) -> String {
    let mut prompt = format!("{}\n\n{}", action.system, action.user);
    for RejectedReply { text, fault } in rejected {
        let reply = quoted(text, MOST_REMINDER);
        let message = action.question.correction(fault);
        // Writing to a String cannot fail.
        let _ = write!(prompt, "\n\n---\n\nYou replied {reply} before. {message}");
    }
    prompt + "\n"
}

/// The input of a command with these `words` after its name. An error says why the prompt cannot be one of them.
pub fn input(words: &[String], prompt: String) -> Result<CommandInput, String> {
    if !words.iter().any(|word| word.contains(PROMPT)) {
        return Ok(CommandInput { arguments: words.to_vec(), stdin: prompt });
    }
    let arguments: Vec<String> = words.iter().map(|word| word.replace(PROMPT, &prompt)).collect();
    let why = if prompt.contains('\0') {
        "the prompt holds a NUL character, which no word of a command can".to_owned()
    } else if let Some(long) = arguments.iter().map(String::len).find(|length| *length > MOST_WORD)
    {
        format!("the prompt makes a word of {long} bytes, and a command takes at most {MOST_WORD}")
    } else {
        return Ok(CommandInput { arguments, stdin: String::new() });
    };
    Err(format!(
        "{why}: leave `{PROMPT}` out of `command`, then it gets the prompt on standard input"
    ))
}

#[cfg(test)]
mod tests {
    use super::{CommandInput, MOST_WORD, input, name, prompt};
    use crate::judge::test_data::action;
    use evalrs_model::outcome::RejectedReply;
    use evalrs_model::spec::{Language, ProgramSpec, Role};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_prompt_is_on_standard_input_or_among_the_words() {
        for (given, arguments, stdin) in [
            (&["-p"][..], &["-p"][..], "a {prompt}"),
            (&[], &[], "a {prompt}"),
            (&["-p", "{prompt}"], &["-p", "a {prompt}"], ""),
            (&["--say={prompt}!", "{prompt}"], &["--say=a {prompt}!", "a {prompt}"], ""),
        ] {
            let expected = CommandInput { arguments: words(arguments), stdin: stdin.to_owned() };
            assert_eq!(input(&words(given), "a {prompt}".to_owned()), Ok(expected), "{given:?}");
        }
    }

    #[test]
    fn a_prompt_that_cannot_be_a_word_is_refused() {
        let given = words(&["-p", "{prompt}"]);
        assert!(input(&given, "x".repeat(MOST_WORD)).is_ok());
        for (prompt, expected) in [
            ("x".repeat(MOST_WORD + 1), "the prompt makes a word of 131072 bytes"),
            ("a\0b".to_owned(), "the prompt holds a NUL character"),
        ] {
            let why = input(&given, prompt.clone()).unwrap_err();
            assert!(why.starts_with(expected) && why.contains("standard input"), "{why}");
            assert!(input(&words(&["-p"]), prompt).is_ok(), "on standard input it can be anything");
        }
    }

    #[test]
    fn a_prompt_is_both_messages_and_what_was_wrong_so_far() {
        let action = action("m", "Is it kind?");
        assert_eq!(prompt(&action, &[]), "You judge.\n\nIs it kind?\n");
        let rejected =
            RejectedReply { text: "five\n stars".to_owned(), fault: "no JSON".to_owned() };
        assert_eq!(
            prompt(&action, &[rejected]),
            "You judge.\n\nIs it kind?\n\n---\n\nYou replied \"five stars\" before. That is no valid verdict: no JSON. \
             Reply again with one JSON object: {\"rationale\": <string>, \"score\": <number from 1 to 5>}.\n"
        );
    }

    #[test]
    fn a_command_is_called_by_its_words() {
        let spec = |path: &str, runtime: Option<&str>, arguments: &[&str]| ProgramSpec {
            runtime: runtime.map(str::to_owned),
            arguments: words(arguments),
            ..ProgramSpec::new(path.to_owned(), Language::Executable, "", Role::Judge)
        };
        for (spec, expected) in [
            (spec("", Some("claude"), &["-p"]), "claude -p"),
            (spec("/w/tools/judge.sh", None, &[]), "judge.sh"),
            (spec("", Some("sh"), &["-c", "cat\n > x"]), "sh -c cat > x"),
        ] {
            assert_eq!(name(&spec), expected);
        }
        let long = name(&spec("", Some("a"), &["é".repeat(99).as_str()]));
        assert_eq!((long.chars().count(), long.ends_with("é…")), (61, true));
    }
}
