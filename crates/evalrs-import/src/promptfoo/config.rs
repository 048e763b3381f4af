//! A configuration: its sections as data, with everything in them that cannot be read named.

use serde_json::{Map, Value};

use super::case::{AssertionSpec, TestCase};
use super::config_reader::{ConfigReader, text};
use super::csv_cases;
use super::files::{ending, is_javascript, path_and_function};
use super::prompts::PromptTemplate;
use super::providers::ProviderSpec;
use crate::imported::SourcePlace;
use crate::reading::items_in;
use evalrs_base::yaml::tree::{Yaml, YamlNode};

/// The most tests of a configuration.
const MAX_TESTS: usize = 50_000;

/// What a configuration says.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub description: Option<String>,
    pub prompts: Vec<PromptTemplate>,
    pub providers: Vec<ProviderSpec>,
    /// The tests, on top of the defaults for all of them.
    pub tests: Vec<TestCase>,
    pub repeat: Option<u64>,
}

impl ConfigReader<'_> {
    pub(super) fn read(&mut self) -> Config {
        let root = self.root;
        let defaults = self.defaults();
        let mut tests = match root.get("tests").filter(|node| node.value != Yaml::Null) {
            Some(node) => self.tests(node),
            None => Vec::new(),
        };
        for test in &mut tests {
            *test = test.over(&defaults);
        }
        let has_scenarios = root.get("scenarios").is_some();
        if let Some(scenarios) = root.get("scenarios") {
            tests.extend(self.scenarios(scenarios, &defaults));
        }
        if tests.is_empty() && !has_scenarios && root.get("redteam").is_none() {
            tests.push(self.empty_test(root).over(&defaults));
        }
        self.name_other_sections();
        Config {
            description: text(root.get("description")),
            prompts: self.prompts(root.get("prompts")),
            providers: self.providers(root.get("providers").or_else(|| root.get("targets"))),
            tests,
            repeat: root
                .get("evaluateOptions")
                .and_then(|node| node.get("repeat")?.to_json().as_u64()),
        }
    }

    /// A test with nothing but its place.
    fn empty_test(&self, node: &YamlNode) -> TestCase {
        TestCase { place: self.files.place(node), ..TestCase::default() }
    }

    fn defaults(&mut self) -> TestCase {
        let Some(node) = self.root.get("defaultTest") else { return TestCase::default() };
        match &node.value {
            Yaml::Str(reference) if reference.starts_with("file://") => {
                match self.files.tree(reference) {
                    Ok(tree) => self.test(&tree),
                    Err(why) => {
                        self.leave_out("tests", node, format!("`defaultTest: {reference}`"), why);
                        TestCase::default()
                    }
                }
            }
            _ => self.test(node),
        }
    }

    /// The tests of a section or file.
    fn tests(&mut self, node: &YamlNode) -> Vec<TestCase> {
        let mut tests = Vec::new();
        match &node.value {
            Yaml::Seq(items) => {
                for item in items {
                    if tests.len() >= MAX_TESTS {
                        let why = format!("there are more than {MAX_TESTS}");
                        self.leave_out("tests", item, "further tests", why);
                        break;
                    }
                    tests.extend(self.tests(item));
                }
            }
            Yaml::Str(reference) => tests.extend(self.test_files(reference, node)),
            Yaml::Map(_) => {
                let node = self.dereferenced(node);
                let path = text(node.get("path")).filter(|_| node.get("vars").is_none());
                match path {
                    Some(path) => tests.extend(self.test_files(&path, node)),
                    None => tests.push(self.test(node)),
                }
            }
            _ => self.leave_out_kind("tests", node, "a test", "a mapping"),
        }
        tests
    }

    /// The tests of the files that a path or pattern names.
    fn test_files(&mut self, reference: &str, node: &YamlNode) -> Vec<TestCase> {
        let what = format!("tests of `{reference}`");
        let (path, _) = path_and_function(reference.strip_prefix("file://").unwrap_or(reference));
        let remote = ["http://", "https://", "huggingface://"];
        if remote.iter().any(|scheme| reference.starts_with(scheme)) {
            self.leave_out("test files", node, what, "nothing is fetched over the network");
            return Vec::new();
        }
        if is_javascript(&path) || ending(&path) == "py" {
            self.leave_out("test files", node, what, "a program makes them");
            return Vec::new();
        }
        let found = self.files.matching(reference);
        if found.is_empty() {
            self.leave_out("test files", node, what, self.files.why_none(reference));
        }
        let mut tests = Vec::new();
        for path in found {
            match self.test_file(&path) {
                Ok(read) => {
                    self.imported.count("test files");
                    tests.extend(read);
                }
                Err(why) => self.leave_out("test files", node, format!("tests of `{path}`"), why),
            }
        }
        tests
    }

    fn test_file(&mut self, path: &str) -> Result<Vec<TestCase>, String> {
        let files = self.files;
        match ending(path).as_str() {
            "csv" => csv_cases::read(&files.path(path), &files.text(path)?, self),
            "jsonl" => self.test_lines(path),
            "yaml" | "yml" | "json" => files.nested(|| Ok(self.tests(&files.tree(path)?))),
            ending => Err(format!("files of the kind `.{ending}` are not read")),
        }
    }

    fn test_lines(&mut self, path: &str) -> Result<Vec<TestCase>, String> {
        let text = self.files.text(path)?;
        let file = self.files.path(path);
        let mut tests = Vec::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let place = SourcePlace::new(file.as_str(), number);
            match serde_json::from_str(line) {
                Ok(value) => tests.push(self.test_of(&value, place)),
                Err(error) => {
                    let why = format!("it is not JSON: {error}");
                    self.imported.leave_out("tests", place, "a test", why);
                }
            }
        }
        Ok(tests)
    }

    /// A test that is JSON on one line.
    pub(super) fn test_of(&self, value: &Value, place: SourcePlace) -> TestCase {
        let asserts = items_in(value, "assert");
        let asserts =
            asserts.map(|value| AssertionSpec::read(value, &place, &self.counter)).collect();
        TestCase { asserts, ..TestCase::read(value, place) }
    }

    fn test(&mut self, node: &YamlNode) -> TestCase {
        let mut test = TestCase::read(&node.to_json(), self.files.place(node));
        if let Some(vars) = node.get("vars") {
            match self.vars_of(vars) {
                Ok(vars) => test.vars = vars,
                Err(why) => self.leave_out("tests", vars, "`vars`", why),
            }
        }
        for name in ["assertScoringFunction", "provider"] {
            if let Some(own) = node.get(name) {
                let why = "evalrs has none for a single test";
                self.leave_out("tests", own, format!("`{name}` of a test"), why);
            }
        }
        if let Some(asserts) = node.get("assert") {
            test.asserts = self.assertions(asserts);
        }
        test
    }

    /// Variables: a mapping, or files of mappings.
    fn vars_of(&self, node: &YamlNode) -> Result<Map<String, Value>, String> {
        let fields = |node: &YamlNode| node.to_json().as_object().cloned().unwrap_or_default();
        let references: Vec<String> = match &node.value {
            Yaml::Map(_) => return Ok(fields(node)),
            Yaml::Null => return Ok(Map::new()),
            Yaml::Str(reference) => vec![reference.clone()],
            Yaml::Seq(items) => items.iter().filter_map(|item| text(Some(item))).collect(),
            _ => return Err(format!("it is {}, not a mapping", node.noun())),
        };
        let mut vars = Map::new();
        for path in references.iter().flat_map(|reference| self.files.matching(reference)) {
            vars.extend(fields(&self.files.tree(&path)?));
        }
        Ok(vars)
    }

    fn assertions(&mut self, node: &YamlNode) -> Vec<AssertionSpec> {
        match &node.value {
            Yaml::Seq(items) => items.iter().flat_map(|item| self.assertion(item)).collect(),
            Yaml::Null => Vec::new(),
            _ => self.assertion(node),
        }
    }

    fn assertion(&mut self, node: &YamlNode) -> Vec<AssertionSpec> {
        let node = self.dereferenced(node);
        match &node.value {
            Yaml::Map(_) => vec![self.assertion_of(node)],
            Yaml::Str(reference) if reference.starts_with("file://") => {
                let files = self.files;
                let read = files.nested(|| Ok(self.assertions(&files.tree(reference)?)));
                read.unwrap_or_else(|why| {
                    self.leave_out("assertions", node, format!("assertions of `{reference}`"), why);
                    Vec::new()
                })
            }
            _ => {
                self.leave_out_kind("assertions", node, "an assertion", "a mapping with a `type`");
                Vec::new()
            }
        }
    }

    fn assertion_of(&self, node: &YamlNode) -> AssertionSpec {
        let mut spec = AssertionSpec::read(&node.to_json(), &self.files.place(node), &self.counter);
        if let Some(Yaml::Seq(members)) = node.get("assert").map(|node| &node.value) {
            let members = members.iter().map(|member| self.assertion_of(self.dereferenced(member)));
            spec.set = members.collect();
        }
        spec
    }

    /// Every entry of a scenario's `config` with every of its tests.
    fn scenarios(&mut self, node: &YamlNode, defaults: &TestCase) -> Vec<TestCase> {
        let mut tests = Vec::new();
        let loaded;
        let items: &[YamlNode] = match &node.value {
            Yaml::Seq(items) => items,
            Yaml::Str(reference) => match self.files.tree(reference) {
                Ok(tree) => {
                    loaded = tree;
                    match &loaded.value {
                        Yaml::Seq(items) => items,
                        _ => std::slice::from_ref(&loaded),
                    }
                }
                Err(why) => {
                    self.leave_out("tests", node, format!("scenarios of `{reference}`"), why);
                    return tests;
                }
            },
            _ => &[],
        };
        for scenario in items {
            let configs = scenario.get("config").map(|node| self.tests(node)).unwrap_or_default();
            let own = scenario.get("tests").map(|node| self.tests(node));
            let own = own.unwrap_or_else(|| vec![self.empty_test(scenario)]);
            for config in &configs {
                let room = MAX_TESTS.saturating_sub(tests.len());
                tests.extend(own.iter().take(room).map(|test| test.over(config).over(defaults)));
            }
        }
        tests
    }

    /// Sections that have no counterpart.
    fn name_other_sections(&mut self) {
        const SECTIONS: [(&str, &str); 6] = [
            ("redteam", "promptfoo makes the attacks while it runs; import its results instead"),
            (
                "extensions",
                "they are functions of promptfoo's own interface; `setup` and `teardown` of a target are close",
            ),
            ("nunjucksFilters", "templates are rendered during the import, without functions"),
            ("derivedMetrics", "declare `metrics` in the suite"),
            ("tracing", "trajectories are recorded by the target"),
            ("assertScoringFunction", "declare a `reward` in the suite"),
        ];
        let root = self.root;
        for (name, why) in SECTIONS {
            if let Some(node) = root.get(name) {
                self.leave_out("sections", node, format!("`{name}`"), why);
            }
        }
        if root.get("env").is_some() {
            self.imported.note("Variables under `env` are not copied: set them in the environment, or in a `.env` file beside the suite.");
        }
    }
}
