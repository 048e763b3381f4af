//! How the fields of a section are declared: what each is called, what it takes, and its purpose.
//!
//! A declaration is all there is to say of a field that does not depend on its neighbours. The readers take names and
//! bounds from it, [`super::schema`] makes the JSON Schema for editors of it, the registry lists it, and the tables
//! of the documents are generated from it.

/// The fields of a mapping, in the order in which messages list them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// What they are fields of, in messages: `a suite`.
    pub owner: &'static str,
    /// The fields. Groups of them are shared by sections.
    pub groups: &'static [&'static [FieldSpec]],
}

impl Section {
    pub(crate) const fn new(owner: &'static str, groups: &'static [&'static [FieldSpec]]) -> Self {
        Self { owner, groups }
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static FieldSpec> {
        self.groups.iter().copied().flatten()
    }
}

/// A field that a section may have.
#[derive(Debug)]
pub(crate) struct FieldSpec {
    pub name: &'static str,
    pub shape: FieldShape,
    /// What it is for, in a few words.
    pub doc: &'static str,
    /// Whether the section is wrong without it.
    pub is_required: bool,
    /// The message where it is missing, and the likely fix; empty where its reader reports that.
    pub missing: [&'static str; 2],
    pub default: Option<&'static str>,
}

impl FieldSpec {
    /// A field that may be left out.
    pub(crate) const fn new(name: &'static str, shape: FieldShape, doc: &'static str) -> Self {
        Self { name, shape, doc, is_required: false, missing: [""; 2], default: None }
    }

    /// The field that distinguishes a section from others of its place: one of these names.
    pub(crate) const fn kind(names: &'static [&'static str], doc: &'static str) -> Self {
        Self::new("kind", FieldShape::Choice(names), doc).required()
    }

    /// The same, which must be there.
    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// The same, with the message where it is missing, and the likely fix.
    pub(crate) const fn needed(self, message: &'static str, hint: &'static str) -> Self {
        Self { is_required: true, missing: [message, hint], ..self }
    }

    /// The same with a default, as JSON.
    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }
}

/// What a field takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldShape {
    /// Text that is not empty.
    Text,
    /// A list of texts; one text is a list of one.
    Texts,
    /// A truth value.
    Truth,
    /// A finite number from one to another, which the words say.
    Number(f64, f64, &'static str),
    /// A whole number from one to another, which the words say.
    Whole(i64, i64, &'static str),
    /// A number of seconds, more than 0.
    Seconds,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A mapping with these fields.
    Mapping(&'static Section),
    /// A mapping with any keys, whose values are all of a shape.
    MapOf(&'static FieldShape),
    /// A list of values of a shape.
    ListOf(&'static FieldShape),
    /// What fits one of several shapes.
    AnyOf(&'static [FieldShape]),
    /// Null, which then means something of its own, or a shape.
    OrNull(&'static FieldShape),
    /// Any value: it is checked elsewhere, or not at all.
    Anything,
}

impl FieldShape {
    /// What it takes beside a null that means something.
    pub(crate) fn but_for_null(self) -> Self {
        match self {
            Self::OrNull(shape) => *shape,
            shape => shape,
        }
    }
}

/// The most seconds that a request or a call may take: a day.
pub(crate) const MAX_SECONDS: f64 = 86_400.0;

/// A number of things, one at least.
pub(crate) const COUNT: FieldShape =
    FieldShape::Whole(1, u32::MAX as i64, "a whole number of at least 1");

/// A share of a whole.
pub(crate) const FRACTION: FieldShape = FieldShape::Number(0.0, 1.0, "between 0 and 1");

/// Any number.
pub(crate) const FINITE: FieldShape = FieldShape::Number(f64::MIN, f64::MAX, "finite");

/// The names in a table of names and what they mean.
pub(crate) const fn names<T, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = table[at].0;
        at += 1;
    }
    names
}

/// Fields, one a line: name, shape, whether it must be there or what it is otherwise, what it is for.
macro_rules! fields {
    ($($name:literal: $shape:expr $(, $mark:ident $($($arg:literal),+)?)? => $doc:literal;)*) => {
        &[$($crate::section::FieldSpec::new($name, $shape, $doc)$(.$mark($($($arg),+)?))?),*]
    };
}
pub(crate) use fields;

/// A section of one group of fields, after what they are fields of.
macro_rules! section {
    ($owner:literal, $($fields:tt)*) => {
        $crate::section::Section::new(
            $owner,
            &[$crate::section::fields![$($fields)*]],
        )
    };
}
pub(crate) use section;
