//! The text of an expression into what it computes.
//!
//! Tokens first, then recursive descent, whose depth is limited: nothing that anybody writes can overflow the stack.

use std::ops::Range;

use super::tree::{ComparisonOp, ExpressionNode, FUNCTIONS, Factor, Sign};
use super::{Expression, ExpressionProblem, MAX_BYTES};
use crate::base::diagnostic::suggest;

/// The deepest nesting of brackets, conditionals and prefixes.
const MAX_DEPTH: usize = 64;

type Parsed<T> = Result<T, ExpressionProblem>;

/// Reads `text`, which has no white space around it.
pub(super) fn parse(text: &str) -> Parsed<Expression> {
    if text.len() > MAX_BYTES {
        let message = format!("the expression is longer than {MAX_BYTES} bytes");
        return Err(problem(0..text.len(), message));
    }
    if text.is_empty() {
        return Err(problem(0..0, "the expression is empty")
            .hint("write one over the names of graders, for example `0.7*quality + 0.3*policy`"));
    }
    let tokens = Lexer { text, at: 0 }.all()?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0, names: Vec::new(), places: vec![] };
    let root = parser.expression()?;
    if let Some((_, at)) = parser.tokens.get(parser.next) {
        let at = at.clone();
        return Err(parser.unexpected(at));
    }
    let Parser { names, places, .. } = parser;
    Ok(Expression { text: text.to_owned(), names, places, root })
}

fn problem(at: Range<usize>, message: impl Into<String>) -> ExpressionProblem {
    ExpressionProblem { message: message.into(), at, hint: None }
}

impl ExpressionProblem {
    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    /// A name without quotes, which may be a word of the language.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    Sign(&'static str),
}

/// The words that are no names.
const WORDS: [&str; 5] = ["if", "else", "and", "or", "not"];

const SIGNS: [&str; 13] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ","];

/// Signs of other languages, and what to write instead.
const FOREIGN: [(&str, &str); 11] = [
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("**", "there are no powers: write `x*x`"),
    ("//", "write `/`"),
    ("=>", "write `>=`"),
    ("=<", "write `<=`"),
    ("<>", "write `!=`"),
    ("=", "write `==` to compare"),
    ("!", "write `not`"),
    ("?", "write `A if CONDITION else B`"),
    ("%", "write a fraction: `0.7`, not `70%`"),
];

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl Lexer<'_> {
    fn all(mut self) -> Parsed<Vec<(Token, Range<usize>)>> {
        let mut tokens = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            if self.at == self.text.len() {
                return Ok(tokens);
            }
            let from = self.at;
            let token = self.token()?;
            tokens.push((token, from..self.at));
        }
    }

    fn token(&mut self) -> Parsed<Token> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().unwrap_or_default();
        let digit_follows =
            rest[first.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        if first.is_ascii_digit() || first == '.' && digit_follows {
            return self.number();
        }
        if is_start(first) {
            let word = self.take_while(is_inside);
            return Ok(Token::Word(word.to_owned()));
        }
        if let '`' | '\'' | '"' = first {
            return self.quoted(first);
        }
        if let Some((sign, hint)) = self.foreign() {
            let at = self.at..self.at + sign.len();
            return Err(problem(at, format!("`{sign}` means nothing here")).hint(hint));
        }
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            self.at += sign.len();
            return Ok(Token::Sign(sign));
        }
        let at = self.at..self.at + first.len_utf8();
        let shown: String = first.escape_debug().collect();
        let unknown = problem(at, format!("`{shown}` means nothing here"));
        let after_name = self.text[..self.at].ends_with(is_inside);
        Err(if matches!(first, '.' | '[') && after_name {
            unknown.hint("the name of a grader stands for its score")
        } else {
            unknown
        })
    }

    /// A sign of another language. `==` and `!=` begin like one and are none.
    fn foreign(&self) -> Option<(&'static str, &'static str)> {
        let rest = &self.text[self.at..];
        let is_ours = rest.starts_with("==") || rest.starts_with("!=");
        FOREIGN.into_iter().find(|(sign, _)| rest.starts_with(sign)).filter(|_| !is_ours)
    }

    fn take_while(&mut self, is_part: fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|char: char| !is_part(char)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self) -> Parsed<Token> {
        let from = self.at;
        self.take_while(|char| char.is_ascii_digit());
        if self.text[self.at..].starts_with('.') {
            self.at += 1;
            self.take_while(|char| char.is_ascii_digit());
        }
        let digits = self.at;
        if self.text[self.at..].starts_with(['e', 'E']) {
            self.at += 1;
            if self.text[self.at..].starts_with(['+', '-']) {
                self.at += 1;
            }
            if self.take_while(|char| char.is_ascii_digit()).is_empty() {
                self.at = digits;
            }
        }
        let end = self.at;
        if !self.take_while(is_inside).is_empty() {
            let message = format!("`{}` is not a number", &self.text[from..self.at]);
            let wrong = problem(from..self.at, message);
            return Err(if WORDS.iter().any(|word| self.text[end..].starts_with(word)) {
                wrong.hint("write a space after the number")
            } else {
                wrong.hint("write `*` to multiply; put a name that begins with a digit in quotes")
            });
        }
        let value: f64 = self.text[from..end].parse().unwrap_or(f64::INFINITY);
        if value.is_finite() {
            return Ok(Token::Number(value));
        }
        Err(problem(from..end, "this number is too large"))
    }

    fn quoted(&mut self, quote: char) -> Parsed<Token> {
        let from = self.at;
        let rest = &self.text[from + 1..];
        let Some(length) = rest.find(quote) else {
            return Err(problem(from..self.text.len(), "this quote is never closed"));
        };
        self.at = from + 1 + length + 1;
        if length == 0 {
            return Err(problem(from..self.at, "there is no name between these quotes"));
        }
        Ok(Token::Quoted(rest[..length].to_owned()))
    }
}

fn is_start(char: char) -> bool {
    char.is_alphabetic() || char == '_'
}

fn is_inside(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
    names: Vec<String>,
    places: Vec<(Range<usize>, usize)>,
}

impl Parser<'_> {
    /// `or` and what binds closer, or a conditional of them.
    fn expression(&mut self) -> Parsed<ExpressionNode> {
        self.deeper(|parser| {
            let then = parser.any_of()?;
            if !parser.takes_word("if") {
                return Ok(then);
            }
            let condition = parser.any_of()?;
            if !parser.takes_word("else") {
                let wrong = parser.unexpected(parser.here());
                return Err(wrong.hint("a conditional is `A if CONDITION else B`"));
            }
            let otherwise = parser.expression()?;
            let [condition, then, otherwise] = [condition, then, otherwise].map(Box::new);
            Ok(ExpressionNode::Choice { condition, then, otherwise })
        })
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Parsed<ExpressionNode>) -> Parsed<ExpressionNode> {
        if self.depth == MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} deep");
            return Err(problem(self.here(), message));
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    fn any_of(&mut self) -> Parsed<ExpressionNode> {
        self.joined("or", Self::all_of, ExpressionNode::Or)
    }

    fn all_of(&mut self) -> Parsed<ExpressionNode> {
        self.joined("and", Self::negation, ExpressionNode::And)
    }

    fn joined(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> Parsed<ExpressionNode>,
        node: fn(Vec<ExpressionNode>) -> ExpressionNode,
    ) -> Parsed<ExpressionNode> {
        let first = operand(self)?;
        let mut operands = vec![first];
        while self.takes_word(word) {
            operands.push(operand(self)?);
        }
        match operands.len() {
            1 => Ok(operands.remove(0)),
            _ => Ok(node(operands)),
        }
    }

    fn negation(&mut self) -> Parsed<ExpressionNode> {
        if !self.takes_word("not") {
            return self.comparison();
        }
        Ok(ExpressionNode::Not(Box::new(self.deeper(Self::negation)?)))
    }

    fn comparison(&mut self) -> Parsed<ExpressionNode> {
        const ALL: [(&str, ComparisonOp); 6] = [
            ("<", ComparisonOp::Less),
            ("<=", ComparisonOp::LessOrEqual),
            (">", ComparisonOp::Greater),
            (">=", ComparisonOp::GreaterOrEqual),
            ("==", ComparisonOp::Equal),
            ("!=", ComparisonOp::Unequal),
        ];
        self.chain(&ALL, Self::sum, ExpressionNode::Compare)
    }

    fn sum(&mut self) -> Parsed<ExpressionNode> {
        self.chain(&[("+", Sign::Plus), ("-", Sign::Minus)], Self::product, ExpressionNode::Sum)
    }

    fn product(&mut self) -> Parsed<ExpressionNode> {
        self.chain(
            &[("*", Factor::Times), ("/", Factor::Over)],
            Self::prefixed,
            ExpressionNode::Product,
        )
    }

    fn chain<T: Copy>(
        &mut self,
        signs: &[(&str, T)],
        operand: fn(&mut Self) -> Parsed<ExpressionNode>,
        node: fn(Box<ExpressionNode>, Vec<(T, ExpressionNode)>) -> ExpressionNode,
    ) -> Parsed<ExpressionNode> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some((_, sign)) = signs.iter().find(|(sign, _)| self.takes_sign(sign)) {
            rest.push((*sign, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { node(Box::new(first), rest) })
    }

    fn prefixed(&mut self) -> Parsed<ExpressionNode> {
        if self.takes_sign("-") {
            return Ok(ExpressionNode::Minus(Box::new(self.deeper(Self::prefixed)?)));
        }
        if self.takes_sign("+") {
            return self.deeper(Self::prefixed);
        }
        self.atom()
    }

    fn atom(&mut self) -> Parsed<ExpressionNode> {
        let Some((token, at)) = self.tokens.get(self.next).cloned() else {
            return Err(self.unexpected(self.here()));
        };
        match token {
            Token::Number(number) => {
                self.next += 1;
                Ok(ExpressionNode::Number(number))
            }
            Token::Quoted(name) => {
                self.next += 1;
                Ok(self.score(name, at))
            }
            Token::Word(word) if !WORDS.contains(&word.as_str()) => {
                self.next += 1;
                if self.takes_sign("(") { self.call(&word, &at) } else { Ok(self.score(word, at)) }
            }
            Token::Sign("(") => {
                self.next += 1;
                let inner = self.expression()?;
                self.close(&at)?;
                Ok(inner)
            }
            _ => Err(self.unexpected(at)),
        }
    }

    fn score(&mut self, name: String, at: Range<usize>) -> ExpressionNode {
        let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        self.places.push((at, index));
        ExpressionNode::Score(name)
    }

    /// The arguments of the function `name`, whose bracket is open.
    fn call(&mut self, name: &str, at: &Range<usize>) -> Parsed<ExpressionNode> {
        let Some((_, function, least, most)) = FUNCTIONS.iter().find(|known| known.0 == name)
        else {
            let names = FUNCTIONS.map(|known| known.0);
            let hint = suggest(name, names).map_or_else(
                || {
                    format!(
                        "the functions are {}",
                        names.map(|name| format!("`{name}`")).join(", ")
                    )
                },
                |likely| format!("did you mean `{likely}`?"),
            );
            return Err(problem(at.clone(), format!("there is no function `{name}`")).hint(hint));
        };
        let open = at.end..self.tokens.get(self.next - 1).map_or(at.end, |(_, at)| at.end);
        let mut arguments = Vec::new();
        if self.sign() != Some(")") {
            arguments.push(self.expression()?);
            while self.takes_sign(",") {
                arguments.push(self.expression()?);
            }
        }
        self.close(&open)?;
        if (*least..=*most).contains(&arguments.len()) {
            return Ok(ExpressionNode::Call(*function, arguments));
        }
        let message = match least {
            1 if *most > 1 => format!("`{name}` needs at least one value"),
            1 => format!("`{name}` takes one value"),
            _ => format!("`{name}` takes {least} values"),
        };
        let wrong = problem(at.clone(), message);
        Err(if name == "clamp" { wrong.hint("write `clamp(x, lowest, highest)`") } else { wrong })
    }

    fn close(&mut self, open: &Range<usize>) -> Parsed<()> {
        if self.takes_sign(")") {
            return Ok(());
        }
        if self.next == self.tokens.len() {
            return Err(problem(open.clone(), "this `(` is never closed"));
        }
        Err(self.unexpected(self.here()))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let taken =
            matches!(self.tokens.get(self.next), Some((Token::Word(next), _)) if next == word);
        self.next += usize::from(taken);
        taken
    }

    fn sign(&self) -> Option<&'static str> {
        match self.tokens.get(self.next) {
            Some((Token::Sign(sign), _)) => Some(sign),
            _ => None,
        }
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let taken = self.sign() == Some(sign);
        self.next += usize::from(taken);
        taken
    }

    /// Where the next token stands; the end of the text if there is none.
    fn here(&self) -> Range<usize> {
        self.tokens.get(self.next).map_or(self.text.len()..self.text.len(), |(_, at)| at.clone())
    }

    fn unexpected(&self, at: Range<usize>) -> ExpressionProblem {
        if at.is_empty() {
            return problem(at, "the expression ends too early");
        }
        let message = format!("`{}` is not expected here", &self.text[at.clone()]);
        let index = self.tokens.iter().position(|(_, place)| *place == at).unwrap_or_default();
        let is_value = |token: Option<&(Token, Range<usize>)>| match token {
            Some((Token::Word(word), _)) => !WORDS.contains(&word.as_str()),
            Some((Token::Number(_) | Token::Quoted(_), _)) => true,
            Some((Token::Sign(_), _)) | None => false,
        };
        let before = index.checked_sub(1).and_then(|before| self.tokens.get(before));
        let wrong = problem(at, message);
        if is_value(before) && is_value(self.tokens.get(index)) {
            return wrong.hint(
                "put a name with spaces in quotes; between two values stands `+`, `*` or the like",
            );
        }
        wrong
    }
}
