//! A Python pattern as data, flags already resolved into each node.
//!
//! Code points are `u32` because Python's escapes and ranges may name surrogates; no text holds one.

/// A whole pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// What it matches.
    pub(super) body: Alternatives,
    /// The number of capture groups, group 0 not counted.
    pub(super) group_count: usize,
    /// Names of groups and their numbers.
    pub(super) names: Vec<(String, usize)>,
}

/// Sequences tried in order; at least one.
pub(super) type Alternatives = Vec<NodeSequence>;

/// Nodes that match one after another.
pub(super) type NodeSequence = Vec<Node>;

/// One item of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One character of a set. A literal is a set of one.
    Set(Set),
    /// A place in the text.
    At(Anchor),
    /// A group: capturing if it has a number.
    Group(Option<usize>, Alternatives),
    /// A quantified node.
    Repeat(Repetition),
    /// A look-around.
    Look(Look),
    /// `(?>…)`.
    Atomic(Alternatives),
    /// What a group matched, once more.
    Backref {
        /// The group.
        group: usize,
        /// Whether case is ignored.
        ignore_case: bool,
    },
    /// `(?(1)yes|no)`.
    If {
        /// The group that decides.
        group: usize,
        /// If it took part.
        yes: NodeSequence,
        /// If it did not.
        no: NodeSequence,
    },
}

/// A set of characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    /// Whether it is what the rest does not name.
    pub(super) negated: bool,
    /// Code points, both ends included.
    pub(super) ranges: Vec<(u32, u32)>,
    /// `\d`, `\w`, `\s` and their opposites.
    pub(super) classes: Vec<Class>,
    /// Whether case is ignored.
    pub(super) fold: Fold,
}

impl Set {
    /// The set of every character but those from `lo` to `hi`.
    pub(super) fn all_but(lo: u32, hi: u32) -> Self {
        Self { negated: true, ranges: vec![(lo, hi)], ..Self::default() }
    }
}

/// How letters that differ in case compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fold {
    /// As different letters.
    #[default]
    None,
    /// ASCII letters as equal: `(?ai)`.
    Ascii,
    /// All letters as equal: `(?i)`.
    Unicode,
}

/// `\d`, `\w` or `\s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Which.
    pub(super) kind: ClassKind,
    /// Whether it was written in upper case.
    pub(super) negated: bool,
    /// Whether only ASCII counts: `(?a)`.
    pub(super) ascii: bool,
}

/// The kinds of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassKind {
    /// Decimal digits.
    Digit,
    /// Letters, numbers and the underscore.
    Word,
    /// White space.
    Space,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The start of the text.
    TextStart,
    /// The start of the text or of a line.
    LineStart,
    /// The end of the text, or before a line feed that ends it.
    LastLineEnd,
    /// The end of the text or before a line feed.
    LineEnd,
    /// The end of the text.
    TextEnd,
    /// Between a word character and another.
    Boundary {
        /// `\B`.
        negated: bool,
        /// Whether only ASCII letters make words.
        ascii: bool,
    },
}

/// A quantified node.
#[derive(Clone, Debug)]
pub(super) struct Repetition {
    /// What is repeated.
    pub(super) node: Box<Node>,
    /// The least number of times.
    pub(super) min: u32,
    /// The greatest, if there is one.
    pub(super) max: Option<u32>,
    /// What is tried first.
    pub(super) greed: Greed,
}

/// What a quantifier tries first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    /// As often as possible.
    Greedy,
    /// As rarely as possible.
    Lazy,
    /// As often as possible, and never less.
    Possessive,
}

/// A look-around.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// Whether it looks at what comes before.
    pub(super) behind: bool,
    /// Whether nothing must match there.
    pub(super) negated: bool,
    /// What is looked for.
    pub(super) body: Alternatives,
}

/// The least and greatest number of characters a sequence can match.
pub(super) fn width(sequence: &[Node], groups: &[(u64, u64)]) -> (u64, u64) {
    sequence.iter().map(|node| node_width(node, groups)).fold((0, 0), |sum, one| {
        (u64::saturating_add(sum.0, one.0), u64::saturating_add(sum.1, one.1))
    })
}

/// The same of alternatives.
pub(super) fn widths(body: &Alternatives, groups: &[(u64, u64)]) -> (u64, u64) {
    let each = body.iter().map(|sequence| width(sequence, groups));
    each.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
}

fn node_width(node: &Node, groups: &[(u64, u64)]) -> (u64, u64) {
    match node {
        Node::Set(_) => (1, 1),
        Node::At(_) | Node::Look(_) => (0, 0),
        Node::Group(_, body) | Node::Atomic(body) => widths(body, groups),
        Node::Repeat(repeat) => {
            let (least, most) = node_width(&repeat.node, groups);
            let max = repeat.max.map_or(u64::MAX, u64::from);
            (least.saturating_mul(u64::from(repeat.min)), most.saturating_mul(max))
        }
        Node::Backref { group, .. } => groups.get(*group).copied().unwrap_or_default(),
        Node::If { yes, no, .. } => {
            let (yes, no) = (width(yes, groups), width(no, groups));
            (yes.0.min(no.0), yes.1.max(no.1))
        }
    }
}
