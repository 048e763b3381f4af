//! Expressions that make one score of the scores of several graders, and conditions on rows.
//!
//! Pure. `0.7*quality + 0.3*policy if policy > 0 else 0`: numbers, names of graders, `+ - * /`, comparisons, `and or
//! not`, a conditional, and a few functions, all with the meaning they have in Python. Conditions have texts, lists, `in`
//! and dotted names besides. Nothing of it can loop or read anything. What a name means is known to others alone.

pub mod condition;
pub mod formula;
mod lexer;
pub mod operand;
mod parse;
pub mod problem;
#[cfg(test)]
mod tests;
mod tree;
mod vocabulary;

pub use condition::RowCondition;
pub use formula::Expression;
pub use operand::Operand;
pub use problem::ExpressionProblem;
