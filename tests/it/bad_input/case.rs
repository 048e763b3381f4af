//! One broken workspace, and what is said of it.

use std::fmt::Write;

use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::session::Session;
use evalrs_graph::Database;
use evalrs_graph::inputs::Overrides;
use evalrs_system::FileBytes;
use evalrs_system::memory::MemorySystem;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::Error;

use crate::space::Space;

/// A suite that is right, over `data.jsonl`.
pub(super) const SUITE: &str = "\
name: bad
dataset: data.jsonl
graders:
  same: {kind: tool, function: exact_match}
gate: {metric_key: same, op: gte, value: 0.5}
";

/// A dataset that is right.
pub(super) const DATA: &str = "\
{\"id\": \"a\", \"input\": \"one\", \"ground_truth\": \"1\", \"output\": \"1\"}
{\"id\": \"b\", \"input\": \"two\", \"ground_truth\": \"2\", \"output\": \"2\"}
";

/// A broken workspace.
pub(super) struct Case {
    pub(super) name: &'static str,
    files: Vec<(String, FileBytes)>,
    overrides: Overrides,
}

/// A workspace that is right until something is broken in it.
pub(super) fn case(name: &'static str) -> Case {
    Case { name, files: Vec::new(), overrides: Overrides::default() }
        .file("suite.yaml", SUITE)
        .file("data.jsonl", DATA)
}

impl Case {
    /// With a file, instead of the one of that name.
    pub(super) fn file(mut self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.files.retain(|(known, _)| known != path);
        self.files.push((path.to_owned(), FileBytes::Bytes(contents.as_ref().to_vec())));
        self
    }

    /// With another suite.
    pub(super) fn suite(self, text: impl AsRef<[u8]>) -> Self {
        self.file("suite.yaml", text)
    }

    /// With more lines at the end of the right suite.
    pub(super) fn lines(self, text: &str) -> Self {
        self.file("suite.yaml", format!("{SUITE}{text}"))
    }

    /// With one part of the right suite written otherwise.
    pub(super) fn with(self, right: &str, wrong: &str) -> Self {
        assert!(SUITE.contains(right), "{right}");
        self.file("suite.yaml", SUITE.replace(right, wrong))
    }

    /// With a judge that reads the input in place of the grader.
    pub(super) fn judged(mut self) -> Self {
        let judge = "same: {kind: rubric, prompt: \"Is it good?\", model: m}";
        for (_, file) in self.files.iter_mut().filter(|(path, _)| path == "suite.yaml") {
            let FileBytes::Bytes(bytes) = file else { continue };
            let text = String::from_utf8_lossy(bytes);
            *bytes = text.replace("same: {kind: tool, function: exact_match}", judge).into_bytes();
        }
        self
    }

    /// With another dataset; the suite names it.
    pub(super) fn data(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.with("data.jsonl", path).without("data.jsonl").file(path, contents)
    }

    /// Without a file.
    pub(super) fn without(mut self, path: &str) -> Self {
        self.files.retain(|(known, _)| known != path);
        self
    }

    /// With a file that cannot be read.
    pub(super) fn fault(mut self, path: &str, fault: FileBytes) -> Self {
        self.files.retain(|(known, _)| known != path);
        self.files.push((path.to_owned(), fault));
        self
    }

    /// With `--cached`.
    pub(super) fn cached(mut self, path: &str) -> Self {
        self.overrides.cached = Some(path.to_owned());
        self
    }

    /// With `--grader`.
    pub(super) fn grader(mut self, name: &str) -> Self {
        self.overrides.graders.push(name.to_owned());
        self
    }

    /// Whether the binary can be shown the same files, and soon.
    pub(super) fn is_small(&self) -> bool {
        self.files.iter().all(|(_, file)| match file {
            FileBytes::Bytes(bytes) => bytes.len() < 100_000,
            _ => false,
        })
    }

    fn system(&self) -> MemorySystem {
        let system = MemorySystem::default();
        for (path, file) in &self.files {
            system.set_fault(path, file.clone());
            if path == "evalrs.toml" {
                // The root of a workspace is looked for from the root of the file system.
                system.set_fault("/evalrs.toml", file.clone());
            }
        }
        system
    }

    /// A session over the workspace, and everything that is said of it.
    pub(super) fn load(&self) -> (Option<Session>, Vec<Diagnostic>) {
        let system = self.system();
        let surroundings = match SuiteContext::find("suite.yaml", None, &system) {
            Ok(surroundings) => surroundings,
            Err(Error::Diagnostics(diagnostics)) => return (None, diagnostics),
            Err(other) => panic!("{}: {other}", self.name),
        };
        let (environment, overrides) = (surroundings.environment, self.overrides.clone());
        let mut session = Session::new(Database::default(), "suite.yaml", environment, overrides);
        let diagnostics = session.load(&system);
        (Some(session), diagnostics)
    }

    /// The case as it stands in the file of expected texts.
    pub(super) fn section(&self) -> String {
        let (_, diagnostics) = self.load();
        let name = self.name;
        assert!(diagnostics.iter().any(Diagnostic::is_error), "{name} was not refused");
        let mut section = format!("\n=== {name}\n\n");
        for diagnostic in &diagnostics {
            let rendered = diagnostic.render(false);
            let place = diagnostic.place.as_ref();
            let place = place.unwrap_or_else(|| panic!("{name}: no place: {rendered}"));
            assert!(rendered.contains(&format!("--> {place}")), "{name}: {place}: {rendered}");
            let longest = rendered.lines().map(|line| line.chars().count()).max();
            assert!(longest < Some(450), "{name}: a line of {longest:?}: {rendered}");
            assert!(
                !rendered.contains(|c: char| c.is_control() && c != '\n'),
                "{name}: control characters: {rendered:?}"
            );
            writeln!(section, "{rendered}\n").unwrap();
        }
        section
    }

    /// The binary exits 2, says the same, and leaves nothing behind.
    pub(super) fn check_binary(&self) {
        let space = Space::new(&[]);
        for (path, file) in &self.files {
            if let FileBytes::Bytes(bytes) = file {
                space.write(path, bytes);
            }
        }
        let mut args = vec!["run", "suite.yaml"];
        if let Some(cached) = &self.overrides.cached {
            args.extend(["--cached", cached]);
        }
        for grader in &self.overrides.graders {
            args.extend(["--grader", grader]);
        }
        let ran = space.run(&args);
        let name = self.name;
        assert_eq!((ran.code(), ran.stdout().as_str()), (2, ""), "{name}: {}", ran.shown());
        let (_, diagnostics) = self.load();
        let said: Vec<String> =
            diagnostics.iter().map(|diagnostic| diagnostic.render(false)).collect();
        assert_eq!(ran.stderr().trim_end(), said.join("\n\n").trim_end(), "{name}");
        assert!(!space.path(".evalrs").exists() && !space.path("cache").exists(), "{name}");
    }
}
