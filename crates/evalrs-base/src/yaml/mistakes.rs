//! What is wrong in YAML that the parser notices only later: tabs, indentation, and what is never closed.
//!
//! The parser says where it could not go on. The mistake itself mostly stands further up.

use std::ops::Range;

use serde_saphyr::granit_parser::ErrorKind;

use crate::text::enumerated;

/// A mistake, where it was made.
#[derive(Debug)]
pub(super) struct YamlMistake {
    pub span: Range<usize>,
    pub message: String,
    pub hint: String,
}

/// The mistake behind an error that the parser reports at byte `at`, if it can be found.
pub(super) fn mistake(text: &str, at: usize, kind: &ErrorKind) -> Option<YamlMistake> {
    let at = text.floor_char_boundary(at);
    match kind {
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => tab(text, at),
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::InvalidFlowScalarIndent => {
            never_closed(text, at).or_else(|| separator(at, kind))
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            never_closed(text, at)
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::MappingValueNotAllowed => {
            indentation(text, at)
        }
        _ => None,
    }
}

/// The first tab that indents a line, from the line of `at` on.
fn tab(text: &str, at: usize) -> Option<YamlMistake> {
    let mut start = line_start(text, at);
    for line in text[start..].split_inclusive('\n') {
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        if let Some(tab) = indent.find('\t') {
            return Some(YamlMistake {
                span: start + tab..start + tab + 1,
                message: "the line is indented with a tab".to_owned(),
                hint: "YAML is indented with spaces".to_owned(),
            });
        }
        start += line.len();
    }
    None
}

/// Two values of a list in one line without anything between them.
fn separator(at: usize, kind: &ErrorKind) -> Option<YamlMistake> {
    let close = match kind {
        ErrorKind::ExpectedFlowMappingSeparator => '}',
        ErrorKind::ExpectedFlowSequenceSeparator => ']',
        _ => return None,
    };
    Some(YamlMistake {
        span: at..at + 1,
        message: format!("a `,` or `{close}` is missing before this"),
        hint: "put text that contains `,`, `:` or brackets in quotes".to_owned(),
    })
}

/// The bracket or quote that is open where the parser could not go on, if it was opened on an earlier line.
fn never_closed(text: &str, at: usize) -> Option<YamlMistake> {
    let (opened, open) = innermost_open(&text[..at])?;
    let rest = text[at..].trim_start();
    let line = line_of(text, if rest.is_empty() { text.trim_end().len() } else { at });
    if rest.is_empty() || line_of(text, opened) < line {
        let (what, close) = match open {
            '{' => ("`{`".to_owned(), "`}`".to_owned()),
            '[' => ("`[`".to_owned(), "`]`".to_owned()),
            quote => ("quote".to_owned(), format!("`{quote}`")),
        };
        let hint = if rest.is_empty() {
            format!("a {close} is missing")
        } else {
            format!("a {close} is missing before line {line}")
        };
        let message = format!("this {what} is never closed");
        return Some(YamlMistake { span: opened..opened + 1, message, hint });
    }
    None
}

/// A line that begins in another column than every mapping that is open.
fn indentation(text: &str, at: usize) -> Option<YamlMistake> {
    let start = line_start(text, at);
    let line = text[start..].lines().next()?;
    let own = indent_of(line)?;
    let mut levels: Vec<usize> = Vec::new();
    for above in text[..start].lines().rev() {
        let Some(indent) = indent_of(above) else { continue };
        if levels.last().is_none_or(|level| indent < *level) {
            levels.push(indent);
        }
    }
    if levels.is_empty() || levels.contains(&own) {
        return None;
    }
    let levels: Vec<String> = levels.iter().map(usize::to_string).collect();
    let levels = enumerated(&levels, "or");
    Some(YamlMistake {
        span: start + own..start + own + 1,
        message: "the indentation of this line matches no line above it".to_owned(),
        hint: format!("its spaces: {own}; those of the lines it may belong to: {levels}"),
    })
}

/// How far a line is indented; none of one that says nothing.
fn indent_of(line: &str) -> Option<usize> {
    let bare = line.trim_start_matches(' ');
    let says = !bare.trim().is_empty() && !bare.starts_with('#');
    says.then(|| line.len() - bare.len())
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |before| before + 1)
}

fn line_of(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}

/// The innermost bracket or quote that is open at the end of `text`. Brackets and quotes mean something only where a
/// value begins; comments and block texts are passed over.
fn innermost_open(text: &str) -> Option<(usize, char)> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut start = 0;
    // The indentation of the line whose block text goes on.
    let mut block: Option<usize> = None;
    while start < text.len() {
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
        let line = &text[start..end];
        let indent = indent_of(line);
        let in_block = block.is_some_and(|above| indent.is_none_or(|indent| indent > above));
        if in_block {
            start = end;
            continue;
        }
        block = None;
        match walk(text, start..end, &mut open) {
            Err(quote) => return Some(quote),
            Ok(after) => {
                let said = without_comment(line);
                if open.is_empty() && opens_block(said) {
                    block = indent;
                }
                start = after.max(end);
            }
        }
    }
    open.pop()
}

/// Walks one line. Gives where to go on, which lies behind the line if a quoted text does, or the quote that is open.
fn walk(
    text: &str,
    range: Range<usize>,
    open: &mut Vec<(usize, char)>,
) -> Result<usize, (usize, char)> {
    let mut before = None;
    let mut is_apart = true;
    let mut at = range.start;
    while at < range.end {
        let Some(c) = text[at..].chars().next() else { break };
        let begins =
            is_apart && before.is_none_or(|c| matches!(c, ':' | ',' | '[' | '{' | '-' | '?'));
        match c {
            '#' if is_apart => return Ok(range.end),
            '"' | '\'' if begins => {
                at = closing_quote(text, at, c).ok_or((at, c))?;
            }
            '{' | '[' if begins => open.push((at, c)),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
        is_apart = c.is_whitespace() || matches!(c, '{' | '[' | ',');
        before = if c.is_whitespace() { before } else { Some(c) };
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    Ok(at)
}

/// Where the quoted text that begins at `opening` ends.
fn closing_quote(text: &str, opening: usize, quote: char) -> Option<usize> {
    let mut at = opening + 1;
    loop {
        let rest = text.get(at..)?;
        let found = at + rest.find([quote, '\\'])?;
        match text.as_bytes().get(found) {
            Some(b'\\') if quote == '"' => at = found + 2,
            Some(b'\\') => at = found + 1,
            _ if quote == '\'' && text[found + 1..].starts_with('\'') => at = found + 2,
            _ => return Some(found),
        }
    }
}

fn without_comment(line: &str) -> &str {
    line.find(" #").map_or(line, |at| &line[..at]).trim_end()
}

/// Whether a block text follows: `key: |`, `- >-`.
fn opens_block(line: &str) -> bool {
    let last = line.rsplit([' ', '\t']).next().unwrap_or_default();
    last.starts_with(['|', '>'])
        && last[1..].chars().all(|c| matches!(c, '+' | '-') || c.is_ascii_digit())
}
