//! Escapes and sets in a pattern.

use super::super::tree::{Anchor, Class, ClassKind, Node, Set};
use super::{Flags, PatternParser, PatternResult, literal};

/// The meaning of an escape.
#[derive(Clone, Copy)]
enum Escape {
    Code(u32),
    Class(Class),
}

impl PatternParser {
    pub(super) fn escape(&mut self, flags: Flags, start: usize) -> PatternResult<Node> {
        let Some(c) = self.next() else {
            return Err(self.problem_at(start, "the pattern ends with a backslash"));
        };
        let boundary = |negated| Node::At(Anchor::Boundary { negated, ascii: flags.ascii });
        match c {
            'A' => Ok(Node::At(Anchor::TextStart)),
            'Z' => Ok(Node::At(Anchor::TextEnd)),
            'b' => Ok(boundary(false)),
            'B' => Ok(boundary(true)),
            '0' => {
                let code = self.octal(0, 2);
                Ok(literal(code, flags))
            }
            '1'..='9' => self.digit_escape(c, flags, start),
            _ => Ok(match self.common_escape(c, flags, start)? {
                Escape::Code(code) => literal(code, flags),
                Escape::Class(class) => Node::Set(Set { classes: vec![class], ..Set::default() }),
            }),
        }
    }

    /// `\12`: three octal digits are a character, anything else is a group.
    fn digit_escape(&mut self, first: char, flags: Flags, start: usize) -> PatternResult<Node> {
        let mut group = first.to_digit(10).unwrap_or(0);
        if let Some(second) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            let third = self.peek().and_then(|c| c.to_digit(8));
            if let (1..=7, 0..=7, Some(third)) = (group, second, third) {
                self.at += 1;
                let code = self.byte(group * 64 + second * 8 + third, start)?;
                return Ok(literal(code, flags));
            }
            group = group * 10 + second;
        }
        self.backref(group as usize, flags, start)
    }

    fn byte(&self, code: u32, start: usize) -> PatternResult<u32> {
        if code > 0o377 {
            return Err(self.problem_at(start, "an octal escape is at most 377"));
        }
        Ok(code)
    }

    /// Up to `most` further octal digits after `code`.
    fn octal(&mut self, mut code: u32, most: usize) -> u32 {
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            code = code * 8 + digit;
            self.at += 1;
        }
        code
    }

    /// The escapes that mean the same inside and outside sets.
    fn common_escape(&mut self, c: char, flags: Flags, start: usize) -> PatternResult<Escape> {
        let class = |kind| Class { kind, negated: c.is_ascii_uppercase(), ascii: flags.ascii };
        Ok(match c {
            'd' | 'D' => Escape::Class(class(ClassKind::Digit)),
            'w' | 'W' => Escape::Class(class(ClassKind::Word)),
            's' | 'S' => Escape::Class(class(ClassKind::Space)),
            'a' => Escape::Code(7),
            'f' => Escape::Code(12),
            'n' => Escape::Code(10),
            'r' => Escape::Code(13),
            't' => Escape::Code(9),
            'v' => Escape::Code(11),
            'N' => Escape::Code(self.character_named(start)?),
            'x' => Escape::Code(self.hexadecimal(2, start)?),
            'u' => Escape::Code(self.hexadecimal(4, start)?),
            'U' => Escape::Code(self.hexadecimal(8, start)?),
            _ if c.is_ascii_alphanumeric() => {
                return Err(self.problem_at(start, format!("unknown escape `\\{c}`")));
            }
            _ => Escape::Code(u32::from(c)),
        })
    }

    /// `\N{EM DASH}`: a character by its name in Unicode, or by an alias of it.
    fn character_named(&mut self, start: usize) -> PatternResult<u32> {
        if !self.eat('{') {
            return Err(self.problem_at(start, "a name in braces must follow `\\N`"));
        }
        let mut name = String::new();
        loop {
            match self.next() {
                Some('}') => break,
                Some(c) => name.push(c),
                None => return Err(self.problem_at(start, "the name is not closed")),
            }
        }
        match unicode_names2::character(&name).filter(|c| is_spelt(&name, *c)) {
            Some(c) => Ok(u32::from(c)),
            None => Err(self.problem_at(start, format!("no character is called `{name}`"))),
        }
    }

    fn hexadecimal(&mut self, digits: usize, start: usize) -> PatternResult<u32> {
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else {
                let message = format!("{digits} hexadecimal digits must follow");
                return Err(self.problem_at(start, message));
            };
            code = code.wrapping_mul(16).wrapping_add(digit);
            self.at += 1;
        }
        if code > u32::from(char::MAX) {
            return Err(self.problem_at(start, "there is no such character"));
        }
        Ok(code)
    }

    pub(super) fn set(&mut self, flags: Flags, start: usize) -> PatternResult<Node> {
        let mut set = Set { negated: self.eat('^'), fold: flags.fold(), ..Set::default() };
        let open = |parser: &Self| parser.problem_at(start, "the set is not closed");
        let mut first = true;
        loop {
            let Some(c) = self.next() else { return Err(open(self)) };
            if c == ']' && !first {
                return Ok(Node::Set(set));
            }
            first = false;
            let item = self.set_item(c, flags)?;
            if !self.eat('-') {
                add(&mut set, item);
                continue;
            }
            let Some(c) = self.next() else { return Err(open(self)) };
            if c == ']' {
                add(&mut set, item);
                add(&mut set, Escape::Code(u32::from('-')));
                return Ok(Node::Set(set));
            }
            match (item, self.set_item(c, flags)?) {
                (Escape::Code(low), Escape::Code(high)) if low <= high => {
                    set.ranges.push((low, high));
                }
                _ => return Err(self.problem_at(start, "the range in the set is invalid")),
            }
        }
    }

    fn set_item(&mut self, c: char, flags: Flags) -> PatternResult<Escape> {
        if c != '\\' {
            return Ok(Escape::Code(u32::from(c)));
        }
        let start = self.at - 1;
        match self.next() {
            None => Err(self.problem_at(start, "the pattern ends with a backslash")),
            Some('b') => Ok(Escape::Code(8)),
            Some(c @ '0'..='7') => {
                let code = self.octal(c.to_digit(8).unwrap_or(0), 2);
                Ok(Escape::Code(self.byte(code, start)?))
            }
            Some(c) => self.common_escape(c, flags, start),
        }
    }
}

fn add(set: &mut Set, item: Escape) {
    match item {
        Escape::Code(code) => set.ranges.push((code, code)),
        Escape::Class(class) => set.classes.push(class),
    }
}

/// Whether `name` is the name of `c` as Python wants it spelt, or an alias. The table forgives more: blanks, hyphens and
/// underscores mean nothing to it.
fn is_spelt(name: &str, c: char) -> bool {
    let Some(known) = unicode_names2::name(c).map(|name| name.to_string()) else { return true };
    let bare = |name: &str| -> String {
        let letters = name.chars().filter(|c| !matches!(c, ' ' | '-' | '_'));
        letters.map(|c| c.to_ascii_uppercase()).collect()
    };
    known.eq_ignore_ascii_case(name) || bare(&known) != bare(name)
}
