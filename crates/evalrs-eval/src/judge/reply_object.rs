//! Finds the JSON object of a reply that holds its verdict: the whole text, or one amid other text.
//!
//! A judge may quote a verdict that what it judges holds. So an object amid other text is believed only where it is the
//! only one, nothing beside it says another answer, and it stands in no text that the judge was shown.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json;
use super::question::NamedQuestion;
use evalrs_base::json_syntax::as_text;

/// What the object of a reply must hold.
pub(super) enum WantedMembers<'a> {
    /// The member with this name.
    Answer(&'static str),
    AnswersTo(&'a [NamedQuestion]),
}

impl WantedMembers<'_> {
    fn is_in(&self, object: &Map<String, Value>) -> bool {
        match self {
            Self::Answer(answer) => object.contains_key(*answer),
            Self::AnswersTo(all) => all.iter().any(|one| object.contains_key(&one.name)),
        }
    }

    /// Says that the object which `text` begins with answers a question more than once.
    fn check_doubles(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Answer(answer) if json::differs_with_itself(text, answer) => {
                Err(format!("the reply says `{answer}` twice, and differently"))
            }
            Self::Answer(_) => Ok(()),
            Self::AnswersTo(all) => {
                let members = json::members(text);
                all.iter().try_for_each(|one| check_answer(one, &members))
            }
        }
    }

    /// Says that a text beside the object says another answer. Which of several questions it answers, nobody knows.
    fn check_beside(&self, text: &str, object: &Map<String, Value>) -> Result<(), String> {
        let Self::Answer(answer) = self else { return Ok(()) };
        let mentions = match *answer {
            "score" => SCORE.as_ref(),
            "verdict" => DECISION.as_ref(),
            _ => WINNER.as_ref(),
        };
        if mentions_other(text, mentions, object.get(*answer)) {
            return Err(format!("the reply says more than one `{answer}`"));
        }
        Ok(())
    }
}

/// Says that an object answers a question more than once.
fn check_answer(one: &NamedQuestion, members: &[(String, Box<RawValue>)]) -> Result<(), String> {
    let mut own = members.iter().filter(|(name, _)| *name == one.name).map(|(_, answer)| answer);
    let Some(answer) = own.next() else { return Ok(()) };
    let name = one.question.answer_name();
    if own.next().is_some() {
        return Err(format!("the reply answers `{}` twice", one.name));
    }
    if json::differs_with_itself(answer.get(), name) {
        return Err(format!("the answer to `{}` says `{name}` twice", one.name));
    }
    Ok(())
}

/// The JSON object of the reply: the whole text, or what follows its thoughts, else the one object amid other text that
/// has an `answer`.
pub(super) fn object_in(
    text: &str,
    wanted: &WantedMembers<'_>,
    quotable: &[&str],
) -> Result<Map<String, Value>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    if let Ok(whole) = serde_json::from_str(text) {
        return whole_object(whole, text, wanted);
    }
    // Servers that do not part thoughts from the reply leave them before it, often without their beginning. Drafts of
    // verdicts in them are none.
    let said = text.rsplit_once("</think>").map_or(text, |(_, said)| said.trim());
    let fault = match serde_json::from_str(said) {
        Ok(whole) => {
            // The end of thoughts may be quoted too.
            let object = whole_object(whole, said, wanted)?;
            check_quotes(said, &object, quotable)?;
            return Ok(object);
        }
        Err(fault) => evalrs_base::json_syntax::plain_message(&fault),
    };
    // A judge that forgets to escape what it quotes writes such a text.
    if said.starts_with('{') {
        return Err(format!("the reply begins with `{{` and is not valid JSON: {fault}"));
    }
    let Some(found) = only_object(said, wanted)? else {
        return Err(format!("the reply is not a JSON object: {fault}"));
    };
    found.check_surroundings(wanted)?;
    check_quotes(found.text, &found.object, quotable)?;
    Ok(found.object)
}

/// Tells whether a text that the judge may quote contains an object. Of one without reasons its one member is enough: a
/// judge may quote a part.
fn check_quotes(text: &str, object: &Map<String, Value>, quotable: &[&str]) -> Result<(), String> {
    let verdict = bare(text);
    let part = if object.len() == 1 { verdict.trim_matches(['{', '}']) } else { &verdict };
    if quotable.iter().any(|text| bare(text).contains(part) || holds(text, object)) {
        return Err("the verdict in the reply is quoted from what is judged".to_owned());
    }
    Ok(())
}

/// The object that a text is as a whole.
fn whole_object(
    whole: Value,
    text: &str,
    wanted: &WantedMembers<'_>,
) -> Result<Map<String, Value>, String> {
    match whole {
        Value::Object(object) => wanted.check_doubles(text).map(|()| object),
        _ => Err("the reply is JSON but no object".to_owned()),
    }
}

/// Whether a text holds an object that says the same.
fn holds(text: &str, object: &Map<String, Value>) -> bool {
    let mut end = 0;
    text.match_indices('{').take(MOST_BRACES).any(|(start, _)| {
        if start < end {
            return false;
        }
        let Some((held, length)) = object_at(&text[start..]) else { return false };
        end = start + length;
        held.len() >= object.len()
            && object
                .iter()
                .all(|(name, value)| held.get(name).is_some_and(|held| json::is_equal(held, value)))
    })
}

/// The object that a text begins with, and its length.
fn object_at(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match stream.next() {
        Some(Ok(Value::Object(object))) => Some((object, stream.byte_offset())),
        _ => None,
    }
}

/// An object amid other text.
struct FoundObject<'a> {
    object: Map<String, Value>,
    text: &'a str,
    before: &'a str,
    after: &'a str,
}

impl FoundObject<'_> {
    /// Says what beside the object speaks against it.
    fn check_surroundings(&self, wanted: &WantedMembers<'_>) -> Result<(), String> {
        if self.before.trim_start().starts_with("<think>") {
            return Err("the reply ends before its thoughts do".to_owned());
        }
        wanted.check_beside(self.before, &self.object)?;
        wanted.check_beside(self.after, &self.object)?;
        wanted.check_doubles(self.text)
    }
}

/// How many braces of a reply may begin no object: each is read up to where that is clear.
const MOST_BRACES: usize = 4096;

/// The one object of a text that has what is wanted; the inside of an object is not searched.
fn only_object<'a>(
    text: &'a str,
    wanted: &WantedMembers<'_>,
) -> Result<Option<FoundObject<'a>>, String> {
    let mut found = None;
    let mut end = 0;
    let mut failed = 0;
    for (start, _) in text.match_indices('{') {
        if start < end {
            continue;
        }
        let Some((object, length)) = object_at(&text[start..]) else {
            failed += 1;
            if failed == MOST_BRACES {
                return Err("the reply holds too many braces to find a verdict in".to_owned());
            }
            continue;
        };
        end = start + length;
        if wanted.is_in(&object) {
            let before = &text[..start];
            let one = FoundObject { object, text: &text[start..end], before, after: &text[end..] };
            if found.replace(one).is_some() {
                return Err("the reply holds several verdicts".to_owned());
            }
        }
    }
    Ok(found)
}

/// A score that a text says, however it is quoted.
static SCORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)(?:\b|_)score\b[\s"'`*_\\]*(?:\([^()\n]{0,40}\)[\s"'`*_\\]*)?(?:[:=|→]|is\b|of\b|was\b|(?:would|should|will) be\b)?[\s"'`*_\\]*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"#,
    )
    .ok()
});

/// A winner that a text says. A small letter counts where nothing follows it: it may be an article.
static WINNER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i:(?:\b|_)winner\b)[\s"'`*_\\]*(?:[:=|→]|(?i:is)\b)?[\s"'`*_\\]*(?i:(?:submission|answer|response)\s+)?(?:([AB]|(?i:tie))\b|([ab])(?:["'`*_.,;!)\\]|$))"#,
    )
    .ok()
});

/// A verdict that a text says.
static DECISION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)(?:\b|_)verdict\b[\s"'`*_\\]*(?:[:=|→]|is\b)?[\s"'`*_\\]*\b(yes|no|cannot_tell|not_applicable)\b"#,
    )
    .ok()
});

/// Whether a text has an answer other than `said`, as a pattern finds it.
fn mentions_other(text: &str, mentions: Option<&Regex>, said: Option<&Value>) -> bool {
    let said = said.map(as_text).unwrap_or_default();
    let said = said.trim();
    let found = mentions.into_iter().flat_map(|pattern| pattern.captures_iter(text));
    let mut mentioned = found.filter_map(|found| found.iter().skip(1).flatten().next());
    let number = |text: &str| text.parse::<f64>().ok().map(Value::from);
    mentioned.any(|other| {
        let other = other.as_str();
        let numbers = number(other).zip(number(said));
        !other.eq_ignore_ascii_case(said)
            && !numbers.is_some_and(|(other, said)| json::is_equal(&other, &said))
    })
}

/// A text without blanks, escapes and marks of quoted or changed lines: a quote may be set otherwise.
fn bare(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut is_line_start = true;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' => is_line_start = true,
            '+' | '>' if is_line_start => {}
            '\\' => bare.extend(escaped(&mut rest)),
            c if c.is_whitespace() => {}
            c => {
                is_line_start = false;
                bare.push(c);
            }
        }
    }
    bare
}

/// The character of an escape, if it is not a blank; `rest` begins behind its backslash. Texts that are put in as JSON
/// escape twice.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    // All backslashes at once: a text may hold nothing else.
    let behind = rest.as_str().trim_start_matches('\\');
    *rest = behind.chars();
    if let Some(behind) = behind.strip_prefix(['n', 'r', 't']) {
        *rest = behind.chars();
        return None;
    }
    let behind = behind.strip_prefix('u')?;
    let c = char::from_u32(u32::from_str_radix(behind.get(..4)?, 16).ok()?)?;
    *rest = behind[4..].chars();
    (!c.is_whitespace()).then_some(c)
}
