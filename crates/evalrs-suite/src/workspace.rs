//! What `evalrs.toml` at the root of a workspace says.
//!
//! It turns text into settings and diagnostics, and never looks for the file. Its tables become the same tree
//! as suites, so that fields, suggestions and places work alike.

use strum::{EnumString, VariantNames};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fields::{Field, FieldSet};
use crate::findings::Findings;
use crate::section::{COUNT, FieldShape, Section, section};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::price::Price;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry, YamlNode};
use evalrs_model::spec::SandboxKind;

/// The settings of a workspace. Everything is optional: the command line, the environment and the suite come
/// first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace {
    /// Where outcomes are kept, joined to the folder of `evalrs.toml`.
    pub cache_dir: Option<String>,
    /// A cache that others share.
    pub shared_cache: Option<SharedCacheSettings>,
    /// How many actions may be under way at once, at least 1.
    pub max_concurrent: Option<usize>,
    /// When output has colour.
    pub color: Option<Color>,
    /// The most a run may cost, in US dollars.
    pub max_cost: Option<f64>,
    /// The most requests a run may send.
    pub max_calls: Option<u64>,
    /// The most requests that may be sent in a minute, at least 1.
    pub max_requests_per_minute: Option<u32>,
    /// The most tokens that may be sent and requested in a minute, at least 1.
    pub max_tokens_per_minute: Option<u64>,
    /// How many identical failures end a run, at least 1.
    pub max_identical_failures: Option<u32>,
    /// How many records of runs are kept, at least 1; without it all are.
    pub keep_runs: Option<u32>,
    /// Whether runs add lines to a history beside the committed judgments. Without it, only where such a file is.
    pub keep_history: Option<bool>,
    /// What programs are kept from where neither they nor their suite say.
    pub sandbox: Option<SandboxKind>,
    /// What models cost, by name, in the order of the file. These overrule list prices.
    pub prices: Vec<(String, Price)>,
}

/// A cache that several machines share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedCacheSettings {
    /// Where it is.
    pub url: String,
    /// The writers that are believed.
    pub believe: Vec<String>,
    /// Writer → its public keys.
    pub keys: Vec<(String, Vec<String>)>,
    /// Keys that are not believed any more: `ed25519:…`, or `ed25519:… after 12`.
    pub revoked: Vec<String>,
    /// Whether the place of a log says whose it is.
    pub by_prefix: bool,
    /// As whom this workspace writes.
    pub writer: Option<String>,
    /// The file with the key that it signs with, joined to the folder of `evalrs.toml`.
    pub key_file: Option<String>,
    /// How many seconds its server may be silent.
    pub timeout: Option<u32>,
}

/// When output has colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

const DOLLARS: &str = "a number of US dollars per million tokens, 0 or more";

pub(crate) static WORKSPACE: Section = section!["`evalrs.toml`",
    "cache": FieldShape::Mapping(&CACHE) => "where outcomes are stored";
    "run": FieldShape::Mapping(&RUN) => "how suites are evaluated";
    "history": FieldShape::Mapping(&HISTORY) => "the history of suites";
    "prices": FieldShape::MapOf(&FieldShape::Mapping(&PRICE)) => "model → price, over the list prices";
];

static CACHE: Section = section!["`[cache]`",
    "dir": FieldShape::Text => "the cache folder, from the folder of `evalrs.toml`";
    "remote": FieldShape::Mapping(&REMOTE) => "a cache that several machines share";
];

static REMOTE: Section = section!["`[cache.remote]`",
    "url": FieldShape::Text, required => "where the shared cache is: `s3://`, `gs://`, `az://`, `https://` or `file://`";
    "believe": FieldShape::Texts => "the writers whose outcomes are used";
    "identity": FieldShape::Choice(&["keys", "prefix"]), or "\"keys\"" => "what says who wrote a log: its signature (`keys`), or its place, where only its writer can write there (`prefix`)";
    "keys": FieldShape::MapOf(&FieldShape::Texts) => "writer → its public keys";
    "revoked": FieldShape::Texts => "keys that are not believed any more: `ed25519:…`, or `ed25519:… after 12` for what they signed later";
    "writer": FieldShape::Text => "the name that `cache push` writes as; `EVALRS_CACHE_WRITER` comes first";
    "key_file": FieldShape::Text => "the file with the secret key of the writer, from the folder of `evalrs.toml`; `EVALRS_CACHE_KEY` comes first";
    "timeout": FieldShape::Whole(1, 3600, "a whole number of seconds, 1 to 3600"), or "30" => "how many seconds the server may be silent before evalrs goes on without it";
];

static RUN: Section = section!["`[run]`",
    "max_concurrent": COUNT, or "15" => "actions in flight at once";
    "color": FieldShape::Choice(Color::VARIANTS), or "\"auto\"" => "when output has colour";
    "max_cost": FieldShape::Number(0.0, f64::MAX, "a number of US dollars, 0 or more") => "the most US dollars a run may spend";
    "max_calls": FieldShape::Whole(0, i64::MAX, "a whole number, 0 or more") => "the most calls a run may make";
    "max_requests_per_minute": COUNT => "the most requests to each endpoint in a minute, where the suite sets none";
    "max_tokens_per_minute": FieldShape::Whole(1, i64::MAX, "a whole number of at least 1") => "the most tokens of each endpoint in a minute, where the suite sets none";
    "max_identical_failures": COUNT, or "10" => "identical failures in a row that disable an endpoint for the run";
    "keep_runs": COUNT => "records of runs to keep, of all suites together; if absent, 20 of each suite";
    "sandbox": FieldShape::Choice(SandboxKind::VARIANTS) => "the sandbox of programs, where neither they nor their suite set one";
];

static HISTORY: Section = section!["`[history]`",
    "keep": FieldShape::Truth => "whether runs add a line to `cache/NAME.history.jsonl`; if absent, only where that file is";
];

static PRICE: Section = section!["a price",
    "input": FieldShape::Number(0.0, f64::MAX, DOLLARS), required => "US dollars for a million tokens sent";
    "output": FieldShape::Number(0.0, f64::MAX, DOLLARS), required => "US dollars for a million tokens received";
    "cache_read": FieldShape::Number(0.0, f64::MAX, DOLLARS) => "the same for tokens that are read from the provider's cache; if absent, by the family of the model";
    "cache_write": FieldShape::Number(0.0, f64::MAX, DOLLARS) => "the same for tokens that are written to it";
];

/// Reads the text of the `evalrs.toml` at `path`. What is wrong is left out of the settings.
pub fn read_workspace(path: &str, text: &str) -> (Workspace, Vec<Diagnostic>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let findings = Findings::default();
    let file = findings.add_source(path, text);
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let place = error.span().map(|span| findings.place(SourceSpan::new(file, span)));
            let what = error.message().lines().next().unwrap_or_default();
            let message = format!("invalid TOML: {what}");
            let place = place.unwrap_or_else(|| Place::file(path));
            return (Workspace::default(), vec![Diagnostic::error(place, message)]);
        }
    };
    let entries = table_entries(table.get_ref(), file);
    let workspace = workspace(&entries, &findings);
    (workspace, findings.finish())
}

fn workspace(entries: &[YamlEntry], findings: &Findings) -> Workspace {
    let mut workspace = Workspace::default();
    let fields = FieldSet::new(entries, &WORKSPACE, findings);
    if let Some(cache) = fields.take("cache").and_then(|cache| cache.fields(&CACHE)) {
        workspace.cache_dir = cache.path("dir");
        workspace.shared_cache = cache.take("remote").and_then(shared_cache);
        cache.finish();
    }
    if let Some(run) = fields.take("run").and_then(|run| run.fields(&RUN)) {
        workspace.max_concurrent = run.whole("max_concurrent");
        workspace.color = run.variant("color");
        workspace.max_cost = run.number("max_cost");
        workspace.max_calls = run.whole("max_calls");
        workspace.max_requests_per_minute = run.whole("max_requests_per_minute");
        workspace.max_tokens_per_minute = run.whole("max_tokens_per_minute");
        workspace.max_identical_failures = run.whole("max_identical_failures");
        workspace.keep_runs = run.whole("keep_runs");
        workspace.sandbox = run.variant("sandbox");
        run.finish();
    }
    if let Some(history) = fields.take("history").and_then(|history| history.fields(&HISTORY)) {
        workspace.keep_history = history.truth("keep");
        history.finish();
    }
    if let Some(field) = fields.take("prices") {
        workspace.prices = read_prices(field);
    }
    fields.finish();
    workspace
}

fn shared_cache(field: Field<'_>) -> Option<SharedCacheSettings> {
    let fields = field.fields(&REMOTE)?;
    if fields.take("url").is_none() {
        field.error_at_key(
            "`[cache.remote]` needs `url`",
            "for example `url = \"s3://bucket/evals\"`",
        );
    }
    let keys = fields.take("keys").and_then(Field::entries).unwrap_or_default();
    let settings = SharedCacheSettings {
        url: fields.text("url").unwrap_or_default(),
        believe: fields.texts("believe").unwrap_or_default(),
        keys: keys
            .iter()
            .map(|writer| (writer.key.clone(), writer.texts().unwrap_or_default()))
            .collect(),
        revoked: fields.texts("revoked").unwrap_or_default(),
        by_prefix: fields.text("identity").is_some_and(|identity| identity == "prefix"),
        writer: fields.text("writer"),
        key_file: fields.path("key_file"),
        timeout: fields.whole("timeout"),
    };
    fields.finish();
    (!settings.url.is_empty()).then_some(settings)
}

fn read_prices(field: Field<'_>) -> Vec<(String, Price)> {
    let models = field.entries().unwrap_or_default();
    models.iter().filter_map(|model| Some((model.key.clone(), read_price(*model)?))).collect()
}

fn read_price(model: Field<'_>) -> Option<Price> {
    if let Some((name, part)) = name_cut_at_dots(model.entry) {
        let message = format!("the price of `{}` has no field `{}`", model.key, part.key);
        let hint = format!("put a name with dots in quotes: `[prices.\"{name}\"]`");
        return model.findings.refuse(part.key_span, &message, &hint);
    }
    let fields = model.fields(&PRICE)?;
    let dollars = |name| {
        if fields.take(name).is_none() {
            let message = format!("the price of `{}` needs `{name}`", model.key);
            let place = model.findings.place(model.key_span);
            model.findings.report(Diagnostic::error(place, message).label(DOLLARS), "");
        }
        fields.number(name)
    };
    let input = dollars("input");
    let output = dollars("output");
    let cache_read = fields.number("cache_read");
    let cache_write = fields.number("cache_write");
    fields.finish();
    Some(Price { input: input?, output: output?, cache_read, cache_write })
}

/// The name that was meant, and its second part, where dots without quotes made tables of `gpt-4.1`.
fn name_cut_at_dots(model: &YamlEntry) -> Option<(String, &YamlEntry)> {
    let Yaml::Map(parts) = &model.value.value else { return None };
    let is_rest = |part: &&YamlEntry| {
        matches!(part.value.value, Yaml::Map(_))
            && !["input", "output", "cache_read", "cache_write"].contains(&&*part.key)
    };
    let part = parts.iter().find(is_rest)?;
    let rest = name_cut_at_dots(part).map_or_else(|| part.key.clone(), |(rest, _)| rest);
    Some((format!("{}.{rest}", model.key), part))
}

/// The entries of a table in the order of the file.
fn table_entries(table: &DeTable<'_>, file: u32) -> Vec<YamlEntry> {
    let entry =
        |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| YamlEntry {
            key: key.get_ref().to_string(),
            key_span: SourceSpan::new(file, key.span()),
            value: node(value, file),
        };
    let mut entries: Vec<YamlEntry> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn node(value: &Spanned<DeValue<'_>>, file: u32) -> YamlNode {
    let (kind, style) = match value.get_ref() {
        DeValue::String(text) => (Yaml::Str(text.to_string()), Style::Quoted),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix());
            (value.map_or(Yaml::Float(f64::MAX), Yaml::Int), Style::Plain)
        }
        DeValue::Float(number) => {
            let value: f64 = number.as_str().parse().unwrap_or(f64::NAN);
            (Yaml::Float(value), Style::Plain)
        }
        DeValue::Boolean(value) => (Yaml::Bool(*value), Style::Plain),
        DeValue::Datetime(value) => (Yaml::Str(value.to_string()), Style::Plain),
        DeValue::Array(items) => {
            (Yaml::Seq(items.iter().map(|item| node(item, file)).collect()), Style::Plain)
        }
        DeValue::Table(table) => (Yaml::Map(table_entries(table, file)), Style::Plain),
    };
    YamlNode { span: SourceSpan::new(file, value.span()), style, value: kind }
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
                    ..Workspace::default()
                },
            ),
            (
                "[run]\nmax_requests_per_minute = 60\nmax_tokens_per_minute = 9_000_000_000\nmax_identical_failures = 1\nkeep_runs = 100\nsandbox = \"auto\"\n[history]\nkeep = true",
                Workspace {
                    max_requests_per_minute: Some(60),
                    max_tokens_per_minute: Some(9_000_000_000),
                    max_identical_failures: Some(1),
                    keep_runs: Some(100),
                    keep_history: Some(true),
                    sandbox: Some(SandboxKind::Auto),
                    ..Workspace::default()
                },
            ),
            (
                "[prices.\"gpt-4o-mini\"]\ninput = 0.15\noutput = 0.6\n[prices]\n\"acme/llama-3.1\" = { input = 0, output = 0 }\nclaude-opus-4.output = 75\nclaude-opus-4.input = 15\n",
                Workspace {
                    prices: vec![
                        ("gpt-4o-mini".to_owned(), Price::new(0.15, 0.6)),
                        ("acme/llama-3.1".to_owned(), Price::new(0.0, 0.0)),
                        ("claude-opus-4".to_owned(), Price::new(15.0, 75.0)),
                    ],
                    ..Workspace::default()
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
        insta::assert_snapshot!(check("[run]\nmax_cal = 3\ncolor = \"blue\"\nmax_cost = -1\nsandbox = \"yes\"\n[cash]\n").1, @r##"
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

        error: unknown sandbox `yes`
         --> root/evalrs.toml:5:11
          |
        5 | sandbox = "yes"
          |           ^^^^^ expected `none`, `auto` or `bubblewrap`

        error: `evalrs.toml` has no field `cash`
         --> root/evalrs.toml:6:2
          |
        6 | [cash]
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
        error: invalid TOML: duplicate key
         --> root/evalrs.toml:2:1
          |
        2 | run = 4
          | ^^^
        "##);
        insta::assert_snapshot!(check("run = 3\n[cache\n").1, @r##"
        error: invalid TOML: unclosed table, expected `]`
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
          = help: known fields: `cache`, `run`, `history`, `prices`
        "##);
    }

    #[test]
    fn prices_that_are_none_are_shown_where_they_stand() {
        insta::assert_snapshot!(check("[prices.a]\ninput = -1\noutptu = 2\n[prices.b]\ninput = inf\noutput = \"x\"\n[prices]\nc = 3\n").1, @r##"
        error: the price of `a` needs `output`
         --> root/evalrs.toml:1:9
          |
        1 | [prices.a]
          |         ^ a number of US dollars per million tokens, 0 or more

        error: `input` must be a number of US dollars per million tokens, 0 or more
         --> root/evalrs.toml:2:9
          |
        2 | input = -1
          |         ^^

        error: a price has no field `outptu`
         --> root/evalrs.toml:3:1
          |
        3 | outptu = 2
          | ^^^^^^
          |
          = help: did you mean `output`?

        error: `input` must be a number of US dollars per million tokens, 0 or more
         --> root/evalrs.toml:5:9
          |
        5 | input = inf
          |         ^^^

        error: `output` must be a number, not text
         --> root/evalrs.toml:6:10
          |
        6 | output = "x"
          |          ^^^

        error: `c` must be a mapping, not a number
         --> root/evalrs.toml:8:5
          |
        8 | c = 3
          |     ^
        "##);
        insta::assert_snapshot!(check("[prices.gpt-4.1-mini]\ninput = 1\noutput = 2\n[prices.o]\ninput = {}\noutput = 2\n").1, @r##"
        error: the price of `gpt-4` has no field `1-mini`
         --> root/evalrs.toml:1:15
          |
        1 | [prices.gpt-4.1-mini]
          |               ^^^^^^
          |
          = help: put a name with dots in quotes: `[prices."gpt-4.1-mini"]`

        error: `input` must be a number, not a mapping
         --> root/evalrs.toml:5:9
          |
        5 | input = {}
          |         ^^
        "##);
        insta::assert_snapshot!(check("prices = 3\n[run]\nmax_requests_per_minute = 0\nmax_tokens_per_minute = 0.5\nmax_identical_failures = 4294967296\n").1, @r##"
        error: `prices` must be a mapping, not a number
         --> root/evalrs.toml:1:10
          |
        1 | prices = 3
          |          ^

        error: `max_requests_per_minute` must be a whole number of at least 1
         --> root/evalrs.toml:3:27
          |
        3 | max_requests_per_minute = 0
          |                           ^

        error: `max_tokens_per_minute` must be a whole number of at least 1
         --> root/evalrs.toml:4:25
          |
        4 | max_tokens_per_minute = 0.5
          |                         ^^^

        error: `max_identical_failures` must be a whole number of at least 1
         --> root/evalrs.toml:5:26
          |
        5 | max_identical_failures = 4294967296
          |                          ^^^^^^^^^^
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
