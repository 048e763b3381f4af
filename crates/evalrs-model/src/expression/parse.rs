//! The text of an expression into what it computes.
//!
//! Recursive descent over tokens, whose depth is limited: nothing that anybody writes can overflow the stack.

use std::ops::Range;

use super::lexer::{Lexer, Token};
use super::operand::TextPattern;
use super::problem::{ParseResult, problem};
use super::tree::{ComparisonOp, ExpressionNode, Factor, Sign};
use super::vocabulary::Vocabulary;
use super::{Expression, ExpressionProblem};
use evalrs_base::diagnostic::suggest;

/// The function over rows that takes a pattern.
const MATCHES: &str = "matches";

/// The deepest nesting of brackets, conditionals and prefixes.
const MAX_DEPTH: usize = 64;

/// The longest expression, in bytes.
pub(super) const MAX_BYTES: usize = 4096;

impl Expression {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Self, ExpressionProblem> {
        let trimmed = text.trim();
        let start = text.len() - text.trim_start().len();
        parse(trimmed, Vocabulary::Scores).map_err(|problem| problem.moved(start))
    }
}

/// Reads `text`, which has no white space around it.
pub(super) fn parse(text: &str, vocabulary: Vocabulary) -> ParseResult<Expression> {
    if text.len() > MAX_BYTES {
        let message = format!("the expression is longer than {MAX_BYTES} bytes");
        return Err(problem(0..text.len(), message));
    }
    if text.is_empty() {
        return Err(problem(0..0, "the expression is empty").hint(vocabulary.example()));
    }
    let tokens = Lexer { text, at: 0, vocabulary }.all()?;
    let mut parser =
        Parser { text, vocabulary, tokens, next: 0, depth: 0, names: Vec::new(), places: vec![] };
    let root = parser.expression()?;
    if let Some((_, at)) = parser.tokens.get(parser.next) {
        let at = at.clone();
        return Err(parser.unexpected(at));
    }
    let Parser { names, places, .. } = parser;
    Ok(Expression { text: text.to_owned(), names, places, root })
}

/// The values of rows that have a name.
const CONSTANTS: [(&str, ExpressionNode); 6] = [
    ("true", ExpressionNode::Number(1.0)),
    ("True", ExpressionNode::Number(1.0)),
    ("false", ExpressionNode::Number(0.0)),
    ("False", ExpressionNode::Number(0.0)),
    ("null", ExpressionNode::Nothing),
    ("None", ExpressionNode::Nothing),
];

struct Parser<'t> {
    text: &'t str,
    vocabulary: Vocabulary,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
    names: Vec<String>,
    places: Vec<(Range<usize>, usize)>,
}

impl Parser<'_> {
    /// `or` and what binds closer, or a conditional of them.
    fn expression(&mut self) -> ParseResult<ExpressionNode> {
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

    fn deeper(
        &mut self,
        read: fn(&mut Self) -> ParseResult<ExpressionNode>,
    ) -> ParseResult<ExpressionNode> {
        if self.depth == MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} deep");
            return Err(problem(self.here(), message));
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    fn any_of(&mut self) -> ParseResult<ExpressionNode> {
        self.joined("or", Self::all_of, ExpressionNode::Or)
    }

    fn all_of(&mut self) -> ParseResult<ExpressionNode> {
        self.joined("and", Self::negation, ExpressionNode::And)
    }

    fn joined(
        &mut self,
        word: &str,
        operand: fn(&mut Self) -> ParseResult<ExpressionNode>,
        node: fn(Vec<ExpressionNode>) -> ExpressionNode,
    ) -> ParseResult<ExpressionNode> {
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

    fn negation(&mut self) -> ParseResult<ExpressionNode> {
        if !self.takes_word("not") {
            return self.comparison();
        }
        Ok(ExpressionNode::Not(Box::new(self.deeper(Self::negation)?)))
    }

    fn comparison(&mut self) -> ParseResult<ExpressionNode> {
        const ALL: [(&str, ComparisonOp); 6] = [
            ("<", ComparisonOp::Less),
            ("<=", ComparisonOp::LessOrEqual),
            (">", ComparisonOp::Greater),
            (">=", ComparisonOp::GreaterOrEqual),
            ("==", ComparisonOp::Equal),
            ("!=", ComparisonOp::Unequal),
        ];
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let sign = ALL.iter().find(|(sign, _)| self.takes_sign(sign)).map(|(_, op)| *op);
            let Some(comparison) = sign.or_else(|| self.membership()) else { break };
            rest.push((comparison, self.sum()?));
        }
        Ok(if rest.is_empty() { first } else { ExpressionNode::Compare(Box::new(first), rest) })
    }

    /// `in` and `not in`, which are of rows alone.
    fn membership(&mut self) -> Option<ComparisonOp> {
        if self.vocabulary == Vocabulary::Scores {
            return None;
        }
        if self.takes_word("in") {
            return Some(ComparisonOp::In);
        }
        let follows = self.tokens.get(self.next + 1).map(|(token, _)| token);
        if follows == Some(&Token::Word("in".to_owned())) && self.takes_word("not") {
            self.next += 1;
            return Some(ComparisonOp::NotIn);
        }
        None
    }

    fn sum(&mut self) -> ParseResult<ExpressionNode> {
        self.chain(&[("+", Sign::Plus), ("-", Sign::Minus)], Self::product, ExpressionNode::Sum)
    }

    fn product(&mut self) -> ParseResult<ExpressionNode> {
        self.chain(
            &[("*", Factor::Times), ("/", Factor::Over)],
            Self::prefixed,
            ExpressionNode::Product,
        )
    }

    fn chain<T: Copy>(
        &mut self,
        signs: &[(&str, T)],
        operand: fn(&mut Self) -> ParseResult<ExpressionNode>,
        node: fn(Box<ExpressionNode>, Vec<(T, ExpressionNode)>) -> ExpressionNode,
    ) -> ParseResult<ExpressionNode> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some((_, sign)) = signs.iter().find(|(sign, _)| self.takes_sign(sign)) {
            rest.push((*sign, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { node(Box::new(first), rest) })
    }

    fn prefixed(&mut self) -> ParseResult<ExpressionNode> {
        if self.takes_sign("-") {
            return Ok(ExpressionNode::Minus(Box::new(self.deeper(Self::prefixed)?)));
        }
        if self.takes_sign("+") {
            return self.deeper(Self::prefixed);
        }
        self.atom()
    }

    fn atom(&mut self) -> ParseResult<ExpressionNode> {
        let Some((token, at)) = self.tokens.get(self.next).cloned() else {
            return Err(self.unexpected(self.here()));
        };
        self.next += 1;
        Ok(match token {
            Token::Number(number) => ExpressionNode::Number(number),
            Token::Whole(whole) => ExpressionNode::Whole(whole),
            Token::Quoted(name) => self.name(name, at),
            Token::Text(text) => ExpressionNode::Text(text),
            Token::Word(word) if !self.vocabulary.is_word(&word) => {
                if self.takes_sign("(") {
                    return self.call(&word, &at);
                }
                self.name_or_constant(word, at)
            }
            Token::Sign("[") => ExpressionNode::List(self.listed("]", &at)?),
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.close(")", &at)?;
                inner
            }
            _ => return Err(self.unexpected(at)),
        })
    }

    fn name_or_constant(&mut self, word: String, at: Range<usize>) -> ExpressionNode {
        let constant = CONSTANTS.into_iter().find(|(constant, _)| *constant == word);
        match constant.filter(|_| self.vocabulary == Vocabulary::Rows) {
            Some((_, node)) => node,
            None => self.name(word, at),
        }
    }

    fn name(&mut self, name: String, at: Range<usize>) -> ExpressionNode {
        let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        self.places.push((at, index));
        ExpressionNode::Name(name)
    }

    /// The arguments of the function `name`, whose bracket is open.
    fn call(&mut self, name: &str, at: &Range<usize>) -> ParseResult<ExpressionNode> {
        let open = at.end..self.tokens.get(self.next - 1).map_or(at.end, |(_, at)| at.end);
        if name == MATCHES && self.vocabulary == Vocabulary::Rows {
            return self.matches(&open);
        }
        let functions = self.vocabulary.functions();
        let Some((_, function, least, most)) = functions.iter().find(|known| known.0 == name)
        else {
            return Err(self.no_function(name, at));
        };
        let arguments = self.listed(")", &open)?;
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

    /// `matches(TEXT, 'PATTERN')`, whose bracket is open. The pattern is compiled here, so that it is a text and no more.
    fn matches(&mut self, open: &Range<usize>) -> ParseResult<ExpressionNode> {
        let text = self.expression()?;
        if !self.takes_sign(",") {
            return Err(self.unexpected(self.here()).hint("write `matches(FIELD, 'PATTERN')`"));
        }
        let at = self.here();
        let Some((Token::Text(source), _)) = self.tokens.get(self.next).cloned() else {
            return Err(self.unexpected(at).hint("the pattern is a text in quotes"));
        };
        self.next += 1;
        let pattern = TextPattern::new(&source).map_err(|wrong| problem(at, wrong.to_string()))?;
        self.close(")", open)?;
        Ok(ExpressionNode::Matches(Box::new(text), pattern))
    }

    fn no_function(&self, name: &str, at: &Range<usize>) -> ExpressionProblem {
        let of_rows = (self.vocabulary == Vocabulary::Rows).then_some(MATCHES);
        let names: Vec<&str> =
            self.vocabulary.functions().iter().map(|known| known.0).chain(of_rows).collect();
        let hint = match suggest(name, names.iter().copied()) {
            Some(likely) => format!("did you mean `{likely}`?"),
            None => format!("the functions are `{}`", names.join("`, `")),
        };
        problem(at.clone(), format!("unknown function `{name}`")).hint(hint)
    }

    /// Expressions with commas between them, up to the bracket that closes them.
    fn listed(&mut self, closing: &str, open: &Range<usize>) -> ParseResult<Vec<ExpressionNode>> {
        let mut items = Vec::new();
        if self.sign() != Some(closing) {
            items.push(self.expression()?);
            while self.takes_sign(",") {
                items.push(self.expression()?);
            }
        }
        self.close(closing, open)?;
        Ok(items)
    }

    fn close(&mut self, closing: &str, open: &Range<usize>) -> ParseResult<()> {
        if self.takes_sign(closing) {
            return Ok(());
        }
        if self.next == self.tokens.len() {
            let opening = if closing == "]" { "[" } else { "(" };
            return Err(problem(open.clone(), format!("this `{opening}` is never closed")));
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

    /// The place of the next token; the end of the text if there is none.
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
            Some((Token::Word(word), _)) => !self.vocabulary.is_word(word),
            Some((Token::Sign(_), _)) | None => false,
            Some(_) => true,
        };
        let before = index.checked_sub(1).and_then(|before| self.tokens.get(before));
        let wrong = problem(at, message);
        if !is_value(before) || !is_value(self.tokens.get(index)) {
            return wrong;
        }
        wrong.hint("put a name with spaces in quotes; put `+`, `*` or the like between two values")
    }
}
