//! Writes the parts of documents that follow from declarations: tables of keys, graders and extractors, the index of keys,
//! the reference of the command line, and `schema.json` for editors.
//!
//! `UPDATE_DOCS=1 cargo test --test it -- docs::generated` (`just docs`) writes them; without the variable the test fails
//! where a part is stale. A part is between `<!-- NAME: WORDS -->` and `<!-- end -->`. `<!-- fields: SECTION KEY… -->` is a
//! table of those keys of a section, or of all; sections have the names of `evalrs schemas suite`, `rollup` and `workspace`.

mod commands;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use evalrs_eval::dataset::fields::FIELDS;
use evalrs_eval::grade::GRADERS;
use evalrs_eval::judge::provider::infos;
use evalrs_suite::registry::{RegistryEntry, extractors, graders};
use evalrs_suite::schema::{rollup_schema, suite_schema, workspace_schema};
use regex::{Captures, Regex};
use serde_json::Value;

use super::{documents, read};
use shapes::{compact, default_of, meaning, takes};

/// Its name, its words, and what it says.
const PART: &str = r"(?s)<!-- (fields|row|graders|extractors|providers|keys|commands|values)(?:: ([^>]*?))? -->\n.*?<!-- end -->";

/// A Markdown table. A bar in a cell is no border, and an address is a link.
fn table(head: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let address = Regex::new(r"(^|[ (])(https?://[^\s)>,;`]+)").unwrap();
    let line = |cells: Vec<String>| {
        let cells = cells.join(" | ").replace('\n', " ");
        format!("| {} |\n", address.replace_all(&cells, "$1<$2>").replace(" |  |", " | |"))
    };
    let border = "|---".repeat(head.split('|').count());
    let rows: String = rows.into_iter().map(line).collect();
    format!("| {head} |\n{border}|\n{rows}")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn quoted(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names = names.into_iter().map(|name| format!("`{}`", name.as_ref()));
    names.collect::<Vec<_>>().join(", ")
}

/// Where a part is: its page, and the heading above it.
#[derive(Clone)]
struct PartPlace {
    page: String,
    heading: String,
}

impl PartPlace {
    fn new(page: &str, before: &str) -> Self {
        let heading = before.lines().rev().find(|line| line.starts_with('#')).unwrap_or_default();
        let heading = heading.trim_start_matches('#').trim().to_owned();
        Self { page: page.to_owned(), heading }
    }

    /// A link to it from another page of its folder.
    fn link(&self, from: &str, text: &str) -> String {
        let page = if from == self.page { "" } else { self.page.rsplit('/').next().unwrap() };
        let anchor = self.heading.to_lowercase().replace(' ', "-");
        let anchor = anchor.replace(|c: char| !c.is_alphanumeric() && c != '-' && c != '_', "");
        format!("[{text}]({page}#{anchor})")
    }
}

struct DocumentedKey {
    name: String,
    place: PartPlace,
    meaning: String,
}

/// Everything that is declared, and where pages have it.
struct Reference {
    /// Section → its JSON Schema.
    sections: BTreeMap<String, Value>,
    /// Section → the table with its first key.
    places: BTreeMap<String, PartPlace>,
    keys: Vec<DocumentedKey>,
}

fn sections() -> BTreeMap<String, Value> {
    let suite = suite_schema();
    let mut whole = suite["else"].clone();
    whole["properties"]["extends"] = suite["then"]["properties"]["extends"].clone();
    let mut sections = BTreeMap::from([("suite".to_owned(), whole)]);
    let others = [("rollup/", rollup_schema()), ("evalrs.toml/", workspace_schema())];
    for (file, schema) in [("", suite)].into_iter().chain(others) {
        for (name, section) in schema["$defs"].as_object().unwrap() {
            if !name.starts_with("partial_") {
                sections.insert(format!("{file}{name}"), section.clone());
            }
        }
        sections.entry(file.trim_end_matches('/').to_owned()).or_insert(schema);
    }
    sections.remove("");
    sections
}

/// The keys of a schema that `named` has, or all, each with its own schema.
fn keys(schema: &Value, named: &[&str]) -> Vec<(String, Value)> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let all = || properties.keys().map(String::as_str).collect();
    let shown: Vec<&str> = if named.is_empty() { all() } else { named.to_vec() };
    let key = |name: &str| {
        let mut key = properties.get(name).unwrap_or_else(|| panic!("no key `{name}`")).clone();
        let required = schema["required"].as_array().into_iter().flatten();
        key["is_required"] = required.into_iter().any(|other| other == name).into();
        (name.to_owned(), key)
    };
    shown.into_iter().map(key).collect()
}

impl Reference {
    fn new() -> Self {
        let mut reference =
            Self { sections: sections(), places: BTreeMap::new(), keys: Vec::new() };
        let part = Regex::new(PART).unwrap();
        for page in documents() {
            let text = read(&page);
            for found in part.captures_iter(&text) {
                let place = PartPlace::new(&page, &text[..found.get(0).unwrap().start()]);
                let words: Vec<&str> =
                    found.get(2).map_or("", |words| words.as_str()).split(' ').collect();
                let mut names: Vec<(String, String)> = reference.named(&found[1], &words);
                names.dedup();
                let key = |(name, meaning)| DocumentedKey { name, place: place.clone(), meaning };
                reference.keys.extend(names.into_iter().map(key));
                let name = if &found[1] == "row" { "sample" } else { words[0] };
                let Some(section) = reference.sections.get(name) else { continue };
                let first = section["properties"].as_object().unwrap().keys().next().unwrap();
                if words.len() == 1 || words[1] == first {
                    reference.places.insert(name.to_owned(), place);
                }
            }
        }
        reference.keys.sort_by(|a, b| (&a.name, &a.place.page).cmp(&(&b.name, &b.place.page)));
        reference
    }

    /// The keys that a part has, with what they mean.
    fn named(&self, kind: &str, words: &[&str]) -> Vec<(String, String)> {
        let meanings = |keys: Vec<(String, Value)>| {
            keys.into_iter().map(|(name, key)| (name, meaning(&key))).collect()
        };
        match kind {
            "fields" => meanings(keys(&self.sections[words[0]], &words[1..])),
            "row" => meanings(keys(&self.sections["sample"], &[])),
            "graders" | "extractors" => entries(kind, words)
                .iter()
                .flat_map(|entry| meanings(keys(&entry.options, &[])))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn part(&self, page: &str, found: &Captures<'_>) -> String {
        let words: Vec<&str> = found.get(2).map_or("", |words| words.as_str()).split(' ').collect();
        let head = found[0].lines().next().unwrap();
        let body = match &found[1] {
            "fields" => self.field_table(page, &words),
            "row" => self.row_table(),
            kind @ ("graders" | "extractors") => entry_tables(kind, &entries(kind, &words)),
            "providers" => provider_table(),
            "keys" => self.key_tables(page),
            "values" => commands::values(words[0], words[1]),
            _ => commands::reference(),
        };
        format!("{head}\n\n{body}\n<!-- end -->")
    }

    /// A table for each letter, so that a search leads to it.
    fn key_tables(&self, page: &str) -> String {
        let row = |key: &DocumentedKey| {
            let link = key.place.link(page, &key.place.heading);
            vec![format!("`{}`", key.name), link, cell(&key.meaning)]
        };
        let letters = self.keys.chunk_by(|a, b| a.name.chars().next() == b.name.chars().next());
        let tables = letters.map(|keys| {
            let letter = &keys[0].name[..1];
            format!("## {letter}\n\n{}", table("key | page | meaning", keys.iter().map(row)))
        });
        tables.collect::<Vec<_>>().join("\n")
    }

    fn field_table(&self, page: &str, words: &[&str]) -> String {
        let section = words[0];
        let file = match section.split_once('/') {
            Some((file, _)) => format!("{file}/"),
            None if self.sections.contains_key(&format!("{section}/run"))
                || section == "rollup" =>
            {
                format!("{section}/")
            }
            None => String::new(),
        };
        let linked = |name: &str| {
            let own = self.places.get(&format!("{file}{name}"));
            let place = own.or_else(|| self.places.get(name))?;
            Some(place.link(page, place.heading.trim_start_matches("Keys of ")))
        };
        let rows = keys(&self.sections[section], &words[1..]).into_iter().map(|(name, key)| {
            vec![
                format!("`{name}`"),
                cell(&takes(&key, &linked)),
                default_of(&key),
                cell(&meaning(&key)),
            ]
        });
        table("key | takes | default | meaning", rows)
    }

    fn row_table(&self) -> String {
        let fields = keys(&self.sections["sample"], &[]).into_iter();
        let rows = fields.filter(|(name, _)| name != "outputs").map(|(name, key)| {
            let aliases =
                FIELDS.iter().find(|(ours, _)| *ours == name).map_or(&[][..], |found| found.1);
            vec![format!("`{name}`"), cell(&meaning(&key)), quoted(aliases)]
        });
        table("field | meaning | also read as", rows)
    }
}

/// The graders or extractors that the words name, or all of them.
fn entries(kind: &str, words: &[&str]) -> Vec<RegistryEntry> {
    let mut all = if kind == "graders" { graders() } else { extractors() };
    let place = |entry: &RegistryEntry| words.iter().position(|word| *word == entry.id);
    if words != [""] {
        all.retain(|entry| place(entry).is_some());
        all.sort_by_key(place);
        assert_eq!(all.len(), words.len(), "{words:?}");
    }
    all
}

/// A table of graders or extractors, and one of their options. An option that several have alike is one.
fn entry_tables(kind: &str, entries: &[RegistryEntry]) -> String {
    let mut options: Vec<((String, Value), Vec<&str>)> = Vec::new();
    for entry in entries {
        for key in keys(&entry.options, &[]) {
            match options.iter_mut().find(|(known, _)| *known == key) {
                Some((_, owners)) => owners.push(entry.id),
                None => options.push((key, vec![entry.id])),
            }
        }
    }
    let rows = entries.iter().map(|entry| {
        let aliases =
            GRADERS.iter().find(|info| info.id == entry.id).map_or(&[][..], |info| info.aliases);
        let also = if aliases.is_empty() {
            String::new()
        } else {
            format!(" Also called {}.", quoted(aliases))
        };
        let score = entry.scoring.replace("1.0 if it holds, 0.0 otherwise", "pass or fail");
        let score = (kind == "graders").then(|| cell(&score));
        let name = [format!("`{}`", entry.id), cell(entry.description) + &also];
        name.into_iter().chain(score).chain([quoted(entry.option_names())]).collect()
    });
    let head = if kind == "graders" {
        "grader | meaning | score | options"
    } else {
        "extractor | meaning | options"
    };
    let of_options = options.iter().map(|((name, key), owners)| {
        let takes = cell(&takes(key, &|_| None));
        vec![format!("`{name}`"), quoted(owners), takes, default_of(key), cell(&meaning(key))]
    });
    format!(
        "{}\n{}",
        table(head, rows),
        table("option | of | takes | default | meaning", of_options)
    )
}

fn provider_table() -> String {
    let rows = infos().map(|info| {
        let url = format!("`{}`, or `{}`", info.base_url, info.base_url_variable);
        let keys = quoted(info.key_variables).replace(", ", ", else ");
        vec![
            format!("`{}`", info.id),
            cell(info.description),
            url,
            keys,
            format!("`{}`", info.headers_variable),
        ]
    });
    table("provider | API | base URL | API key | more headers", rows)
}

/// Declared keys that no page has.
fn missing_keys(reference: &Reference) -> Vec<String> {
    let keys_of_pages = reference.keys.iter().map(|key| (key.name.as_str(), key.meaning.as_str()));
    let listed: BTreeSet<(&str, &str)> = keys_of_pages.collect();
    let tools = entries("graders", &[""]).into_iter().filter(|entry| entry.kind == "tool");
    let options = tools.chain(extractors()).map(|entry| (entry.id.to_owned(), entry.options));
    let mut missing = Vec::new();
    for (section, schema) in reference.sections.clone().into_iter().chain(options) {
        for (name, key) in keys(&schema, &[]) {
            if !listed.contains(&(name.as_str(), meaning(&key).as_str())) {
                missing.push(format!("{section}: {name}"));
            }
        }
    }
    missing
}

#[test]
fn no_part_is_stale() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let reference = Reference::new();
    let missing = missing_keys(&reference);
    assert_eq!(missing, Vec::<String>::new(), "put it into a part `<!-- fields: SECTION KEY… -->`");
    let part = Regex::new(PART).unwrap();
    let page = |name: String| {
        let new = |found: &Captures<'_>| reference.part(&name, found);
        let text = part.replace_all(&read(&name), new).into_owned();
        (name, text)
    };
    let schema = compact(&suite_schema(), 0) + "\n";
    assert_eq!(serde_json::from_str::<Value>(&schema).unwrap(), suite_schema());
    let mut stale = Vec::new();
    let pages = documents().into_iter().map(page);
    for (name, text) in pages.chain([("schema.json".to_owned(), schema)]) {
        if std::fs::read_to_string(root.join(&name)).ok().as_ref() != Some(&text) {
            match std::env::var_os("UPDATE_DOCS") {
                Some(_) => std::fs::write(root.join(&name), text).unwrap(),
                None => stale.push(name),
            }
        }
    }
    assert_eq!(stale, Vec::<String>::new(), "run `just docs`");
}
