//! What scripts of Python import from beside them. They run in a process of their own, so it is not seen what they load:
//! what is not declared is warned of.

use crate::base::diagnostic::Diagnostic;
use crate::base::system::{FileBytes, System, folder_of, join, non_empty};
use crate::engine::session::Session;
use crate::pipeline::program::{UncallablePart, runtime_name, shebang};
use crate::pipeline::spec::{Language, ProgramSpec};

impl Session {
    /// What executables that are scripts of Python import without declaring it, a warning each.
    pub(crate) fn undeclared_imports(&self) -> Vec<Diagnostic> {
        let read = |program| self.programs.read(program);
        let programs = self.named_programs();
        let all = programs.into_iter().filter_map(read).flat_map(|read| {
            let spec = &read.start.spec;
            read.imports.iter().map(move |path| {
                let message = format!(
                    "`{}` imports `{path}`, which is not among its `inputs`: an edit of it grades nothing again",
                    spec.shown()
                );
                let place = self.place_of(spec, &UncallablePart::File);
                let hint = Some(format!("add it: `inputs: [{path}]`"));
                Diagnostic { hint, ..Diagnostic::warning(place, message) }
            })
        });
        all.collect()
    }
}

/// The files beside a script of Python that it imports, and that are not among those which it declares.
pub(crate) fn undeclared(
    spec: &ProgramSpec,
    bytes: &[u8],
    declared: &[String],
    system: &dyn System,
) -> Vec<String> {
    if spec.language != Language::Executable {
        return Vec::new();
    }
    let runtime = spec.runtime.clone().or_else(|| shebang(bytes));
    let is_python =
        runtime.is_some_and(|path| runtime_name(Language::Executable, &path) == "python");
    if !is_python {
        return Vec::new();
    }
    let folder = folder_of(&spec.path);
    let names = system.list(non_empty(folder)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let mut found: Vec<String> = imported(&text)
        .filter_map(|module| {
            let file = format!("{module}.py");
            let package = join(module, "__init__.py");
            let is_package = names.iter().any(|name| name == module)
                && system.read(&join(folder, &package)) != FileBytes::Missing;
            let is_file = names.contains(&file);
            (is_package || is_file).then(|| join(folder, if is_package { &package } else { &file }))
        })
        .filter(|path| !declared.contains(path))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The modules that a text of Python imports, without what they are packages of.
fn imported(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let line = line.trim();
        let line = line.split('#').next().unwrap_or(line);
        let from = line.strip_prefix("from ").and_then(|rest| rest.split(" import").next());
        let modules = line.strip_prefix("import ").or(from).unwrap_or_default();
        modules.split(',').filter_map(|module| {
            let name = module.split_whitespace().next()?.split('.').next()?;
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_name.then_some(name)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::imported;
    use crate::base::system::memory::MemorySystem;
    use crate::engine::session::programs::{ProgramContext, ReadProgram};
    use crate::pipeline::spec::ProgramSpec;

    #[test]
    fn imports_are_found_by_their_lines() {
        let text = "import a\nimport b.c as d, e\nfrom f import g\n    from h.i import (j,\nfrom . import k\n# import l\nx = 'import m'\nimport n  # o\n";
        assert_eq!(imported(text).collect::<Vec<_>>(), ["a", "b", "e", "f", "h", "n"]);
    }

    #[test]
    fn what_a_script_imports_from_beside_it_is_to_be_declared() {
        let text = "#!/usr/bin/env python3\nimport json, helper\nfrom package import x\n";
        for (text, inputs, expected) in [
            (text, &[][..], &["helper.py", "package/__init__.py"][..]),
            (text, &["helper.py"], &["package/__init__.py"]),
            (text, &["helper.py", "package"], &[]),
            ("#!/bin/sh\nimport helper\n", &[], &[]),
        ] {
            let system = MemorySystem::default()
                .with_program("python3", "/usr/bin/python3", "3.11.7")
                .with_program("/bin/sh", "/bin/sh", "");
            system.set("/w/g.py", text);
            system.set("/w/helper.py", "");
            system.set("/w/package/__init__.py", "");
            let mut spec = ProgramSpec::of_file("/w/g.py".to_owned());
            spec.inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
            let environment = &BTreeMap::new();
            let place =
                ProgramContext { folder: "/w", workspace: "/w", environment, sees_all: false };
            let read = ReadProgram::read(&spec, &place, &system).unwrap();
            assert_eq!(read.imports, expected, "{text} {inputs:?}");
        }
    }
}
