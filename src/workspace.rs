//! What `evalrs.toml` at the root of a workspace says.
//!
//! It turns text into settings and diagnostics, and never looks for the file. Its tables become the same tree
//! as suites, so that fields, suggestions and places work alike.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Place};
use crate::suite::fields::{Fields, Findings};
use crate::suite::source::Span;
use crate::suite::tree::{Entry, Kind, Node, Style};

/// The settings of a workspace. Everything is optional: the command line, the environment and the suite come
/// first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace {
    /// Where outcomes are kept, joined to the folder of `evalrs.toml`.
    pub cache_dir: Option<String>,
    /// How many actions may be under way at once, at least 1.
    pub max_concurrent: Option<usize>,
    /// When output has colour.
    pub color: Option<Color>,
    /// The most a run may cost, in US dollars.
    pub max_cost: Option<f64>,
    /// The most requests a run may send.
    pub max_calls: Option<u64>,
}

/// When output has colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Reads the text of the `evalrs.toml` at `path`. What is wrong is left out of the settings.
pub fn read_workspace(path: &str, text: &str) -> (Workspace, Vec<Diagnostic>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut findings = Findings::default();
    let file = findings.sources.add(path, text);
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let place = error.span().map(|span| findings.sources.place(Span::new(file, span)));
            let message = format!("this is no TOML: {}", first_line(error.message()));
            let place = place.unwrap_or_else(|| Place::file(path));
            return (Workspace::default(), vec![Diagnostic::error(place, message)]);
        }
    };
    let entries = table_entries(table.get_ref(), file);
    let workspace = workspace(&entries, &mut findings);
    (workspace, findings.finish())
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

fn workspace(entries: &[Entry], findings: &mut Findings) -> Workspace {
    let mut workspace = Workspace::default();
    let mut fields = Fields::new(entries);
    if let Some(field) = fields.take("cache")
        && let Some(mut cache) = findings.fields(field)
    {
        workspace.cache_dir = cache.take("dir").and_then(|dir| {
            let path = findings.text(dir)?;
            Some(findings.sources.join(dir.value.span.file, &path))
        });
        cache.finish("`[cache]`", findings);
    }
    if let Some(field) = fields.take("run")
        && let Some(run) = findings.fields(field)
    {
        read_run(run, &mut workspace, findings);
    }
    fields.finish("`evalrs.toml`", findings);
    workspace
}

fn read_run(mut run: Fields<'_>, workspace: &mut Workspace, findings: &mut Findings) {
    const COLORS: [(&str, Color); 3] =
        [("auto", Color::Auto), ("always", Color::Always), ("never", Color::Never)];
    workspace.max_concurrent = run
        .take("max_concurrent")
        .and_then(|field| {
            findings.whole(field, 1..=i64::from(u32::MAX), "a whole number of at least 1")
        })
        .and_then(|value| usize::try_from(value).ok());
    workspace.color = run.take("color").and_then(|field| findings.choice(field, &COLORS));
    workspace.max_cost = run.take("max_cost").and_then(|field| {
        findings.number(field, 0.0..=f64::MAX, "a number of US dollars, 0 or more")
    });
    workspace.max_calls = run
        .take("max_calls")
        .and_then(|field| findings.whole(field, 0..=i64::MAX, "a whole number, 0 or more"))
        .and_then(|value| u64::try_from(value).ok());
    run.finish("`[run]`", findings);
}

/// The entries of a table in the order of the file.
fn table_entries(table: &DeTable<'_>, file: u32) -> Vec<Entry> {
    let entry =
        |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Entry {
            key: key.get_ref().to_string(),
            key_span: Span::new(file, key.span()),
            value: node(value, file),
        };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn node(value: &Spanned<DeValue<'_>>, file: u32) -> Node {
    let (kind, style) = match value.get_ref() {
        DeValue::String(text) => (Kind::Str(text.to_string()), Style::Quoted),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix());
            (value.map_or(Kind::Float(f64::MAX), Kind::Int), Style::Plain)
        }
        DeValue::Float(number) => {
            let value: f64 = number.as_str().parse().unwrap_or(f64::NAN);
            (Kind::Float(value), Style::Plain)
        }
        DeValue::Boolean(value) => (Kind::Bool(*value), Style::Plain),
        DeValue::Datetime(value) => (Kind::Str(value.to_string()), Style::Plain),
        DeValue::Array(items) => {
            (Kind::Seq(items.iter().map(|item| node(item, file)).collect()), Style::Plain)
        }
        DeValue::Table(table) => (Kind::Map(table_entries(table, file)), Style::Plain),
    };
    Node { span: Span::new(file, value.span()), style, value: kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Workspace, String) {
        let (workspace, diagnostics) = read_workspace("root/evalrs.toml", text);
        let rendered: Vec<String> =
            diagnostics.iter().map(|diagnostic| diagnostic.render(false)).collect();
        (workspace, rendered.join("\n\n"))
    }

    #[test]
    fn settings_are_read() {
        for (text, expected) in [
            ("", Workspace::default()),
            ("# nothing\n[cache]\n[run]\n", Workspace::default()),
            (
                "\u{feff}[cache]\ndir = \"outcomes\"\n[run]\nmax_concurrent = 4\ncolor = \"never\"\nmax_cost = 2.5\nmax_calls = 1_000\n",
                Workspace {
                    cache_dir: Some("root/outcomes".to_owned()),
                    max_concurrent: Some(4),
                    color: Some(Color::Never),
                    max_cost: Some(2.5),
                    max_calls: Some(1000),
                },
            ),
            (
                "run.max_cost = 3\ncache.dir = '/abs'\nrun.max_calls = 0x10",
                Workspace {
                    cache_dir: Some("/abs".to_owned()),
                    max_cost: Some(3.0),
                    max_calls: Some(16),
                    ..Workspace::default()
                },
            ),
        ] {
            assert_eq!(check(text), (expected, String::new()), "{text}");
        }
    }

    #[test]
    fn problems_are_shown_where_they_stand() {
        insta::assert_snapshot!(check("[run]\nmax_cal = 3\ncolor = \"blue\"\nmax_cost = -1\n[cash]\n").1, @r##"
        error: `[run]` has no field `max_cal`
         --> root/evalrs.toml:2:1
          |
        2 | max_cal = 3
          | ^^^^^^^
          |
          = help: did you mean `max_calls`?

        error: unknown color `blue`
         --> root/evalrs.toml:3:9
          |
        3 | color = "blue"
          |         ^^^^^^ expected `auto`, `always` or `never`

        error: `max_cost` must be a number of US dollars, 0 or more
         --> root/evalrs.toml:4:12
          |
        4 | max_cost = -1
          |            ^^

        error: `evalrs.toml` has no field `cash`
         --> root/evalrs.toml:5:2
          |
        5 | [cash]
          |  ^^^^
          |
          = help: did you mean `cache`?
        "##);
        insta::assert_snapshot!(check("[run]\nmax_calls = 1.5\nmax_concurrent = 0\nmax_cost = nan\n[cache]\ndir = 5\n").1, @r##"
        error: `max_calls` must be a whole number, 0 or more
         --> root/evalrs.toml:2:13
          |
        2 | max_calls = 1.5
          |             ^^^

        error: `max_concurrent` must be a whole number of at least 1
         --> root/evalrs.toml:3:18
          |
        3 | max_concurrent = 0
          |                  ^

        error: `max_cost` must be a number of US dollars, 0 or more
         --> root/evalrs.toml:4:12
          |
        4 | max_cost = nan
          |            ^^^

        error: `dir` must be text, not a number
         --> root/evalrs.toml:6:7
          |
        6 | dir = 5
          |       ^
          |
          = help: put the value in quotes
        "##);
    }

    #[test]
    fn text_that_is_no_toml_or_has_other_sections_is_refused() {
        insta::assert_snapshot!(check("run = 3\nrun = 4\n").1, @r##"
        error: this is no TOML: duplicate key
         --> root/evalrs.toml:2:1
          |
        2 | run = 4
          | ^^^
        "##);
        insta::assert_snapshot!(check("run = 3\n[cache\n").1, @r##"
        error: this is no TOML: unclosed table, expected `]`
         --> root/evalrs.toml:2:7
          |
        2 | [cache
          |       ^
        "##);
        insta::assert_snapshot!(check("run = 3\napi_key = \"my-very-secret\"\n").1, @r##"
        error: `run` must be a mapping, not a number
         --> root/evalrs.toml:1:7
          |
        1 | run = 3
          |       ^

        error: `evalrs.toml` has no field `api_key`
         --> root/evalrs.toml:2:1
          |
        2 | api_key = "**************"
          | ^^^^^^^
          |
          = help: known fields: `cache`, `run`
        "##);
    }

    #[test]
    fn settings_that_are_right_survive_others_that_are_wrong() {
        let (workspace, said) = check("[run]\nmax_calls = 5\nmax_cost = \"x y\"\n");
        assert_eq!(workspace.max_calls, Some(5));
        assert_eq!(workspace.max_cost, None);
        assert!(said.contains("`max_cost` must be a number, not text"), "{said}");
    }
}
