//! What is wrong with a file as YAML, in our words.
//!
//! It knows the parser's errors and nothing of the tree. What the parser says well is passed on; what writers
//! of suites meet most is said again with the fix. No message repeats a value: it could be a secret.

use serde_saphyr::granit_parser::{ErrorKind, ScanError};

use super::mistakes::YamlMistake;
use crate::diagnostic::{Diagnostic, Place};

const VARIABLES: &str = "inside `{…}` and `[…]` a variable needs quotes: `\"${NAME}\"`";

/// Why a text gives no tree.
#[derive(Debug)]
pub(super) enum YamlProblem {
    Scan(ScanError),
    Mistake(YamlMistake),
    SecondDocument,
    AliasOfItself,
    TooManyCopies,
    TooDeep,
    KeyIsNoText,
    MergeOfNoMapping,
    UnknownTag,
    NotFinite,
}

impl YamlProblem {
    /// What it means for the author of the file.
    pub(super) fn diagnostic(&self, place: Place) -> Diagnostic {
        let (message, hint) = match self {
            Self::Scan(error) => of_scanner(error.kind()),
            Self::Mistake(mistake) => {
                let hint = if place.source.contains("${") { VARIABLES } else { &mistake.hint };
                return Diagnostic::error(place, mistake.message.as_str()).hint(hint);
            }
            Self::SecondDocument => words(
                "a second YAML document begins here",
                "a file is one document: remove the `---`, or make two files",
            ),
            Self::AliasOfItself => {
                words("this alias is inside the value it refers to", "write the value out")
            }
            Self::TooManyCopies => words(
                "the aliases of this file expand to more than 100,000 values",
                "write the values out",
            ),
            Self::TooDeep => words("lists and mappings are nested deeper than 128 levels", ""),
            Self::KeyIsNoText => words("a key must be text", "put the key in quotes"),
            Self::MergeOfNoMapping => {
                words("`<<` takes a mapping or a list of mappings", "write `<<: *name`")
            }
            Self::UnknownTag => words(
                "this has a `!` tag that has no meaning here",
                "remove the tag, or put the text in quotes",
            ),
            Self::NotFinite => words("this is not a finite number", ""),
        };
        let hint = match self {
            Self::Scan(_) if hint.is_empty() && place.source.contains("${") => VARIABLES,
            _ => hint,
        };
        let diagnostic = Diagnostic::error(place, message);
        if hint.is_empty() { diagnostic } else { diagnostic.hint(hint) }
    }
}

fn words(message: &str, hint: &'static str) -> (String, &'static str) {
    (message.to_owned(), hint)
}

fn of_scanner(kind: &ErrorKind) -> (String, &'static str) {
    match kind {
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => {
            words("the line is indented with a tab", "YAML is indented with spaces")
        }
        ErrorKind::MappingValueNotAllowed => words(
            "a `:` is not expected here",
            "put text that contains `: ` in quotes, or check the indentation",
        ),
        ErrorKind::UnexpectedCharacter { character } => (
            format!("a value cannot start with `{}`", character.escape_default()),
            "put the text in quotes",
        ),
        ErrorKind::UnclosedFlowCollection { open } => {
            (format!("this `{open}` is never closed"), "")
        }
        ErrorKind::UnclosedQuotedScalar => words("this quote is never closed", ""),
        ErrorKind::RecursionLimitExceeded => {
            words("lists and mappings are nested deeper than 128 levels", "")
        }
        ErrorKind::UnknownAnchor => {
            words("this alias has no anchor", "define it above as `&name`, or quote the text")
        }
        ErrorKind::ExpectedBlockSequenceEntry => words(
            "a list entry is expected here",
            "start the line with `- `, or check the indentation",
        ),
        ErrorKind::InvalidBlockEntryWhitespace => {
            words("a tab follows the `-` of this list entry", "write `- ` with a space")
        }
        ErrorKind::ExpectedDocumentStart => words(
            "the YAML ended before this line, but more follows",
            "a suite is one mapping, like `name: my-suite`; rows of data belong in its dataset",
        ),
        ErrorKind::InvalidQuotedScalarIndent => {
            words("the quoted text above is not closed before this line", "close the quote")
        }
        other => (format!("invalid YAML: {other}"), ""),
    }
}
