//! The words of documents and of `--help`: none that CONTRIBUTING.md avoids, and at most 16 a sentence on average.
#![expect(clippy::disallowed_methods, reason = "tests read the documents of this repository")]

use std::path::Path;

use clap::CommandFactory;
use evalrs_cli::cli::Cli;
use regex::{Captures, Regex};

const MAX_AVERAGE: usize = 16;

/// Pages that are not rewritten yet, and `--help`. The list only gets shorter: it is to be empty.
const NOT_YET: &[&str] = &["CHANGELOG.md"];

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// What the tables under `## Words` avoid, in the last of three columns or in the first of two, with what to write instead.
/// A phrase after `except` is fine.
fn avoided_phrases() -> Vec<(Regex, String)> {
    let page = read("CONTRIBUTING.md");
    let section = page.split("\n## ").find(|section| section.starts_with("Words\n")).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let either = |cell: &str| cell.split('`').skip(1).step_by(2).collect::<Vec<_>>().join("|");
    let found = rows.filter_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (cell, advice) = if cells.len() == 3 { (cells[2], 0) } else { (cells[0], 1) };
        let (avoided, fine) = cell.split_once("except").unwrap_or((cell, "`-`"));
        let phrases = format!(r"(?i)\b(?:(?<fine>{})|{})\b", either(fine), either(avoided));
        let is_there = cell.contains('`');
        is_there.then(|| (pattern(&phrases.replace(' ', r"\s+")), cells[advice].to_owned()))
    });
    found.collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// A page without its code, comments and addresses, on the same lines.
fn prose(text: &str) -> String {
    let lines = |found: &Captures<'_>| "\n".repeat(found[0].matches('\n').count());
    let code = |found: &Captures<'_>| format!("X{}", lines(found));
    let text = pattern(r"(?ms)\A---$.*?^---$|^ *```.*?^ *```|<!--.*?-->").replace_all(text, lines);
    let text = pattern(r"(?s)``.*?``|`[^`\n]*(?:\n[^`\n]*)?`").replace_all(&text, code);
    pattern(r"\[([^\]]*)\]\([^)]*\)").replace_all(&text, "$1").into_owned()
}

fn hits(place: &str, prose: &str, phrases: &[(Regex, String)]) -> Vec<String> {
    let mut hits = Vec::new();
    for (avoided, advice) in phrases {
        for found in avoided.captures_iter(prose).filter(|found| found.name("fine").is_none()) {
            let found = found.get(0).unwrap();
            let line = prose[..found.start()].matches('\n').count() + 1;
            hits.push(format!("{place}:{line}: `{}`: write {advice}", found.as_str()));
        }
    }
    hits
}

/// How many words and sentences a page has, its headings included and its tables left out.
fn words_and_sentences(prose: &str) -> (usize, usize) {
    let text = pattern(r"(?m)^\s*\|.*$|^\s*(?:[-*]|\d+\.|#+)\s").replace_all(prose, "\n\n");
    let end = pattern(r#"\n\s*\n|[.!?:]\s+(?<next>[\p{Lu}"(*])"#).replace_all(&text, "\0$next");
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let count = |text: &str| text.split_whitespace().filter(is_word).count();
    let sentences: Vec<usize> = end.split('\0').map(count).filter(|words| *words > 1).collect();
    (sentences.iter().sum(), sentences.len())
}

fn add_pages(folder: &Path, root: &Path, pages: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_pages(&path, root, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"));
        }
    }
}

fn add_help(command: &clap::Command, name: &str, texts: &mut Vec<(String, String)>) {
    texts.push((format!("{name} --help"), command.clone().render_long_help().to_string()));
    for below in command.get_subcommands() {
        add_help(below, &format!("{name} {}", below.get_name()), texts);
    }
}

#[test]
fn documents_and_help_avoid_the_words_that_the_glossary_avoids() {
    let phrases = avoided_phrases();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = "README CONTRIBUTING ARCHITECTURE CHANGELOG AGENTS SECURITY tests/spec/README";
    let mut pages: Vec<String> = top.split(' ').map(|name| format!("{name}.md")).collect();
    for folder in ["docs", "examples", "cache", "src/commands/init", ".github"] {
        add_pages(&root.join(folder), root, &mut pages);
    }
    let mut texts = Vec::new();
    add_help(&Cli::command(), "evalrs", &mut texts);
    let help = texts.iter().flat_map(|(place, text)| hits(place, &prose(text), &phrases));
    let mut checked = vec![("--help".to_owned(), help.collect())];
    for page in pages {
        let prose = prose(&read(&page));
        let mut problems = hits(&page, &prose, &phrases);
        let (words, sentences) = words_and_sentences(&prose);
        if words > sentences * MAX_AVERAGE {
            problems.push(format!("{page}: {words} words in {sentences} sentences"));
        }
        checked.push((page, problems));
    }
    let mut found = Vec::new();
    for (page, problems) in checked {
        let is_listed = NOT_YET.contains(&page.as_str());
        if is_listed && problems.is_empty() {
            found.push(format!("{page}: take it out of NOT_YET"));
        } else if !is_listed {
            found.extend(problems);
        }
    }
    assert!(phrases.len() > 9 && found.is_empty(), "\n{}", found.join("\n"));
}
