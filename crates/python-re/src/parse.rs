//! Reads the syntax of Python 3.11's `re` into a tree.
//!
//! What Python refuses is refused here, at the same place; the words are ours.

mod escape;

use super::RegexProblem;
use super::tree::{
    Alternatives, Anchor, Fold, Greed, Look, Node, NodeSequence, Pattern, Repetition, Set, widths,
};

/// How deep groups may nest; the engines have limits of their own of this order.
const MAX_DEPTH: usize = 100;

/// Reads a pattern.
pub(super) fn parse(pattern: &str) -> Result<Pattern, RegexProblem> {
    let mut parser = PatternParser {
        chars: pattern.chars().collect(),
        at: 0,
        groups: vec![Some((0, 0))],
        names: Vec::new(),
        outside_lookbehind: None,
        conditions: Vec::new(),
        depth: 0,
        global: Flags::default(),
    };
    let body = parser.alternatives(Flags::default())?;
    if parser.peek().is_some() {
        return Err(parser.problem_at(parser.at, "`)` closes nothing"));
    }
    let conditions = std::mem::take(&mut parser.conditions);
    if let Some((group, at)) =
        conditions.into_iter().find(|(group, _)| *group >= parser.groups.len())
    {
        return Err(parser.problem_at(at, format!("there is no group {group}")));
    }
    Ok(Pattern { body, group_count: parser.groups.len() - 1, names: parser.names })
}

/// The flags in force.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    ascii: bool,
    ignore_case: bool,
    multiline: bool,
    dot_all: bool,
    verbose: bool,
}

impl Flags {
    fn fold(self) -> Fold {
        match (self.ignore_case, self.ascii) {
            (false, _) => Fold::None,
            (true, true) => Fold::Ascii,
            (true, false) => Fold::Unicode,
        }
    }

    /// Turns the flag `letter` on or off.
    fn set(&mut self, letter: char, on: bool) {
        match letter {
            'a' => self.ascii = on,
            'u' => self.ascii = !on,
            'i' => self.ignore_case = on,
            'm' => self.multiline = on,
            's' => self.dot_all = on,
            'x' => self.verbose = on,
            _ => {}
        }
    }
}

struct PatternParser {
    chars: Vec<char>,
    at: usize,
    /// The widths of each group; none while it is open.
    groups: Vec<Option<(u64, u64)>>,
    names: Vec<(String, usize)>,
    /// Inside a look-behind: how many groups there were outside.
    outside_lookbehind: Option<usize>,
    /// Groups that conditionals name by number, and where.
    conditions: Vec<(usize, usize)>,
    depth: usize,
    /// What flags at the start of the pattern have set.
    global: Flags,
}

type PatternResult<T> = Result<T, RegexProblem>;

impl PatternParser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn problem_at(&self, position: usize, message: impl Into<String>) -> RegexProblem {
        RegexProblem::Syntax { message: message.into(), position: position.min(self.chars.len()) }
    }

    fn alternatives(&mut self, flags: Flags) -> PatternResult<Alternatives> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexProblem::TooLarge);
        }
        let outermost = self.depth == 1;
        let mut flags = flags;
        let mut all = vec![self.sequence(flags, outermost)?];
        while self.eat('|') {
            if outermost {
                flags = self.global;
            }
            all.push(self.sequence(flags, false)?);
        }
        self.depth -= 1;
        Ok(all)
    }

    fn sequence(&mut self, mut flags: Flags, first: bool) -> PatternResult<NodeSequence> {
        let mut items = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            let start = self.at;
            self.at += 1;
            match c {
                _ if flags.verbose && is_blank(c) => {}
                '#' if flags.verbose => self.skip_past('\n'),
                '\\' => items.push(self.escape(flags, start)?),
                '[' => items.push(self.set(flags, start)?),
                '.' if flags.dot_all => items.push(Node::Set(Set::all_but(1, 0))),
                '.' => items.push(Node::Set(Set::all_but(10, 10))),
                '^' if flags.multiline => items.push(Node::At(Anchor::LineStart)),
                '^' => items.push(Node::At(Anchor::TextStart)),
                '$' if flags.multiline => items.push(Node::At(Anchor::LineEnd)),
                '$' => items.push(Node::At(Anchor::LastLineEnd)),
                '*' | '+' | '?' | '{' => self.quantifier(c, flags, &mut items)?,
                '(' => match self.group(flags, start)? {
                    Opened::Node(node) => items.push(node),
                    Opened::Comment => {}
                    Opened::Global if first && items.is_empty() => flags = self.global,
                    Opened::Global => {
                        let message = "flags for the whole pattern must stand at its start";
                        return Err(self.problem_at(start, message));
                    }
                },
                _ => items.push(literal(u32::from(c), flags)),
            }
        }
        Ok(items)
    }

    fn skip_past(&mut self, end: char) {
        while let Some(c) = self.next() {
            if c == end {
                break;
            }
        }
    }

    fn quantifier(&mut self, c: char, flags: Flags, items: &mut NodeSequence) -> PatternResult<()> {
        let start = self.at - 1;
        let (min, max) = match c {
            '?' => (0, Some(1)),
            '*' => (0, None),
            '+' => (1, None),
            _ => {
                let Some(bounds) = self.bounds(start)? else {
                    items.push(literal(u32::from(c), flags));
                    return Ok(());
                };
                bounds
            }
        };
        let node = match items.pop() {
            None | Some(Node::At(_)) => {
                return Err(self.problem_at(start, "there is nothing to repeat"));
            }
            Some(Node::Repeat(_)) => {
                return Err(self.problem_at(start, "a repetition is repeated"));
            }
            Some(node) => Box::new(node),
        };
        let greed = if self.eat('?') {
            Greed::Lazy
        } else if self.eat('+') {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        items.push(Node::Repeat(Repetition { node, min, max, greed }));
        Ok(())
    }

    /// The text between `{` and `}`, or nothing if the brace is an ordinary character.
    fn bounds(&mut self, start: usize) -> PatternResult<Option<(u32, Option<u32>)>> {
        let back = self.at;
        if self.peek() == Some('}') {
            return Ok(None);
        }
        let low = self.digits();
        let high = if self.eat(',') { self.digits() } else { low.clone() };
        if !self.eat('}') {
            self.at = back;
            return Ok(None);
        }
        let count = |digits: &str| match digits {
            "" => Ok(None),
            _ => match digits.parse::<u32>() {
                Ok(count) if count < u32::MAX => Ok(Some(count)),
                _ => Err(RegexProblem::TooLarge),
            },
        };
        let (min, max) = (count(&low)?.unwrap_or(0), count(&high)?);
        if max.is_some_and(|max| max < min) {
            return Err(self.problem_at(start, "the least count is above the greatest"));
        }
        Ok(Some((min, max)))
    }

    fn digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some(c) = self.peek().filter(char::is_ascii_digit) {
            digits.push(c);
            self.at += 1;
        }
        digits
    }
}

/// What an opening parenthesis turned out to be.
enum Opened {
    Node(Node),
    Comment,
    Global,
}

/// Groups.
impl PatternParser {
    fn group(&mut self, flags: Flags, start: usize) -> PatternResult<Opened> {
        if !self.eat('?') {
            return self.capture(flags, None, start).map(Opened::Node);
        }
        match self.next() {
            Some('P') => self.python_extension(flags, start),
            Some(':') => self.plain(flags, start).map(Opened::Node),
            Some('>') => {
                let body = self.closed(flags, start)?;
                Ok(Opened::Node(Node::Atomic(body)))
            }
            Some('#') => {
                self.skip_past(')');
                if self.chars.get(self.at - 1) == Some(&')') {
                    Ok(Opened::Comment)
                } else {
                    Err(self.problem_at(start, "the comment is not closed"))
                }
            }
            Some('=') => self.look(flags, start, false, false),
            Some('!') => self.look(flags, start, false, true),
            Some('<') => match self.next() {
                Some('=') => self.look(flags, start, true, false),
                Some('!') => self.look(flags, start, true, true),
                _ => Err(self.problem_at(start, "Python names groups with `(?P<name>`")),
            },
            Some('(') => self.conditional(flags, start),
            Some(c) if c == '-' || is_flag(c) => self.flags(flags, start, c),
            _ => Err(self.problem_at(start, "unknown kind of group")),
        }
    }

    /// The alternatives up to the closing parenthesis.
    fn closed(&mut self, flags: Flags, start: usize) -> PatternResult<Alternatives> {
        let body = self.alternatives(flags)?;
        if self.eat(')') {
            Ok(body)
        } else {
            Err(self.problem_at(start, "the group is not closed"))
        }
    }

    fn plain(&mut self, flags: Flags, start: usize) -> PatternResult<Node> {
        let body = self.closed(flags, start)?;
        Ok(Node::Group(None, body))
    }

    fn capture(&mut self, flags: Flags, name: Option<String>, start: usize) -> PatternResult<Node> {
        let index = self.groups.len();
        self.groups.push(None);
        if let Some(name) = name {
            if self.index_of(&name).is_some() {
                return Err(self.problem_at(start, format!("two groups are named `{name}`")));
            }
            self.names.push((name, index));
        }
        let body = self.closed(flags, start)?;
        self.groups[index] = Some(widths(&body, &self.widths()));
        Ok(Node::Group(Some(index), body))
    }

    fn widths(&self) -> Vec<(u64, u64)> {
        self.groups.iter().map(|width| width.unwrap_or_default()).collect()
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
    }

    fn python_extension(&mut self, flags: Flags, start: usize) -> PatternResult<Opened> {
        match self.next() {
            Some('<') => {
                let name = self.until('>', start)?;
                self.check_name(&name, start)?;
                self.capture(flags, Some(name), start).map(Opened::Node)
            }
            Some('=') => {
                let name = self.until(')', start)?;
                self.check_name(&name, start)?;
                let group = self.named(&name, start)?;
                self.backref(group, flags, start).map(Opened::Node)
            }
            _ => Err(self.problem_at(start, "`(?P` goes on with `<` or `=`")),
        }
    }

    fn until(&mut self, end: char, start: usize) -> PatternResult<String> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some(c) if c == end => return Ok(name),
                Some(c) => name.push(c),
                None => return Err(self.problem_at(start, "the name of the group is not closed")),
            }
        }
    }

    fn check_name(&self, name: &str, start: usize) -> PatternResult<()> {
        if is_identifier(name) {
            Ok(())
        } else {
            Err(self.problem_at(start, format!("`{name}` cannot name a group")))
        }
    }

    fn named(&self, name: &str, start: usize) -> PatternResult<usize> {
        self.index_of(name)
            .ok_or_else(|| self.problem_at(start, format!("there is no group `{name}`")))
    }

    fn backref(&mut self, group: usize, flags: Flags, start: usize) -> PatternResult<Node> {
        match self.groups.get(group) {
            None => return Err(self.problem_at(start, format!("there is no group {group}"))),
            Some(None) => {
                return Err(self.problem_at(start, format!("group {group} is still open")));
            }
            Some(Some(_)) => self.check_lookbehind(group, start)?,
        }
        Ok(Node::Backref { group, ignore_case: flags.ignore_case })
    }

    /// A look-behind may not refer to a group of its own.
    fn check_lookbehind(&self, group: usize, start: usize) -> PatternResult<()> {
        match self.outside_lookbehind {
            Some(outside) if group >= outside => {
                let message = format!("group {group} belongs to the same look-behind");
                Err(self.problem_at(start, message))
            }
            _ => Ok(()),
        }
    }

    fn look(
        &mut self,
        flags: Flags,
        start: usize,
        behind: bool,
        negated: bool,
    ) -> PatternResult<Opened> {
        let outer = self.outside_lookbehind;
        if behind && outer.is_none() {
            self.outside_lookbehind = Some(self.groups.len());
        }
        let body = self.closed(flags, start)?;
        self.outside_lookbehind = outer;
        if behind {
            let (least, most) = widths(&body, &self.widths());
            if least != most {
                return Err(self.problem_at(start, "a look-behind needs a fixed width"));
            }
        }
        Ok(Opened::Node(Node::Look(Look { behind, negated, body })))
    }

    fn conditional(&mut self, flags: Flags, start: usize) -> PatternResult<Opened> {
        let name = self.until(')', start)?;
        let group = if is_identifier(&name) {
            self.named(&name, start)?
        } else {
            let group = name.trim().parse::<usize>().ok().filter(|group| *group > 0);
            let group = group.ok_or_else(|| {
                self.problem_at(start, format!("`{name}` is not a group to depend on"))
            })?;
            self.conditions.push((group, start));
            group
        };
        if self.groups.get(group) == Some(&None) {
            let message = "a condition on a group that is still open";
            return Err(RegexProblem::Unsupported(message.to_owned()));
        }
        self.check_lookbehind(group, start)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexProblem::TooLarge);
        }
        let yes = self.sequence(flags, false)?;
        let no = if self.eat('|') { self.sequence(flags, false)? } else { Vec::new() };
        self.depth -= 1;
        match self.peek() {
            Some(')') => self.at += 1,
            Some('|') => return Err(self.problem_at(self.at, "a condition has two branches")),
            _ => return Err(self.problem_at(start, "the group is not closed")),
        }
        Ok(Opened::Node(Node::If { group, yes, no }))
    }

    /// `(?i)`, `(?i:…)`, `(?-i:…)`, `(?i-s:…)`, after its first letter or dash.
    fn flags(&mut self, outer: Flags, start: usize, first: char) -> PatternResult<Opened> {
        let mut on = String::new();
        let mut off = String::new();
        let mut c = Some(first);
        while let Some(letter) = c.filter(|c| is_flag(*c)) {
            on.push(letter);
            c = self.next();
        }
        if on.contains('L') || (on.contains('a') && on.contains('u')) {
            return Err(self.problem_at(start, "these flags do not go together here"));
        }
        if c == Some(')') {
            on.chars().for_each(|letter| self.global.set(letter, true));
            return Ok(Opened::Global);
        }
        if c == Some('-') {
            c = self.next();
            while let Some(letter) = c.filter(|c| is_flag(*c)) {
                off.push(letter);
                c = self.next();
            }
            if off.is_empty() {
                return Err(self.problem_at(start, "a flag must follow `-`"));
            }
        }
        if c != Some(':') {
            return Err(self.problem_at(start, "unknown flag, or `:` is missing"));
        }
        if off.contains(['a', 'u', 'L']) || off.chars().any(|letter| on.contains(letter)) {
            return Err(self.problem_at(start, "this flag cannot be turned off here"));
        }
        let mut flags = outer;
        on.chars().for_each(|letter| flags.set(letter, true));
        off.chars().for_each(|letter| flags.set(letter, false));
        let body = self.closed(flags, start)?;
        Ok(Opened::Node(Node::Group(None, body)))
    }
}

fn literal(code: u32, flags: Flags) -> Node {
    Node::Set(Set { ranges: vec![(code, code)], fold: flags.fold(), ..Set::default() })
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn is_flag(c: char) -> bool {
    matches!(c, 'a' | 'i' | 'L' | 'm' | 's' | 'u' | 'x')
}

fn is_identifier(name: &str) -> bool {
    let starts = name.chars().next().is_some_and(|c| c == '_' || c.is_alphabetic());
    starts && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}
