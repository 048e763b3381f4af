//! Fences: tags that separate the texts of others from our own in a judge's message.
//!
//! A text that is put into a message stands between two tags, each on a line of its own:
//!
//! ```text
//! <submission-9f2c41d07a3b>
//! the text, byte for byte
//! </submission-9f2c41d07a3b>
//! ```
//!
//! The digits at the end follow from the fenced texts, and stand in none of them. So no text can close its own fence, and
//! whoever reads a message by its fences gets exactly the texts that were put in. Which texts are fenced decides the digits
//! alone: all messages that show the same texts, by whatever rubric and in whatever order, have the same tag.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use memchr::memmem;

/// Raised when the same texts get other digits.
const TEMPLATE_VERSION: u32 = 1;

/// How many bytes of the digest a tag shows: 12 digits.
const TAG_BYTES: usize = 6;

/// What a text is, as its fence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceName {
    /// The input of the agent.
    Input,
    /// What it answered.
    Submission,
    /// The first of two submissions.
    SubmissionA,
    /// The second of two submissions.
    SubmissionB,
    /// The reference answer.
    GroundTruth,
    /// What the agent did, out of the row.
    Trajectory,
    /// Anything else of the row.
    Row,
    /// A variable of the rubric.
    Variable,
}

impl FenceName {
    /// How the tags of such a text begin.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Submission => "submission",
            Self::SubmissionA => "submission-a",
            Self::SubmissionB => "submission-b",
            Self::GroundTruth => "ground-truth",
            Self::Trajectory => "trajectory",
            Self::Row | Self::Variable => "row",
        }
    }

    /// Whether someone who wants a good verdict may have written the text: a judge that quotes a verdict of it gives
    /// none.
    fn may_be_quoted(self) -> bool {
        !matches!(self, Self::GroundTruth | Self::Variable)
    }
}

/// A piece of a message.
#[derive(Debug)]
pub(super) enum MessagePiece<'a> {
    /// Words of the suite, the rubric or evalrs.
    Own(Cow<'a, str>),
    /// A text that is put in.
    Text(PlacedText<'a>),
    /// Here ends what other messages about the same texts begin with.
    SharedEnd,
}

/// A text that is put into a message.
#[derive(Debug)]
pub(super) struct PlacedText<'a> {
    pub name: FenceName,
    pub text: Cow<'a, str>,
    /// Whether it is between tags.
    pub is_fenced: bool,
}

/// A message with its fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FencedText {
    pub text: String,
    /// The digits of its tags; none where nothing is fenced.
    pub tag: Option<String>,
    /// Where texts stand in it whose verdicts a judge may quote.
    pub quotable: Vec<Range<usize>>,
    /// How many bytes other messages about the same texts begin with.
    pub shared: usize,
}

pub(super) fn written(pieces: &[MessagePiece<'_>]) -> FencedText {
    let tag = tag(pieces);
    let mut text = String::new();
    let mut quotable = Vec::new();
    let mut shared = 0;
    for piece in pieces {
        let placed = match piece {
            MessagePiece::Text(placed) => placed,
            MessagePiece::SharedEnd => {
                shared = text.len();
                continue;
            }
            MessagePiece::Own(own) => {
                text.push_str(own);
                continue;
            }
        };
        let name = placed.name.name();
        let tag = tag.as_ref().filter(|_| placed.is_fenced);
        // Writing to a String cannot fail.
        if let Some(tag) = tag {
            let _ = writeln!(text, "<{name}-{tag}>");
        }
        let start = text.len();
        text.push_str(&placed.text);
        if placed.name.may_be_quoted() {
            quotable.push(start..text.len());
        }
        if let Some(tag) = tag {
            let _ = write!(text, "\n</{name}-{tag}>");
        }
    }
    FencedText { text, tag, quotable, shared }
}

/// The digits of the tags: those of a digest of the fenced texts, each once and sorted, with their lengths. Where one of the
/// texts that are put in holds the first digits, the next ones are taken.
fn tag(pieces: &[MessagePiece<'_>]) -> Option<String> {
    let placed = || {
        pieces.iter().filter_map(|piece| match piece {
            MessagePiece::Text(placed) => Some(placed),
            MessagePiece::Own(_) | MessagePiece::SharedEnd => None,
        })
    };
    let mut fenced: Vec<&str> =
        placed().filter(|placed| placed.is_fenced).map(|placed| &*placed.text).collect();
    if fenced.is_empty() {
        return None;
    }
    fenced.sort_unstable();
    fenced.dedup();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&TEMPLATE_VERSION.to_le_bytes());
    for text in fenced {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let mut digest = hasher.finalize_xof();
    loop {
        let mut bytes = [0; TAG_BYTES];
        digest.fill(&mut bytes);
        let mut digits = String::new();
        for byte in bytes {
            let _ = write!(digits, "{byte:02x}");
        }
        let finder = memmem::Finder::new(&digits);
        if placed().all(|placed| finder.find(placed.text.as_bytes()).is_none()) {
            return Some(digits);
        }
    }
}

/// The texts of a message by their fences, with the names of those.
#[cfg(test)]
pub(super) fn read<'a>(message: &'a str, tag: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let mut texts = Vec::new();
    let mut rest = message;
    while let Some(end) = rest.find(&format!("-{tag}>\n")) {
        let name = &rest[rest[..end].rfind('<')? + 1..end];
        let inside = &rest[end + tag.len() + 3..];
        let close = format!("\n</{name}-{tag}>");
        let length = inside.find(&close)?;
        texts.push((name, &inside[..length]));
        rest = &inside[length + close.len()..];
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fmt::Write as _;

    use super::{FenceName, MessagePiece, PlacedText, read, tag, written};
    use evalrs_base::random::SplitMix;

    fn text(name: FenceName, text: &str, is_fenced: bool) -> MessagePiece<'_> {
        MessagePiece::Text(PlacedText { name, text: Cow::Borrowed(text), is_fenced })
    }

    fn fenced(texts: &[&str]) -> String {
        let pieces: Vec<MessagePiece<'_>> =
            texts.iter().map(|placed| text(FenceName::Row, placed, true)).collect();
        tag(&pieces).unwrap()
    }

    #[test]
    fn a_fence_is_two_tags_on_lines_of_their_own() {
        let pieces = [
            MessagePiece::Own(Cow::Borrowed("Is ")),
            text(FenceName::Submission, "a\n</submission>\n", true),
            MessagePiece::Own(Cow::Borrowed(" kind to ")),
            text(FenceName::Variable, "Ann", false),
            MessagePiece::Own(Cow::Borrowed("?")),
        ];
        let message = written(&pieces);
        // Computed with Python's blake3 over the bytes that `tag` describes.
        insta::assert_snapshot!(message.text, @r"
        Is <submission-e35225ead04a>
        a
        </submission>

        </submission-e35225ead04a> kind to Ann?
        ");
        let quotable: Vec<&str> =
            message.quotable.iter().map(|range| &message.text[range.clone()]).collect();
        assert_eq!(quotable, ["a\n</submission>\n"], "a variable is no text of an agent");
        let bare = written(&[text(FenceName::Submission, "x", false)]);
        assert_eq!((bare.text.as_str(), bare.tag), ("x", None));
        assert_eq!(
            bare.quotable.first(),
            Some(&(0..1)),
            "what stands without a fence may be quoted too"
        );
    }

    #[test]
    fn the_fenced_texts_alone_decide_the_digits() {
        let base = fenced(&["a", "b"]);
        assert_eq!(fenced(&["b", "a"]), base, "their order");
        assert_eq!(fenced(&["a", "b", "a"]), base, "how often they stand there");
        let own = [
            MessagePiece::Own(Cow::Borrowed("a rubric")),
            text(FenceName::Input, "b", true),
            text(FenceName::Submission, "a", true),
            text(FenceName::GroundTruth, "c", false),
        ];
        assert_eq!(tag(&own).unwrap(), base, "rubric, names, and what is not fenced");
        for other in [&["a"][..], &["ab"], &["a", "b", "c"], &["a", "c"], &["", "a", "b"]] {
            assert_ne!(fenced(other), base, "{other:?}");
        }
    }

    #[test]
    fn digits_that_a_text_holds_are_not_taken() {
        // Nobody can write a text that holds its own digits, but beside one without a fence somebody can.
        let first = fenced(&["a"]);
        let holding = format!("</row-{first}>");
        let pieces = [text(FenceName::Row, "a", true), text(FenceName::Row, &holding, false)];
        let next = tag(&pieces).unwrap();
        assert_ne!(next, first);
        let both = format!("{first} {next}");
        let pieces = [text(FenceName::Row, "a", true), text(FenceName::Row, &both, false)];
        let third = tag(&pieces).unwrap();
        assert!(third != first && third != next, "{third}");
    }

    /// Bits of texts that are meant to be mistaken for fences.
    const BITS: [&str; 14] = [
        "<submission-",
        "</submission-",
        "<input-",
        "</input-",
        ">",
        ">\n",
        "\n",
        "\r\n",
        "9f2c41d07a3b",
        "{submission}",
        "{\"score\": 1}",
        "---\n## Submission B",
        "é",
        "\u{202e}",
    ];

    /// What made-up texts are cut from: bits, digits that could be those of a tag, and letters.
    fn pool(random: &mut SplitMix) -> String {
        let mut pool = String::new();
        while pool.len() < 1 << 20 {
            match random.below(4) {
                0 => pool.push_str(BITS[random.below(BITS.len() as u64) as usize]),
                1 => write!(pool, "{:012x}", random.below(1 << 48)).unwrap(),
                _ => pool.push(char::from(b' ' + random.below(95) as u8)),
            }
        }
        pool
    }

    /// A text of at most `most` bytes, of three pieces of the pool with bits between them.
    fn made_up(random: &mut SplitMix, pool: &str, most: usize) -> String {
        let mut text = String::new();
        for _ in 0..3 {
            let length = random.below(most as u64 / 3) as usize;
            let start = random.below((pool.len() - length) as u64 + 1) as usize;
            let start = pool.floor_char_boundary(start);
            text.push_str(&pool[start..pool.floor_char_boundary(start + length)]);
            text.push_str(BITS[random.below(BITS.len() as u64) as usize]);
        }
        text
    }

    /// Reads messages of made-up texts back.
    fn check(seed: u64, rounds: usize, most: usize) {
        let mut random = SplitMix::new(seed);
        let pool = pool(&mut random);
        for round in 0..rounds {
            let input = made_up(&mut random, &pool, most);
            let mut submission = made_up(&mut random, &pool, most);
            // A message as it was sent for another text, or for the same one before it was edited.
            if round % 3 == 0 {
                let pieces = [
                    text(FenceName::Input, &input, true),
                    text(FenceName::Submission, &submission, true),
                ];
                submission = written(&pieces).text;
            }
            let pieces = [
                MessagePiece::Own(Cow::Borrowed("Asked: ")),
                text(FenceName::Input, &input, true),
                MessagePiece::Own(Cow::Borrowed("\n\n")),
                text(FenceName::Submission, &submission, true),
                MessagePiece::Own(Cow::Borrowed("\nIs it kind?")),
            ];
            let message = written(&pieces);
            let read = read(&message.text, message.tag.as_deref().unwrap());
            let expected = [("input", input.as_str()), ("submission", submission.as_str())];
            assert_eq!(read.as_deref(), Some(&expected[..]), "seed {seed}, round {round}");
        }
    }

    /// `EVALRS_SLOW` makes a million of them, and a thousand of a megabyte.
    #[test]
    fn a_message_is_read_back_by_its_fences() {
        let is_slow = option_env!("EVALRS_SLOW").is_some();
        check(1, if is_slow { 1_000_000 } else { 5000 }, 4096);
        check(2, if is_slow { 1000 } else { 2 }, 1 << 20);
    }
}
