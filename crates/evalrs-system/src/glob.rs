//! Files, folders and patterns that somebody wrote down, expanded to files.
//!
//! Pure: folders are listed by whoever asks. A pattern is walked part by part, so that no folder is listed that it cannot
//! reach, and only `*`, `?` and `[..]` in one name are matched by globset. What nobody means when they name a
//! folder is left out of it: caches, version control, installed packages. Packages that are named outright are thousands
//! of files, for which a lock file stands.

use globset::{GlobBuilder, GlobMatcher};

/// The most files that patterns may expand to.
pub(crate) const MAX_FILES: usize = 10_000;
/// The most folders that are looked into; links that lead in a circle end here.
const MAX_FOLDERS: usize = 20_000;
/// The most patterns that the braces of one may stand for.
const MAX_BRACES: usize = 1_000;
const MAX_DEPTH: usize = 64;

/// Folders that are left out of the folders they are in.
const LEFT_OUT: [&str; 4] = ["__pycache__", PACKAGES, ".git", ".evalrs"];

/// The folder of installed packages of JavaScript.
const PACKAGES: &str = "node_modules";

/// The file that a folder has if it is a virtual environment of Python.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// What pins the packages under `node_modules`, the first one there wins.
const LOCKS: [&str; 6] =
    ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "deno.lock"];

/// What pins the packages of a virtual environment, the first one there wins.
const PYTHON_LOCKS: [&str; 5] =
    ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt"];

/// Lists the names in a folder, sorted; none if there is no such folder. The folder that paths start from is empty text.
pub(crate) type ListFolder<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// What patterns expand to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedPatterns {
    /// The files, sorted, each once, from where the patterns start.
    pub files: Vec<String>,
    /// The folders of which everything is taken and that hold nothing that is.
    pub empty: Vec<String>,
    /// The folders of installed packages that patterns lead into, sorted, each once. They are not walked: see
    /// [`lock_file`].
    pub packages: Vec<String>,
    /// The patterns that match nothing, in order.
    pub unmatched: Vec<String>,
    /// Why not all files are here, if they are not.
    pub problem: Option<String>,
}

/// Expands files, folders (everything below them) and patterns of `*`, `?`, `[..]`, `{a,b}` and `**`.
///
/// A pattern that ends in a wildcard matches files alone; one that ends in a name or in `/` matches folders too.
pub fn expand(patterns: &[String], list: ListFolder<'_>) -> ExpandedPatterns {
    expand_within(patterns, list, GlobLimits { files: MAX_FILES, folders: MAX_FOLDERS })
}

/// The same with limits of its own.
pub fn expand_within(
    patterns: &[String],
    list: ListFolder<'_>,
    limits: GlobLimits,
) -> ExpandedPatterns {
    let mut expanded = ExpandedPatterns::default();
    for pattern in patterns {
        let mut walk = Walk {
            list,
            limits,
            wants_folder: false,
            found: ExpandedPatterns::default(),
            folders: 0,
        };
        match braces(pattern) {
            Some(plain) => plain.iter().for_each(|plain| walk.pattern(plain)),
            None => {
                let message = format!("`{pattern}` expands to more than {MAX_BRACES} patterns");
                walk.found.problem = Some(message);
            }
        }
        let found = walk.found;
        if let Some(problem) = found.problem {
            let problem = if problem.is_empty() { too_many(pattern, limits) } else { problem };
            expanded.problem.get_or_insert(problem);
        } else if found.files.is_empty() && found.packages.is_empty() {
            expanded.unmatched.push(pattern.clone());
        }
        expanded.files.extend(found.files);
        expanded.empty.extend(found.empty);
        expanded.packages.extend(found.packages);
    }
    for paths in [&mut expanded.files, &mut expanded.empty, &mut expanded.packages] {
        paths.sort();
        paths.dedup();
    }
    let most = limits.files;
    if expanded.files.len() > most {
        expanded.files.truncate(most);
        expanded.problem.get_or_insert_with(|| format!("it matches more than {most} files"));
    }
    expanded
}

fn too_many(pattern: &str, limits: GlobLimits) -> String {
    let GlobLimits { files, folders } = limits;
    format!(
        "`{pattern}` matches more than {files} files, or looks into more than {folders} folders"
    )
}

/// How far patterns may lead.
#[derive(Clone, Copy, Debug)]
pub struct GlobLimits {
    /// The most files.
    pub files: usize,
    /// The most folders that are looked into.
    pub folders: usize,
}

/// The lock file of the packages installed in `folder`, which is in a `node_modules` or a virtual environment:
/// the nearest one, from the folder upwards.
pub fn lock_file(folder: &str, list: ListFolder<'_>) -> Option<String> {
    let is_node = folder.split('/').any(|part| part == PACKAGES);
    let names: &[&str] = if is_node { &LOCKS } else { &PYTHON_LOCKS };
    let mut folder = folder.trim_end_matches('/');
    loop {
        let listed = list(folder).unwrap_or_default();
        if let Some(name) = names.iter().find(|name| has(&listed, name)) {
            return Some(join(folder, name));
        }
        if folder.is_empty() || folder.rsplit('/').next() == Some("..") {
            return None;
        }
        folder = folder.rfind('/').map_or("", |slash| &folder[..slash]);
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder if folder.ends_with('/') => format!("{folder}{name}"),
        folder => format!("{folder}/{name}"),
    }
}

/// The expansion of one pattern.
struct Walk<'a> {
    list: ListFolder<'a>,
    limits: GlobLimits,
    /// Whether the pattern ends in `/`: then it matches folders alone.
    wants_folder: bool,
    /// Its result; its problem is empty text if there were too many files.
    found: ExpandedPatterns,
    folders: usize,
}

/// One part of a pattern.
enum PatternPart<'a> {
    /// `**`
    AnyDepth,
    /// Names with wildcards.
    Matching(GlobMatcher),
    /// This name, or `..`.
    Name(&'a str),
}

impl<'a> PatternPart<'a> {
    fn new(part: &'a str) -> Self {
        let is_pattern = part.contains(['*', '?', '[']);
        match matcher(part).filter(|_| is_pattern) {
            _ if part == "**" => Self::AnyDepth,
            Some(matcher) => Self::Matching(matcher),
            None => Self::Name(part),
        }
    }
}

impl Walk<'_> {
    fn pattern(&mut self, pattern: &str) {
        let named = || pattern.split('/').filter(|part| *part != ".");
        let is_absolute = pattern.starts_with('/');
        self.wants_folder = named().next_back().is_none_or(str::is_empty);
        let parts = named().filter(|part| !part.is_empty()).map(PatternPart::new);
        let parts: Vec<PatternPart<'_>> = parts.collect();
        self.parts(if is_absolute { "/" } else { "" }, &parts, 0);
    }

    /// Matches `parts` below `folder`, which exists.
    fn parts(&mut self, folder: &str, parts: &[PatternPart<'_>], depth: usize) {
        let Some((first, rest)) = parts.split_first() else {
            self.everything(folder, depth);
            return;
        };
        if matches!(first, PatternPart::Name("..")) {
            self.parts(&join(folder, ".."), rest, depth);
            return;
        }
        let Some(names) = self.names(folder, depth) else { return };
        if matches!(first, PatternPart::AnyDepth) {
            return self.any_depth(folder, &names, rest, depth);
        }
        let is_pattern = matches!(first, PatternPart::Matching(_));
        for name in &names {
            if self.found.problem.is_some() {
                return;
            }
            let is_met = match first {
                PatternPart::Matching(matcher) => matcher.is_match(name),
                PatternPart::Name(own) => name == own,
                PatternPart::AnyDepth => false,
            };
            if !is_met || is_pattern && LEFT_OUT.contains(&name.as_str()) {
                continue;
            }
            let path = join(folder, name);
            let inner = (self.list)(&path);
            let is_packages =
                name == PACKAGES || inner.as_ref().is_some_and(|names| has(names, ENVIRONMENT));
            let is_last = rest.is_empty();
            match inner {
                Some(_) if is_packages && is_pattern => {}
                Some(_) if is_packages => self.found.packages.push(path),
                Some(_) if is_last && is_pattern && !self.wants_folder => {}
                Some(_) => self.parts(&path, rest, depth + 1),
                None if is_last && !self.wants_folder => self.file(path),
                None => {}
            }
        }
    }

    /// Matches `rest` in the folder and in every folder below it.
    fn any_depth(
        &mut self,
        folder: &str,
        names: &[String],
        rest: &[PatternPart<'_>],
        depth: usize,
    ) {
        // `**/**` is `**`, and would otherwise be walked once for every way to share the folders.
        let Some(after) = rest.iter().position(|part| !matches!(part, PatternPart::AnyDepth))
        else {
            self.everything(folder, depth);
            return;
        };
        let rest = &rest[after..];
        self.parts(folder, rest, depth);
        for path in self.folders_in(folder, names) {
            let Some(names) = self.names(&path, depth + 1) else { continue };
            if !has(&names, ENVIRONMENT) {
                self.any_depth(&path, &names, rest, depth + 1);
            }
        }
    }

    /// Takes every file below `folder`.
    fn everything(&mut self, folder: &str, depth: usize) {
        let Some(mut names) = self.names(folder, depth) else { return };
        names.retain(|name| !LEFT_OUT.contains(&name.as_str()));
        if names.is_empty() {
            self.found.empty.push(folder.to_owned());
        }
        for name in &names {
            if self.found.problem.is_some() {
                return;
            }
            let path = join(folder, name);
            match (self.list)(&path) {
                None => self.file(path),
                Some(inner) if has(&inner, ENVIRONMENT) => {}
                Some(_) => self.everything(&path, depth + 1),
            }
        }
    }

    /// The folders in `folder` that are not left out.
    fn folders_in(&self, folder: &str, names: &[String]) -> Vec<String> {
        let kept = names.iter().filter(|name| !LEFT_OUT.contains(&name.as_str()));
        kept.map(|name| join(folder, name)).filter(|path| (self.list)(path).is_some()).collect()
    }

    fn file(&mut self, path: String) {
        self.found.files.push(path);
        if self.found.files.len() > self.limits.files {
            self.found.problem = Some(String::new());
        }
    }

    /// The names in `folder`, unless the walk has gone too far.
    fn names(&mut self, folder: &str, depth: usize) -> Option<Vec<String>> {
        self.folders += 1;
        if self.folders > self.limits.folders || depth > MAX_DEPTH {
            self.found.problem = Some(String::new());
        }
        if self.found.problem.is_some() { None } else { (self.list)(folder) }
    }
}

/// The patterns that the braces of `pattern` stand for; none if they are too many. Braces that are not closed are
/// characters like others.
pub fn braces(pattern: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        match first_braces(&pattern) {
            None => done.push(pattern),
            Some((start, end)) => {
                let before = &pattern[..start];
                let after = &pattern[end + 1..];
                let choices = choices(&pattern[start + 1..end]);
                open.extend(choices.into_iter().map(|choice| format!("{before}{choice}{after}")));
            }
        }
        if done.len() + open.len() > MAX_BRACES {
            return None;
        }
    }
    Some(done)
}

/// Where the first braces that are closed open and close.
fn first_braces(pattern: &str) -> Option<(usize, usize)> {
    let mut open = Vec::new();
    let mut found: Option<(usize, usize)> = None;
    for (at, char) in pattern.char_indices() {
        match char {
            '{' => open.push(at),
            '}' => {
                if let Some(start) = open.pop()
                    && found.is_none_or(|(first, _)| start < first)
                {
                    found = Some((start, at));
                }
            }
            _ => {}
        }
    }
    found
}

/// What is between the commas of `text` that are in no braces.
fn choices(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&text[from..]);
    all
}

/// What matches the names that a part of a pattern with wildcards means. Braces stand for patterns of their own: those that
/// are left are characters, as is a bracket that is not closed.
fn matcher(part: &str) -> Option<GlobMatcher> {
    let build = |part: &str| GlobBuilder::new(part).backslash_escape(false).build();
    let plain = part.replace('{', "[{]").replace('}', "[}]");
    let glob = build(&plain).or_else(|_| build(&part.replace('[', "[[]")));
    Some(glob.ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::{ExpandedPatterns, MAX_FILES, expand, lock_file, matcher};

    /// Folders and what is in them.
    struct Tree(BTreeMap<String, BTreeSet<String>>);

    impl Tree {
        fn new(files: &[&str]) -> Self {
            let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            folders.entry(String::new()).or_default();
            for file in files {
                let mut path = (*file).to_owned();
                while !path.is_empty() {
                    let (folder, name) = match path.rfind('/') {
                        Some(0) if path.len() > 1 => ("/".to_owned(), path[1..].to_owned()),
                        Some(slash) => (path[..slash].to_owned(), path[slash + 1..].to_owned()),
                        None => (String::new(), path.clone()),
                    };
                    if name != ".." && !name.is_empty() {
                        folders.entry(folder.clone()).or_default().insert(name);
                    }
                    path = if folder == "/" { String::new() } else { folder };
                }
            }
            Self(folders)
        }

        fn list(&self, folder: &str) -> Option<Vec<String>> {
            self.0.get(folder).map(|names| names.iter().cloned().collect())
        }

        fn expand(&self, patterns: &[&str]) -> ExpandedPatterns {
            let patterns: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
            expand(&patterns, &|folder| self.list(folder))
        }
    }

    fn tree() -> Tree {
        Tree::new(&[
            "rules.json",
            "notes.md",
            "[odd].txt",
            "data/a.json",
            "data/b.txt",
            "data/.hidden",
            "data/deep/c.json",
            "data/deep/d.json/inner.txt",
            "data/__pycache__/x.pyc",
            "data/env/pyvenv.cfg",
            "data/env/lib/y.json",
            "node_modules/pkg/index.js",
            "node_modules/pkg/p.json",
            ".git/config.json",
            "../shared/s.json",
            "/abs/t.json",
        ])
    }

    #[test]
    fn patterns_expand_to_files() {
        for (pattern, expected) in [
            ("rules.json", &["rules.json"][..]),
            ("./rules.json", &["rules.json"]),
            ("*.json", &["rules.json"]),
            ("r?les.js[o-p]n", &["rules.json"]),
            ("[!r]otes.*", &["notes.md"]),
            ("{rules,notes}.{json,md}", &["notes.md", "rules.json"]),
            ("data/{a.json,deep/c.json}", &["data/a.json", "data/deep/c.json"]),
            ("{data/{a,b}.*,rules.json}", &["data/a.json", "data/b.txt", "rules.json"]),
            ("[[]odd[]].txt", &["[odd].txt"]),
            ("*", &["[odd].txt", "notes.md", "rules.json"]),
            ("data/*", &["data/.hidden", "data/a.json", "data/b.txt"]),
            ("data/*/", &["data/deep/c.json", "data/deep/d.json/inner.txt"]),
            ("data/deep", &["data/deep/c.json", "data/deep/d.json/inner.txt"]),
            ("data/deep/", &["data/deep/c.json", "data/deep/d.json/inner.txt"]),
            (
                "data",
                &[
                    "data/.hidden",
                    "data/a.json",
                    "data/b.txt",
                    "data/deep/c.json",
                    "data/deep/d.json/inner.txt",
                ],
            ),
            ("**/*.json", &["data/a.json", "data/deep/c.json", "rules.json"]),
            ("**/**/c.json", &["data/deep/c.json"]),
            (
                "data/**/**",
                &[
                    "data/.hidden",
                    "data/a.json",
                    "data/b.txt",
                    "data/deep/c.json",
                    "data/deep/d.json/inner.txt",
                ],
            ),
            ("**/deep/**/inner.txt", &["data/deep/d.json/inner.txt"]),
            ("**/deep", &["data/deep/c.json", "data/deep/d.json/inner.txt"]),
            ("data/__pycache__/x.pyc", &["data/__pycache__/x.pyc"]),
            ("../shared/*.json", &["../shared/s.json"]),
            ("../shared", &["../shared/s.json"]),
            ("/abs/*", &["/abs/t.json"]),
            ("no.json", &[]),
            ("rules.json/", &[]),
            ("*/pkg/index.js", &[]),
            ("../no/**", &[]),
            ("{rules.json", &[]),
            ("rules.json}", &[]),
            ("", &[]),
        ] {
            let found = tree().expand(&[pattern]);
            if pattern.is_empty() {
                // Nothing is the folder itself.
                assert!(found.files.contains(&"rules.json".to_owned()), "{found:?}");
                continue;
            }
            assert_eq!(found.files, expected, "{pattern}");
            assert_eq!(found.unmatched.is_empty(), !expected.is_empty(), "{pattern}");
            assert_eq!(found.problem, None, "{pattern}");
        }
        let several = tree().expand(&["*.json", "no/*", "rules.json", "data/a.json", "none"]);
        assert_eq!(several.files, ["data/a.json", "rules.json"]);
        assert_eq!(several.unmatched, ["no/*", "none"]);
        assert!(tree().expand(&[".", "{a,b}"]).files.len() > 5);
        let packages =
            tree().expand(&["node_modules/pkg/*.js", "data/env", "node_modules", "*/*/*"]);
        assert_eq!(packages.packages, ["data/env", "node_modules"]);
        assert_eq!(packages.files, ["data/deep/c.json"]);
        assert_eq!(packages.unmatched, [""; 0]);
    }

    #[test]
    fn what_is_too_much_is_said_and_ends() {
        let names: Vec<String> = (0..=MAX_FILES).map(|at| format!("f{at:05}")).collect();
        let many = |folder: &str| (folder.is_empty()).then(|| names.clone());
        let found = expand(&["*".to_owned()], &many);
        assert_eq!(found.files.len(), MAX_FILES);
        let problem = found.problem.expect("a problem");
        assert!(problem.starts_with("`*` matches more than 10000 files"), "{problem}");
        // A link to the folder that it is in.
        let circle = |_: &str| Some(vec!["a".to_owned(), "b".to_owned()]);
        for pattern in ["**/x", "a", "**/a/**/b/**/c", "a/**/"] {
            assert!(expand(&[pattern.to_owned()], &circle).problem.is_some(), "{pattern}");
        }
        let braces = "{a,b}".repeat(12);
        assert_eq!(
            tree().expand(&[&braces]).problem,
            Some(format!("`{braces}` expands to more than 1000 patterns"))
        );
    }

    #[test]
    fn the_nearest_lock_file_stands_for_packages() {
        let tree = Tree::new(&[
            "package-lock.json",
            "yarn.lock",
            "uv.lock",
            "web/node_modules/x/i.js",
            "web/bun.lock",
            "py/.venv/pyvenv.cfg",
            "py/.venv/lib/z.py",
            "py/requirements.txt",
            "app/env/pyvenv.cfg",
            "../up/node_modules/i.js",
            "../package-lock.json",
        ]);
        let list = |folder: &str| tree.list(folder);
        for (folder, lock) in [
            ("web/node_modules", "web/bun.lock"),
            ("node_modules", "package-lock.json"),
            ("node_modules/x/node_modules", "package-lock.json"),
            ("py/.venv", "py/requirements.txt"),
            ("app/env", "uv.lock"),
            ("../up/node_modules", "../package-lock.json"),
        ] {
            assert_eq!(lock_file(folder, &list).as_deref(), Some(lock), "{folder}");
        }
        let bare = Tree::new(&["a/node_modules/i.js"]);
        assert_eq!(lock_file("a/node_modules/", &|folder| bare.list(folder)), None);
    }

    /// The same by trying everything, for short texts of `*`, `?` and letters.
    fn matches_slowly(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, _) => name.is_empty(),
            (Some((b'*', rest)), _) => {
                (0..=name.len()).any(|taken| matches_slowly(rest, &name[taken..]))
            }
            (Some(_), None) => false,
            (Some((first, rest)), Some((char, others))) => {
                (*first == b'?' || first == char) && matches_slowly(rest, others)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn wildcards_match_as_if_everything_was_tried(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            prop_assert_eq!(matcher(&pattern).unwrap().is_match(&name), matches_slowly(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn any_pattern_ends(pattern in "[-a-d./*?{},!\\[\\]\u{e9}]{0,24}") {
            let found = tree().expand(&[&pattern]);
            prop_assert!(found.files.is_sorted());
        }
    }
}
