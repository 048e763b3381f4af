//! Which module names which: every path in the code, but for tests, resolved to the modules of the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use quote::ToTokens;
use syn::visit::{Visit, visit_item_mod, visit_item_use, visit_path};
use syn::{Attribute, ItemMod, ItemUse, UseTree};

/// One file that names something of another module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    /// The file.
    pub file: String,
    /// The module that the file is.
    pub from: Vec<String>,
    /// The whole path that it names, from the root of the crate.
    pub path: Vec<String>,
}

/// Every import of the library that is not part of a test.
pub(super) fn imports() -> Vec<Import> {
    let sources: BTreeMap<String, String> =
        super::all_sources().into_iter().filter(|(name, _)| name.starts_with("src/")).collect();
    let mut found = BTreeSet::new();
    for (file, text) in &sources {
        if file == "src/main.rs" || is_test(file) {
            continue;
        }
        let code = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut visitor = Visitor { module: module_of(file), paths: Vec::new() };
        visitor.visit_file(&code);
        for path in visitor.paths {
            found.insert(Import { file: file.clone(), from: module_of(file), path });
        }
    }
    found.into_iter().collect()
}

/// The modules of a floor as its `mod.rs` lists them.
pub(super) fn modules_in_order(floor: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(floor).join("mod.rs");
    let code = syn::parse_file(&std::fs::read_to_string(file).unwrap()).unwrap();
    let modules = code.items.into_iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    modules.collect()
}

/// Whether a file holds nothing but tests or what they are made of.
pub(super) fn is_test(file: &str) -> bool {
    Path::new(file)
        .with_extension("")
        .components()
        .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "test_data" | "fixtures")))
}

/// The module that a file is.
fn module_of(file: &str) -> Vec<String> {
    let path = file.strip_prefix("src/").unwrap_or(file).trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

struct Visitor {
    module: Vec<String>,
    paths: Vec<Vec<String>>,
}

impl Visitor {
    /// Notes a path if it begins at the root, at this module or at one above it.
    fn note(&mut self, segments: &[String]) {
        let mut module = self.module.clone();
        let mut rest = segments;
        match rest.first().map(String::as_str) {
            Some("crate") => module.clear(),
            Some("self" | "super") => {}
            _ => return,
        }
        while let Some(first) = rest.first() {
            match first.as_str() {
                "super" => {
                    module.pop();
                }
                "crate" | "self" => {}
                _ => break,
            }
            rest = &rest[1..];
        }
        module.extend_from_slice(rest);
        self.paths.push(module);
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.note(&with(name.ident.to_string())),
            UseTree::Rename(name) => self.note(&with(name.ident.to_string())),
            UseTree::Glob(_) => self.note(before),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_tree(before, tree);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.note_tree(&[], &item.tree);
            visit_item_use(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&segments);
        visit_path(self, path);
    }
}

pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.to_token_stream().to_string().contains("test")
    })
}
