//! A JSON value that knows its place.
//!
//! The readers walk recorded messages with it, so that whatever is not as expected can be named by its
//! JSON Pointer (RFC 6901). A place is a chain of borrowed steps and becomes text only when there is a
//! problem: recorded trajectories are large and nearly always right.

use serde_json::{Map, Value};

use super::{ReadResult, TrajectoryProblem};

/// A value inside a recorded trajectory. An absent member is a null that says so in problems.
#[derive(Clone, Copy, Debug)]
pub struct RecordedNode<'p, 'v> {
    value: Option<&'v Value>,
    parent: Option<&'p RecordedNode<'p, 'v>>,
    step: PointerStep<'p>,
}

#[derive(Clone, Copy, Debug)]
enum PointerStep<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

static NULL: Value = Value::Null;

impl<'p, 'v> RecordedNode<'p, 'v> {
    /// The outermost value.
    pub fn root(value: &'v Value) -> Self {
        Self { value: Some(value), parent: None, step: PointerStep::Root }
    }

    /// The value itself, null if it is absent.
    pub fn value(&self) -> &'v Value {
        self.value.unwrap_or(&NULL)
    }

    /// The member `key`; absent too if this is not an object.
    pub fn get<'q>(&'q self, key: &'q str) -> RecordedNode<'q, 'v>
    where
        'p: 'q,
    {
        RecordedNode {
            value: self.value().get(key),
            parent: Some(self),
            step: PointerStep::Key(key),
        }
    }

    /// Whether it is absent or null.
    pub(super) fn is_nothing(&self) -> bool {
        self.value().is_null()
    }

    /// The items of an array.
    pub fn items<'q>(
        &'q self,
        expected: &'static str,
    ) -> ReadResult<impl Iterator<Item = RecordedNode<'q, 'v>>>
    where
        'p: 'q,
    {
        let items = self.value().as_array().ok_or_else(|| self.problem(expected))?;
        Ok(items.iter().enumerate().map(move |(index, item)| RecordedNode {
            value: Some(item),
            parent: Some(self),
            step: PointerStep::Index(index),
        }))
    }

    /// The object it must be.
    pub fn object(&self, expected: &'static str) -> ReadResult<&'v Map<String, Value>> {
        self.value().as_object().ok_or_else(|| self.problem(expected))
    }

    /// The string it must be.
    pub fn text(&self, expected: &'static str) -> ReadResult<&'v str> {
        self.value().as_str().ok_or_else(|| self.problem(expected))
    }

    /// The string it is, if it is one.
    pub fn as_str(&self) -> Option<&'v str> {
        self.value().as_str()
    }

    /// The string it is, owned, if it is one.
    pub fn to_text(self) -> Option<String> {
        self.as_str().map(str::to_owned)
    }

    /// Whether it says `true`.
    pub(super) fn is_true(self) -> bool {
        self.value() == &Value::Bool(true)
    }

    /// What is wrong here: something else was expected.
    pub fn problem(&self, expected: &'static str) -> TrajectoryProblem {
        let found = match self.value {
            None => "nothing",
            Some(Value::Null) => "null",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Number(_)) => "a number",
            Some(Value::String(_)) => "a string",
            Some(Value::Array(_)) => "an array",
            Some(Value::Object(_)) => "an object",
        };
        TrajectoryProblem { pointer: self.pointer(), expected, found }
    }

    fn pointer(&self) -> String {
        let parent = self.parent.map(RecordedNode::pointer).unwrap_or_default();
        match self.step {
            PointerStep::Root => parent,
            PointerStep::Key(key) => format!("{parent}/{key}"),
            PointerStep::Index(index) => format!("{parent}/{index}"),
        }
    }
}
