//! Which file names which: every path in the code, but for tests, resolved to the file that declares what it names.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::visit::{Visit, visit_item_mod, visit_item_use, visit_path};
use syn::{Attribute, ItemMod, ItemUse, UseTree};

/// A path from the root of a crate.
type ModulePath = Vec<String>;

/// How often a name may be handed on by `use` before what it names is reached.
const MOST_STEPS: usize = 10;

/// The modules of a crate, each of which is a file.
pub(super) struct CrateModules(BTreeMap<ModulePath, SourceModule>);

/// A module, and what it names.
struct SourceModule {
    file: String,
    /// All paths of its code.
    paths: Vec<ModulePath>,
    /// Name → what a `use` makes it stand for.
    names: BTreeMap<String, ModulePath>,
}

impl CrateModules {
    /// Reads the files of a crate, each named by its place in the repository; tests are left out.
    pub(super) fn new(root: &str, sources: &[(String, String)]) -> Self {
        let mut modules = BTreeMap::new();
        for (file, text) in sources {
            let Some(name) = file.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            if name == "main.rs" || is_test(name) {
                continue;
            }
            let code = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            let module = module_of(name);
            let mut visitor = Visitor { module, paths: Vec::new(), names: BTreeMap::new() };
            visitor.visit_file(&code);
            let Visitor { module, paths, names } = visitor;
            modules.insert(module, SourceModule { file: file.clone(), paths, names });
        }
        Self(modules)
    }

    /// The file that declares what a path names; none for other crates and their items.
    fn declared_in(&self, path: &[String], steps: usize) -> Option<&str> {
        let depth = (0..=path.len()).rev().find(|end| self.0.contains_key(&path[..*end]))?;
        let module = &self.0[&path[..depth]];
        let onward = path.get(depth).and_then(|name| module.names.get(name));
        match onward {
            Some(onward) if steps < MOST_STEPS && !onward.starts_with(&path[..=depth]) => {
                let whole = [onward.as_slice(), &path[depth + 1..]].concat();
                self.declared_in(&whole, steps + 1)
            }
            _ => Some(module.file.as_str()),
        }
    }

    /// File → the other files that it names.
    fn edges(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let edges = self.0.values().map(|module| {
            let named = module.paths.iter().filter_map(|path| self.declared_in(path, 0));
            (module.file.as_str(), named.filter(|named| *named != module.file).collect())
        });
        edges.collect()
    }

    /// The sets of files that name each other, directly or by way of others.
    pub(super) fn circles(&self) -> BTreeSet<Vec<&str>> {
        let edges = self.edges();
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            edges.keys().map(|file| (*file, reached(file, &edges))).collect();
        let circle = |file: &&str| {
            let mutual = reached[file].iter().filter(|other| reached[*other].contains(file));
            let mutual: Vec<&str> = mutual.copied().collect();
            (mutual.len() > 1).then_some(mutual)
        };
        edges.keys().filter_map(circle).collect()
    }
}

/// All files that a file leads to.
fn reached<'a>(file: &'a str, edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        let new = edges.get(next).into_iter().flatten().filter(|other| found.insert(**other));
        open.extend(new.copied().collect::<Vec<_>>());
    }
    found
}

/// Whether a file holds nothing but tests or what they are made of.
pub(super) fn is_test(file: &str) -> bool {
    let parts = file.trim_end_matches(".rs").split('/');
    parts.into_iter().any(|part| {
        part == "tests"
            || part.ends_with("_tests")
            || part.starts_with("evalrs-test-")
            || matches!(part, "test_data" | "noise")
    })
}

/// The module that a file of a crate is.
fn module_of(name: &str) -> ModulePath {
    let path = name.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

struct Visitor {
    module: ModulePath,
    paths: Vec<ModulePath>,
    names: BTreeMap<String, ModulePath>,
}

impl Visitor {
    /// A path from the root of the crate, if it begins there, at this module or at one above it. What begins with another
    /// name may be a module of this one.
    fn whole(&self, segments: &[String]) -> ModulePath {
        let mut module = self.module.clone();
        let mut rest = segments;
        while let Some(first) = rest.first() {
            match first.as_str() {
                "crate" => module.clear(),
                "super" => {
                    module.pop();
                }
                "self" => {}
                _ => break,
            }
            rest = &rest[1..];
        }
        module.extend_from_slice(rest);
        module
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.note_use(&with(name.ident.to_string()), None),
            UseTree::Rename(name) => {
                self.note_use(&with(name.ident.to_string()), Some(name.rename.to_string()));
            }
            UseTree::Glob(_) => self.note_use(before, None),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_tree(before, tree);
                }
            }
        }
    }

    fn note_use(&mut self, segments: &[String], alias: Option<String>) {
        let segments = segments.strip_suffix(&["self".to_owned()]).unwrap_or(segments);
        let whole = self.whole(segments);
        if let Some(name) = alias.or_else(|| segments.last().cloned()) {
            self.names.insert(name, whole.clone());
        }
        self.paths.push(whole);
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

    // `pub(super)` says who may name an item, and names nothing itself.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A single `crate` or `super` says who sees an item, and names none.
        if segments.len() > 1 {
            let whole = self.whole(&segments);
            self.paths.push(whole);
        }
        visit_path(self, path);
    }
}

pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.to_token_stream().to_string().contains("test")
    })
}
