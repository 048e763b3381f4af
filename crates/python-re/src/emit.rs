//! Writes a tree in the syntax of the two engines.
//!
//! Two things of Python have no counterpart in the linear engine: `$` before a last line feed, and word
//! boundaries by Python's idea of a word. Rather than give up linear time for them, the text written for it
//! is right for most texts, and [`Needs`] says for which; for the others the backtracking engine, which can
//! say everything with look-around, is asked.

use std::fmt::Write;

use super::tree::{
    Alternatives, Anchor, Class, ClassKind, Fold, Greed, Look, Node, Pattern, Repetition, Set,
};

/// What a text must be for the linear engine to agree with Python on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// It does not end with a line feed.
    pub(super) no_last_line_feed: bool,
    /// It has no character on which Rust and Python differ about words.
    pub(super) plain_words: bool,
    /// It is all ASCII.
    pub(super) ascii: bool,
    /// It is not empty.
    pub(super) not_empty: bool,
}

/// A pattern for the linear engine.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    /// The pattern.
    pub(super) source: String,
    /// Python's number of a group → the engine's.
    pub(super) groups: Vec<usize>,
    /// The engine's groups that hold a last line feed which Python's `$` would not have consumed.
    pub(super) markers: Vec<usize>,
    /// When it may be used.
    pub(super) needs: Needs,
}

/// The letters that Python takes for one another besides those of Unicode's simple case folding.
const DOTTED_I: [u32; 4] = [0x49, 0x69, 0x130, 0x131];

/// Python's word characters; Rust counts marks and connectors too, and not all numbers.
const WORD: &str = r"\p{L}\p{N}_";
/// Python's white space: Rust's and the information separators.
const SPACE: &str = r"\s\x{1C}-\x{1F}";

/// The pattern for the linear engine, unless it needs look-around, back-references or the like.
pub(super) fn linear(pattern: &Pattern) -> Option<Linear> {
    let mut emitter = Emitter::new(true);
    emitter.alternatives(&pattern.body, true);
    let Emitter { out, groups, markers, needs, only_backtracking, .. } = emitter;
    (!only_backtracking).then_some(Linear { source: out, groups, markers, needs })
}

/// The pattern for the backtracking engine; its groups are numbered as in Python.
pub(super) fn backtracking(pattern: &Pattern) -> String {
    let mut emitter = Emitter::new(false);
    emitter.alternatives(&pattern.body, true);
    emitter.out
}

struct Emitter {
    linear: bool,
    out: String,
    next_group: usize,
    groups: Vec<usize>,
    markers: Vec<usize>,
    needs: Needs,
    only_backtracking: bool,
}

impl Emitter {
    fn new(linear: bool) -> Self {
        Self {
            linear,
            out: String::new(),
            next_group: 1,
            groups: vec![0],
            markers: Vec::new(),
            needs: Needs::default(),
            only_backtracking: false,
        }
    }

    /// `last` says that nothing follows whatever is chosen.
    fn alternatives(&mut self, body: &Alternatives, last: bool) {
        for (index, sequence) in body.iter().enumerate() {
            if index > 0 {
                self.out.push('|');
            }
            self.sequence(sequence, last);
        }
    }

    fn sequence(&mut self, sequence: &[Node], last: bool) {
        for (index, node) in sequence.iter().enumerate() {
            self.node(node, last && index + 1 == sequence.len());
        }
    }

    fn node(&mut self, node: &Node, last: bool) {
        match node {
            Node::Set(set) => push_set(&mut self.out, set),
            Node::At(at) => self.place(*at, last),
            Node::Group(None, body) => self.wrapped("(?:", body, last),
            Node::Group(Some(index), body) => {
                let group = self.take_group();
                if self.groups.len() <= *index {
                    self.groups.resize(*index + 1, 0);
                }
                if let Some(slot) = self.groups.get_mut(*index) {
                    *slot = group;
                }
                self.wrapped("(", body, last);
            }
            Node::Repeat(repeat) => self.repeat(repeat),
            Node::Look(look) => self.look(look),
            Node::Atomic(body) => {
                self.only_backtracking = true;
                self.wrapped("(?>", body, false);
            }
            Node::Backref { group, ignore_case } => {
                self.only_backtracking = true;
                let open = if *ignore_case { "(?i:" } else { "(?:" };
                self.write(format_args!("{open}\\{group})"));
            }
            Node::If { group, yes, no } => {
                self.only_backtracking = true;
                self.write(format_args!("(?({group})(?:"));
                self.sequence(yes, false);
                self.out.push_str(")|(?:");
                self.sequence(no, false);
                self.out.push_str("))");
            }
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let written = self.out.write_fmt(text);
        debug_assert!(written.is_ok(), "a string takes all that is written");
    }

    fn take_group(&mut self) -> usize {
        self.next_group += 1;
        self.next_group - 1
    }

    fn wrapped(&mut self, open: &str, body: &Alternatives, last: bool) {
        self.out.push_str(open);
        self.alternatives(body, last);
        self.out.push(')');
    }

    fn look(&mut self, look: &Look) {
        self.only_backtracking = true;
        let open = match (look.behind, look.negated) {
            (false, false) => "(?=",
            (false, true) => "(?!",
            (true, false) => "(?<=",
            (true, true) => "(?<!",
        };
        self.wrapped(open, &look.body, false);
    }

    fn repeat(&mut self, repeat: &Repetition) {
        let possessive = repeat.greed == Greed::Possessive;
        self.only_backtracking |= possessive;
        let lazy = repeat.greed == Greed::Lazy;
        if is_place(&repeat.node) {
            // The engine refuses to count what takes no characters; once says as much as often.
            let (open, close) = match (repeat.min, repeat.max) {
                (_, Some(0)) => ("(?:[a&&b]", "|)"),
                (0, _) if lazy => ("(?:|", ")"),
                (0, _) => ("(?:", "|)"),
                _ => ("(?:", ")"),
            };
            self.out.push_str(open);
            self.node(&repeat.node, false);
            self.out.push_str(close);
            return;
        }
        // fancy-regex 0.20 takes `(x+?)*` for `(x+?)?`, unless there seems to be another choice.
        let guarded = !self.linear && lazy && repeat.max.is_none();
        self.out.push_str(if possessive {
            "(?>(?:"
        } else if guarded {
            "(?:(?:"
        } else {
            "(?:"
        });
        self.node(&repeat.node, false);
        self.out.push(')');
        match (repeat.min, repeat.max) {
            (0, None) => self.out.push('*'),
            (1, None) => self.out.push('+'),
            (0, Some(1)) => self.out.push('?'),
            (min, None) => self.write(format_args!("{{{min},}}")),
            (min, Some(max)) => self.write(format_args!("{{{min},{max}}}")),
        }
        self.out.push_str(match repeat.greed {
            Greed::Greedy => "",
            Greed::Lazy if guarded => "?|[a&&b])",
            Greed::Lazy => "?",
            Greed::Possessive => ")",
        });
    }

    fn place(&mut self, at: Anchor, last: bool) {
        match at {
            Anchor::TextStart => self.out.push_str(r"\A"),
            Anchor::LineStart => self.out.push_str("(?m:^)"),
            Anchor::LineEnd => self.out.push_str("(?m:$)"),
            Anchor::TextEnd => self.out.push_str(r"\z"),
            Anchor::LastLineEnd if !self.linear => self.out.push_str(r"(?=\n?\z)"),
            Anchor::LastLineEnd if last => {
                let marker = self.take_group();
                self.markers.push(marker);
                self.out.push_str(r"(?:(\n)?\z)");
            }
            Anchor::LastLineEnd => {
                self.needs.no_last_line_feed = true;
                self.out.push_str(r"\z");
            }
            Anchor::Boundary { negated, ascii } if self.linear => {
                self.needs.ascii |= ascii;
                self.needs.plain_words |= !ascii;
                self.needs.not_empty |= negated;
                self.out.push_str(if negated { r"\B" } else { r"\b" });
            }
            Anchor::Boundary { negated, ascii } => {
                let word = if ascii { "[0-9A-Z_a-z]" } else { r"[\p{L}\p{N}_]" };
                if negated {
                    // Up to 3.13 Python finds no `\B` in the empty text.
                    self.write(format_args!(
                        r"(?:(?<={word})(?={word})|(?<!{word})(?!{word})(?!\A\z))"
                    ));
                } else {
                    self.write(format_args!(r"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"));
                }
            }
        }
    }
}

/// Whether the node never takes a character.
fn is_place(node: &Node) -> bool {
    let all = |body: &Alternatives| body.iter().flatten().all(is_place);
    match node {
        Node::At(_) | Node::Look(_) => true,
        Node::Group(_, body) | Node::Atomic(body) => all(body),
        Node::Repeat(repeat) => is_place(&repeat.node),
        Node::If { yes, no, .. } => yes.iter().chain(no).all(is_place),
        Node::Set(_) | Node::Backref { .. } => false,
    }
}

fn push_set(out: &mut String, set: &Set) {
    let mut ranges: Vec<(u32, u32)> =
        set.ranges.iter().copied().filter(|(lo, hi)| lo <= hi).collect();
    match set.fold {
        Fold::None => {}
        Fold::Ascii => fold_ascii(&mut ranges),
        Fold::Unicode => fold_dotted_i(&mut ranges),
    }
    let fold = set.fold == Fold::Unicode && !ranges.is_empty();
    let start = out.len();
    out.push_str(if fold { "(?i:" } else { "" });
    out.push_str(if set.negated { "[^" } else { "[" });
    let empty = out.len();
    for (low, high) in ranges {
        push_range(out, low, high);
    }
    for class in &set.classes {
        push_class(out, *class);
    }
    if out.len() == empty {
        // A set of surrogates only: no text has one.
        out.truncate(start);
        out.push_str(if set.negated { "(?s:.)" } else { "[a&&b]" });
        return;
    }
    out.push_str(if fold { "])" } else { "]" });
}

/// Adds the other case of the ASCII letters in `ranges`.
fn fold_ascii(ranges: &mut Vec<(u32, u32)>) {
    for (low, high) in ranges.clone() {
        for (from, to, shift) in [(0x41, 0x5a, 0x20_i32), (0x61, 0x7a, -0x20)] {
            let (low, high) = (low.max(from), high.min(to));
            if low <= high {
                ranges.push((low.saturating_add_signed(shift), high.saturating_add_signed(shift)));
            }
        }
    }
}

fn fold_dotted_i(ranges: &mut Vec<(u32, u32)>) {
    let holds = |code: &u32| ranges.iter().any(|(low, high)| (low..=high).contains(&code));
    if DOTTED_I.iter().any(holds) {
        ranges.extend(DOTTED_I.map(|code| (code, code)));
    }
}

/// Writes a range without the surrogates in it.
fn push_range(out: &mut String, low: u32, high: u32) {
    for (from, to) in [(0, 0xd7ff), (0xe000, u32::from(char::MAX))] {
        let (low, high) = (low.max(from), high.min(to));
        if low < high {
            push_code(out, low);
            out.push('-');
        }
        if low <= high {
            push_code(out, high);
        }
    }
}

fn push_code(out: &mut String, code: u32) {
    match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() => out.push(c),
        _ => {
            let written = write!(out, "\\x{{{code:X}}}");
            debug_assert!(written.is_ok(), "a string takes all that is written");
        }
    }
}

fn push_class(out: &mut String, class: Class) {
    let members = match (class.kind, class.ascii) {
        (ClassKind::Digit, false) => r"\p{Nd}",
        (ClassKind::Digit, true) => "0-9",
        (ClassKind::Word, false) => WORD,
        (ClassKind::Word, true) => "0-9A-Z_a-z",
        (ClassKind::Space, false) => SPACE,
        (ClassKind::Space, true) => r"\x{9}-\x{D}\x{20}",
    };
    if class.negated {
        out.push_str("[^");
        out.push_str(members);
        out.push(']');
    } else {
        out.push_str(members);
    }
}
