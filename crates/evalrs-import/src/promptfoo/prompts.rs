//! Prompts: written in the configuration or in files, one or several each.

use serde_json::Value;

use super::config_reader::{ConfigReader, text};
use super::files::{ending, is_javascript, path_and_function};
use evalrs_base::yaml::tree::{Yaml, YamlNode};

/// A prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PromptSpec {
    /// Its template; none where a program makes it or it cannot be read.
    pub raw: Option<String>,
    /// By which names providers may choose it.
    pub names: Vec<String>,
}

impl ConfigReader<'_> {
    /// The prompts of the configuration.
    pub(super) fn prompts(&mut self, node: Option<&YamlNode>) -> Vec<PromptSpec> {
        let Some(node) = node else { return Vec::new() };
        match &node.value {
            Yaml::Seq(items) => items.iter().flat_map(|item| self.prompt(item)).collect(),
            Yaml::Map(entries) if node.get("raw").is_none() && node.get("id").is_none() => {
                let named =
                    entries.iter().map(|entry| (entry.key.clone(), text(Some(&entry.value))));
                let named: Vec<_> = named.collect();
                named
                    .into_iter()
                    .flat_map(|(path, label)| self.of_text(&path, label, node))
                    .collect()
            }
            _ => self.prompt(node),
        }
    }

    fn prompt(&mut self, node: &YamlNode) -> Vec<PromptSpec> {
        let label = text(node.get("label")).or_else(|| text(node.get("display")));
        let id = text(node.get("id"));
        match &node.value {
            Yaml::Str(written) => self.of_text(written, None, node),
            Yaml::Map(_) => match text(node.get("raw")).or_else(|| id.clone()) {
                Some(written) => {
                    let mut prompts = self.of_text(&written, label, node);
                    for prompt in &mut prompts {
                        prompt.names.extend(id.clone());
                    }
                    prompts
                }
                None => vec![prompt_of(node.to_json().to_string(), label, &[])],
            },
            Yaml::Null => Vec::new(),
            _ => {
                self.leave_out(
                    "prompts",
                    node,
                    "a prompt",
                    format!("it is {}, not text", node.noun()),
                );
                Vec::new()
            }
        }
    }

    /// The prompts that a text is, or that the file which it names holds.
    fn of_text(
        &mut self,
        written: &str,
        label: Option<String>,
        node: &YamlNode,
    ) -> Vec<PromptSpec> {
        let services = ["portkey://", "langfuse://", "helicone://"];
        if let Some(service) = services.iter().find(|service| written.starts_with(**service)) {
            self.leave_out(
                "prompts",
                node,
                format!("`{written}`"),
                format!("{service} is a service; nothing is fetched over the network"),
            );
            return vec![unreadable(written, label)];
        }
        let (path, _) = path_and_function(written.strip_prefix("file://").unwrap_or(written));
        let is_program =
            is_javascript(&path) || ending(&path) == "py" || written.starts_with("exec:");
        let is_path = written.starts_with("file://") || !written.contains(['\n', '{', ' ']);
        if is_path && is_program {
            self.leave_out(
                "prompts",
                node,
                format!("`{written}`"),
                "a program makes it; record what it makes, or its outputs",
            );
            return vec![unreadable(written, label)];
        }
        let files = if is_path { self.files.matching(written) } else { Vec::new() };
        if files.is_empty() {
            if written.starts_with("file://") {
                let why = self.files.why_none(written);
                self.leave_out("prompts", node, format!("`{written}`"), why);
                return vec![unreadable(written, label)];
            }
            self.imported.count("prompts");
            return vec![prompt_of(written.to_owned(), label, &[])];
        }
        let mut prompts = Vec::new();
        for path in files {
            match self.prompt_file(&path, label.as_ref()) {
                Ok(read) => {
                    self.imported.count("prompts");
                    prompts.extend(read);
                }
                Err(why) => {
                    self.leave_out("prompts", node, format!("`{path}`"), why);
                    prompts.push(unreadable(&path, label.clone()));
                }
            }
        }
        for prompt in &mut prompts {
            prompt.names.push(written.to_owned());
        }
        prompts
    }

    fn prompt_file(
        &mut self,
        path: &str,
        label: Option<&String>,
    ) -> Result<Vec<PromptSpec>, String> {
        let text = self.files.text(path)?;
        let named = |raw: String| prompt_of(raw, label.cloned(), &[path]);
        match ending(path).as_str() {
            "txt" => Ok(parts(&text).into_iter().map(named).collect()),
            "md" | "j2" | "" => Ok(vec![named(text)]),
            "json" => {
                let parsed = serde_json::from_str::<Value>(&text);
                Ok(vec![named(parsed.map_or(text, |value| value.to_string()))])
            }
            "yaml" | "yml" => Ok(vec![named(self.files.tree(path)?.to_json().to_string())]),
            "jsonl" => Ok(text
                .lines()
                .filter(|line| !line.is_empty())
                .map(|line| named(line.to_owned()))
                .collect()),
            "csv" => table(&text, label),
            ending => Err(format!("files of the kind `.{ending}` are not read")),
        }
    }
}

/// The parts of a text file between lines of `---`.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![Vec::new()];
    for line in text.lines() {
        match (line.trim(), parts.last_mut()) {
            ("---", _) => parts.push(Vec::new()),
            (_, Some(part)) => part.push(line),
            _ => {}
        }
    }
    let joined = parts.iter().map(|lines| lines.join("\n").trim().to_owned());
    joined.filter(|part| !part.is_empty()).collect()
}

/// A prompt a row of a table: its column `prompt`, or each line where there is one column.
fn table(text: &str, label: Option<&String>) -> Result<Vec<PromptSpec>, String> {
    if !text.contains(',') {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let has_header =
            lines.first().is_some_and(|line| line.trim().eq_ignore_ascii_case("prompt"));
        let lines = lines.into_iter().skip(usize::from(has_header));
        return Ok(lines.map(|line| prompt_of(line.to_owned(), label.cloned(), &[])).collect());
    }
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| error.to_string())?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let prompt = column("prompt").ok_or("it has no column `prompt`")?;
    let labels = column("label");
    let mut prompts = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let Some(raw) = record.get(prompt).filter(|raw| !raw.is_empty()) else { continue };
        let own = labels.and_then(|at| record.get(at)).filter(|label| !label.is_empty());
        prompts.push(prompt_of(
            raw.to_owned(),
            own.map(str::to_owned).or_else(|| label.cloned()),
            &[],
        ));
    }
    Ok(prompts)
}

fn prompt_of(raw: String, label: Option<String>, names: &[&str]) -> PromptSpec {
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.extend(label);
    names.push(raw.clone());
    PromptSpec { raw: Some(raw), names }
}

fn unreadable(written: &str, label: Option<String>) -> PromptSpec {
    PromptSpec { raw: None, names: label.into_iter().chain([written.to_owned()]).collect() }
}
