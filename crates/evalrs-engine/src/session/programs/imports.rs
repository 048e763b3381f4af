//! What scripts of Python import from beside them. They run in a process of their own, so it is not seen what they load:
//! what is not declared is warned of.

use std::collections::BTreeSet;

use evalrs_base::file_path::{folder_of, join, non_empty};
use evalrs_eval::program::{runtime_name, shebang};
use evalrs_model::spec::{Language, ProgramSpec};
use evalrs_system::{FileBytes, System};

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
    if runtime.is_none_or(|path| runtime_name(Language::Executable, &path) != "python") {
        return Vec::new();
    }
    let folder = folder_of(&spec.path);
    let names = system.list(non_empty(folder)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let modules: BTreeSet<String> =
        imported(&text).iter().flat_map(|path| prefixes(path)).collect();
    let is_beside = |module: &String| {
        let first = module.split('/').next().unwrap_or_default();
        names.iter().any(|name| name.strip_suffix(".py").unwrap_or(name) == first)
    };
    let found = modules.into_iter().filter(is_beside).filter_map(|module| {
        let files = [join(&module, "__init__.py"), format!("{module}.py")];
        let mut files = files.into_iter().map(|file| join(folder, &file));
        files.find(|path| system.read(path) != FileBytes::Missing)
    });
    found.filter(|path| !declared.contains(path)).collect()
}

/// A path of modules and the packages that it leads through, as paths of files without their endings.
fn prefixes(module: &str) -> impl Iterator<Item = String> {
    let ends = module.match_indices('.').map(|(at, _)| at).chain([module.len()]);
    ends.map(|end| module[..end].replace('.', "/"))
}

/// The paths of modules that a text of Python may import: what it imports from a package may be a module of that.
fn imported(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or(line).trim();
        if let Some(modules) = line.strip_prefix("import ") {
            found.extend(names_in(modules).map(str::to_owned));
        }
        let from = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import"));
        let Some((package, names)) = from else { continue };
        let packages = names_in(package);
        found.extend(packages.flat_map(|package| {
            let inside = names_in(names).map(move |name| format!("{package}.{name}"));
            std::iter::once(package.to_owned()).chain(inside)
        }));
    }
    found
}

/// The names of a list, without what they are called here: `a.b as c, d`.
fn names_in(list: &str) -> impl Iterator<Item = &str> {
    list.trim().trim_matches(['(', ')']).split(',').filter_map(|item| {
        let name = item.split_whitespace().next()?;
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
        name.split('.').all(is_word).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::imported;
    use crate::session::programs::program_context::ProgramContext;
    use crate::session::programs::read_program::ReadProgram;
    use evalrs_model::spec::ProgramSpec;
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn imports_are_found_by_their_lines() {
        let text = "import a\nimport b.c as d, e\nfrom f import g\n    from h.i import (j,\nfrom . import k\n# import l\nx = 'import m'\nimport n  # o\n";
        assert_eq!(imported(text), ["a", "b.c", "e", "f", "f.g", "h.i", "h.i.j", "n"]);
    }

    #[test]
    fn what_a_script_imports_from_beside_it_is_to_be_declared() {
        let text = "#!/usr/bin/env python3\nimport json, helper\nfrom package import x\n";
        let of_lib = "#!/usr/bin/env python3\nfrom lib.rules import x\nfrom lib import (more, y)\n";
        for (text, inputs, expected) in [
            (text, &[][..], &["helper.py", "package/__init__.py"][..]),
            (text, &["helper.py"], &["package/__init__.py"]),
            (text, &["helper.py", "package"], &[]),
            (of_lib, &[], &["lib/more.py", "lib/rules.py"]),
            (of_lib, &["lib/**"], &[]),
            ("#!/bin/sh\nimport helper\n", &[], &[]),
        ] {
            let system = MemorySystem::default()
                .with_program("python3", "/usr/bin/python3", "3.11.7")
                .with_program("/bin/sh", "/bin/sh", "");
            system.set("/w/g.py", text);
            system.set("/w/helper.py", "");
            system.set("/w/package/__init__.py", "");
            system.set("/w/lib/rules.py", "");
            system.set("/w/lib/more.py", "");
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
