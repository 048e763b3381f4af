//! What a page for people is made of, whoever shows it: headings, paragraphs, lines, tables, and parts that may be folded away.
//!
//! A page knows what its parts are and nothing of how they look: [`terminal`] writes it for a screen of some width, and
//! `markdown` for a comment. Texts that others wrote are [`quoted`]: they can neither move a cursor nor be a link.

pub(crate) mod markdown;
pub mod terminal;

use std::fmt::{self, Display, Formatter};

use evalrs_base::text::{columns, sanitize};

/// What a part of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// Our words and numbers.
    Plain,
    /// What others wrote: a name, a rationale, a command. Code in Markdown.
    Quoted,
    /// What somebody can type: between backticks on a terminal, and code in Markdown.
    Command,
    /// What passed or got better.
    Good,
    /// What failed or got worse.
    Bad,
    /// What is an error or could not be decided.
    Doubtful,
    /// What names what follows it.
    Strong,
    /// What matters least.
    Faint,
}

/// A text on one line, in pieces of one role each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text(Vec<(String, TextRole)>);

impl Text {
    /// The text in a role.
    pub fn of(text: &str, role: TextRole) -> Self {
        Self(Vec::from_iter((!text.is_empty()).then(|| (sanitize(text), role))))
    }

    /// Adds to its end.
    pub fn push(&mut self, more: impl Into<Self>) {
        self.0.extend(more.into().0);
    }

    /// The texts with another between each two of them.
    pub(crate) fn joined(texts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut all = Self::default();
        for (at, text) in texts.into_iter().enumerate() {
            all.push(if at > 0 { between } else { "" });
            all.push(text);
        }
        all
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn columns(&self) -> usize {
        self.0.iter().map(|(text, _)| columns(text)).sum()
    }
}

/// The text without styles.
impl Display for Text {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(text, _)| to.write_str(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::of(text, TextRole::Plain)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// What others wrote.
pub fn quoted(text: &str) -> Text {
    Text::of(text, TextRole::Quoted)
}

pub(crate) fn command(text: &str) -> Text {
    Text::of(&format!("`{text}`"), TextRole::Command)
}

pub(crate) fn good(text: &str) -> Text {
    Text::of(text, TextRole::Good)
}

pub(crate) fn bad(text: &str) -> Text {
    Text::of(text, TextRole::Bad)
}

pub(crate) fn doubtful(text: &str) -> Text {
    Text::of(text, TextRole::Doubtful)
}

pub(crate) fn strong(text: &str) -> Text {
    Text::of(text, TextRole::Strong)
}

pub(crate) fn faint(text: &str) -> Text {
    Text::of(text, TextRole::Faint)
}

/// A text of several: `text!["by ", quoted(name), ": ", count]`.
macro_rules! text {
    ($($part:expr),+ $(,)?) => {{
        let mut text = $crate::page::Text::default();
        $(text.push($part);)+
        text
    }};
}
pub(crate) use text;

/// A page, which grows at its end.
#[derive(Clone, Debug, Default)]
pub struct Page {
    parts: Vec<PagePart>,
}

#[derive(Clone, Debug)]
struct PagePart {
    block: Block,
    /// Whether it belongs to what is above it: no blank line parts them on a terminal.
    is_joined: bool,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// What the page is about.
    Heading(Text),
    /// Sentences.
    Paragraph(Text),
    /// A line with something to copy, which is never broken.
    Unbroken(Text),
    /// Lines that belong together, and how deep each of them stands below another.
    Lines(Vec<(usize, Text)>),
    /// A table.
    Table(Table),
    /// What a comment folds away under its summary.
    Fold(Text, Vec<Block>),
}

impl Page {
    /// Adds what begins a section, unless it is empty.
    pub fn add(&mut self, block: Block) {
        self.push(block, false);
    }

    /// Adds what belongs to the part above, unless it is empty.
    pub fn join(&mut self, block: Block) {
        self.push(block, true);
    }

    fn push(&mut self, block: Block, is_joined: bool) {
        if !block.is_empty() {
            self.parts.push(PagePart { block, is_joined });
        }
    }
}

impl Block {
    /// Lines of one depth.
    pub fn lines(lines: impl IntoIterator<Item = Text>) -> Self {
        Self::Lines(lines.into_iter().map(|line| (0, line)).collect())
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Heading(text) | Self::Paragraph(text) | Self::Unbroken(text) => text.is_empty(),
            Self::Lines(lines) => lines.is_empty(),
            Self::Table(table) => table.rows.is_empty() && table.notes.is_empty(),
            Self::Fold(_, blocks) => blocks.iter().all(Self::is_empty),
        }
    }
}

/// Rows below titles. A table that is too wide for a terminal is folded: neither a row nor a column is left out.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<TableRow>,
    notes: Vec<Text>,
    /// Whether a table that is too wide becomes several, each with the first column and as many others as fit: its columns are
    /// alike. Of others each row becomes lines of `title: value`.
    folds_columns: bool,
}

#[derive(Clone, Debug)]
struct TableRow {
    cells: Vec<Text>,
    /// What stands below it.
    after: Vec<Text>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    title: Text,
    kind: ColumnKind,
    /// The lines that a cell may take on a terminal that cuts.
    most_lines: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    /// Names, which go on in further lines between words only, and may be cut in their middle.
    Names,
    /// Words, which go on in further lines.
    Words,
    /// Numbers, which stand to the right and are never broken.
    Numbers,
}

impl Column {
    fn of(title: impl Into<Text>, kind: ColumnKind) -> Self {
        Self { title: title.into(), kind, most_lines: usize::MAX }
    }

    /// A column of names.
    pub fn names(title: impl Into<Text>) -> Self {
        Self::of(title, ColumnKind::Names)
    }

    /// A column of words.
    pub fn words(title: impl Into<Text>) -> Self {
        Self::of(title, ColumnKind::Words)
    }

    /// A column of numbers.
    pub fn numbers(title: impl Into<Text>) -> Self {
        Self::of(title, ColumnKind::Numbers)
    }

    /// The same, each cell of at most so many lines on a terminal.
    #[must_use]
    pub fn of_lines(self, most_lines: usize) -> Self {
        Self { most_lines, ..self }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// The same, folded by columns.
    #[must_use]
    pub fn folding_columns(self) -> Self {
        Self { folds_columns: true, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Text>) {
        self.rows.push(TableRow { cells: cells.into_iter().collect(), after: Vec::new() });
    }

    /// Adds a line below the last row.
    pub fn below(&mut self, line: Text) {
        if let Some(row) = self.rows.last_mut() {
            row.after.push(line);
        }
    }

    /// Adds a line below the table, unless it is empty.
    pub fn note(&mut self, note: impl Into<Text>) {
        self.extend_notes(Some(note.into()).filter(|note| !note.is_empty()));
    }

    /// Adds a line below the table, if there is one.
    pub(crate) fn extend_notes(&mut self, note: Option<Text>) {
        self.notes.extend(note);
    }

    /// The same without columns that hold nothing.
    #[must_use]
    pub fn without_empty_columns(self) -> Self {
        let is_used = |at: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.cells.get(*at));
            cells.any(|cell| !cell.is_empty())
        };
        let used: Vec<usize> = (0..self.columns.len()).filter(is_used).collect();
        self.with_columns(&used)
    }

    /// The same with these columns alone.
    fn with_columns(&self, places: &[usize]) -> Self {
        let of_row = |row: &TableRow| {
            let cells = places.iter().filter_map(|at| row.cells.get(*at).cloned());
            TableRow { cells: cells.collect(), after: row.after.clone() }
        };
        Self {
            columns: places.iter().filter_map(|at| self.columns.get(*at).cloned()).collect(),
            rows: self.rows.iter().map(of_row).collect(),
            notes: self.notes.clone(),
            folds_columns: self.folds_columns,
        }
    }
}
