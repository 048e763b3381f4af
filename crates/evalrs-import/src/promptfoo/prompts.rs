//! Prompts: written in the configuration or in files, one or several each.

use serde_json::Value;

use super::config_reader::{ConfigReader, text};
use super::files::{ending, is_javascript, path_and_function};
use evalrs_base::yaml::tree::{Yaml, YamlNode};

/// The template of a prompt; none where a program makes it or it cannot be read.
pub(super) type PromptTemplate = Option<String>;

impl ConfigReader<'_> {
    pub(super) fn prompts(&mut self, node: Option<&YamlNode>) -> Vec<PromptTemplate> {
        let Some(node) = node else { return Vec::new() };
        match &node.value {
            Yaml::Seq(items) => items.iter().flat_map(|item| self.prompt(item)).collect(),
            Yaml::Map(entries) if node.get("raw").is_none() && node.get("id").is_none() => {
                entries.iter().flat_map(|entry| self.of_text(&entry.key, node)).collect()
            }
            _ => self.prompt(node),
        }
    }

    fn prompt(&mut self, node: &YamlNode) -> Vec<PromptTemplate> {
        match &node.value {
            Yaml::Str(written) => self.of_text(written, node),
            Yaml::Map(_) => match text(node.get("raw")).or_else(|| text(node.get("id"))) {
                Some(written) => self.of_text(&written, node),
                None => vec![Some(node.to_json().to_string())],
            },
            Yaml::Null => Vec::new(),
            _ => {
                self.leave_out_kind("prompts", node, "a prompt", "text");
                Vec::new()
            }
        }
    }

    /// The prompts that a text is, or that the file which it names holds.
    fn of_text(&mut self, written: &str, node: &YamlNode) -> Vec<PromptTemplate> {
        let services = ["portkey://", "langfuse://", "helicone://"];
        if let Some(service) = services.iter().find(|service| written.starts_with(**service)) {
            let why = format!("{service} is a service; nothing is fetched over the network");
            return self.unreadable(written, node, why);
        }
        let is_file = written.starts_with("file://");
        let is_path = is_file || !written.contains(['\n', '{', ' ']);
        let (path, _) = path_and_function(written.strip_prefix("file://").unwrap_or(written));
        let is_program =
            is_javascript(&path) || ending(&path) == "py" || written.starts_with("exec:");
        if is_path && is_program {
            let why = "a program makes it; record what it makes, or its outputs";
            return self.unreadable(written, node, why.to_owned());
        }
        let files = if is_path { self.files.matching(written) } else { Vec::new() };
        if files.is_empty() && is_file {
            let why = self.files.why_none(written);
            return self.unreadable(written, node, why);
        }
        if files.is_empty() {
            self.imported.count("prompts");
            return vec![Some(written.to_owned())];
        }
        let mut prompts = Vec::new();
        for path in files {
            match self.prompt_file(&path) {
                Ok(read) => {
                    self.imported.count("prompts");
                    prompts.extend(read.into_iter().map(Some));
                }
                Err(why) => prompts.extend(self.unreadable(&path, node, why)),
            }
        }
        prompts
    }

    /// Says why a prompt cannot be read.
    fn unreadable(&mut self, written: &str, node: &YamlNode, why: String) -> Vec<PromptTemplate> {
        self.leave_out("prompts", node, format!("`{written}`"), why);
        vec![None]
    }

    fn prompt_file(&mut self, path: &str) -> Result<Vec<String>, String> {
        let text = self.files.text(path)?;
        match ending(path).as_str() {
            "txt" => Ok(parts(&text)),
            "md" | "j2" | "" => Ok(vec![text]),
            "json" => {
                let parsed = serde_json::from_str::<Value>(&text);
                Ok(vec![parsed.map_or(text, |value| value.to_string())])
            }
            "yaml" | "yml" => Ok(vec![self.files.tree(path)?.to_json().to_string()]),
            "jsonl" => Ok(texts(text.lines().filter(|line| !line.is_empty()))),
            "csv" => table(&text),
            ending => Err(format!("files of the kind `.{ending}` are not read")),
        }
    }
}

fn texts<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<String> {
    lines.map(str::to_owned).collect()
}

/// The parts of a text file between lines of `---`.
fn parts(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let parts = lines.split(|line| line.trim() == "---");
    let joined = parts.map(|lines| lines.join("\n").trim().to_owned());
    joined.filter(|part| !part.is_empty()).collect()
}

/// A prompt a row of a table: its column `prompt`, or each line where there is one column.
fn table(text: &str) -> Result<Vec<String>, String> {
    if !text.contains(',') {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        lines.next_if(|line| line.trim().eq_ignore_ascii_case("prompt"));
        return Ok(texts(lines));
    }
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| error.to_string())?;
    let column = headers.iter().position(|header| header == "prompt");
    let column = column.ok_or("it has no column `prompt`")?;
    let mut prompts = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        prompts.extend(texts(record.get(column).into_iter().filter(|raw| !raw.is_empty())));
    }
    Ok(prompts)
}
