//! The suites that a command line names: files, folders that hold some, and patterns.

use crate::error::Error;
use evalrs_base::file_path::{join, non_empty};
use evalrs_system::glob::expand;
use evalrs_system::{FileBytes, System};

/// Folders that hold what was installed or built, and no suite of anybody's own. Hidden ones are left out too.
const LEFT_OUT: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// The deepest folder below the one that is named, and the most folders: links that lead in a circle end here.
const DEEPEST: usize = 16;
const MOST_FOLDERS: usize = 20_000;

/// The suite files that `named` means, in the order of the command line.
///
/// A folder stands for every `suite.yaml` and `*.suite.yaml` in it and below it, but for those that were named before. A pattern is for shells that did not
/// expand it; a file whose name looks like one is that file.
pub fn suite_files(named: &[String], system: &dyn System) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = Vec::new();
    for name in named {
        let there = system.read(name);
        let mut stands_for = if there == FileBytes::Folder {
            in_folder(name, system)?
        } else if there == FileBytes::Missing && name.contains(['*', '?', '[', '{']) {
            matching(name, system)?
        } else {
            found.push(name.clone());
            continue;
        };
        stands_for.retain(|suite| !found.contains(suite));
        found.extend(stands_for);
    }
    Ok(found)
}

fn in_folder(folder: &str, system: &dyn System) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let mut open = vec![(folder.trim_end_matches('/').to_owned(), 0)];
    let mut looked_into = 0;
    while let Some((folder, depth)) = open.pop() {
        looked_into += 1;
        for name in &system.list(non_empty(&folder)).unwrap_or_default() {
            if name.starts_with('.') || LEFT_OUT.contains(&name.as_str()) {
                continue;
            }
            let path = join(&folder, name);
            if is_suite(name) && !matches!(system.read(&path), FileBytes::Folder) {
                found.push(path);
            } else if depth < DEEPEST && looked_into + open.len() < MOST_FOLDERS && !is_file(name) {
                open.push((path, depth + 1));
            }
        }
    }
    if found.is_empty() {
        let name = match others(folder, system).as_slice() {
            [] => "name another file itself".to_owned(),
            others => format!("name `{}` itself", others.join("`, `")),
        };
        return Err(Error::plain(
            format!("the folder `{folder}` has no suite"),
            format!("a folder means the files `suite.yaml` and `*.suite.yaml` in it; {name}"),
        ));
    }
    found.sort();
    Ok(found)
}

/// The first files of a folder that say what graders there are, whatever they are called.
fn others(folder: &str, system: &dyn System) -> Vec<String> {
    const SHOWN: usize = 3;
    let folder = if folder == "." { "" } else { folder.trim_end_matches('/') };
    let names = system.list(non_empty(folder)).unwrap_or_default();
    let names =
        names.iter().filter(|name| matches!(name.rsplit_once('.'), Some((_, "yaml" | "yml"))));
    let paths = names.map(|name| join(folder, name)).filter(|path| {
        let text = system.read(path).into_bytes().unwrap_or_default();
        String::from_utf8_lossy(&text).lines().any(|line| line.starts_with("graders:"))
    });
    paths.take(SHOWN).collect()
}

/// Whether a name is surely not that of a folder with suites: most files are not even looked at.
fn is_file(name: &str) -> bool {
    const FILES: [&str; 9] = ["json", "jsonl", "csv", "txt", "md", "py", "yaml", "yml", "toml"];
    name.rsplit_once('.').is_some_and(|(_, extension)| FILES.contains(&extension))
}

fn matching(pattern: &str, system: &dyn System) -> Result<Vec<String>, Error> {
    let list = |folder: &str| system.list(non_empty(folder));
    let expanded = expand(&[pattern.to_owned()], &list);
    if let Some(problem) = expanded.problem {
        return Err(Error::plain(problem, "name the suites themselves"));
    }
    let mut files = expanded.files;
    if pattern.ends_with('/') {
        files.retain(|file| is_suite(file));
    }
    if files.is_empty() {
        return Err(Error::plain(
            format!("no file matches `{pattern}`"),
            "name a suite file, a folder of them, or another pattern",
        ));
    }
    Ok(files)
}

fn is_suite(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
    stem.is_some_and(|stem| stem == "suite" || stem.strip_suffix(".suite").is_some())
}

#[cfg(test)]
mod tests {
    use super::suite_files;
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn folders_and_patterns_stand_for_the_suites_in_them() {
        let files = [
            "/w/suite.yaml",
            "/w/e/a/suite.yaml",
            "/w/e/b/x.suite.yml",
            "/w/e/b/base.yaml",
            "/w/e/[x].yaml",
            "/w/e/node_modules/suite.yaml",
            "/w/f/.hidden/suite.yaml",
            "/w/f/target/suite.yaml",
            "/w/f/suite.yaml",
            "/w/none/data.jsonl",
        ];
        let system = MemorySystem::with(&files.map(|path| (path, "x")));
        let found = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            match suite_files(&named, &system) {
                Ok(found) => found.join(" "),
                Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
            }
        };
        let both = "/w/e/a/suite.yaml /w/e/b/x.suite.yml";
        for (named, expected) in [
            (&["a.yaml"][..], "a.yaml"),
            (&["/w/e"], both),
            (&["/w/e/a/suite.yaml", "/w/e/"], both),
            (&["/w/f"], "/w/f/suite.yaml"),
            (&["/w/e/*/*.yaml"], "/w/e/a/suite.yaml /w/e/b/base.yaml"),
            (&["/w/e/*/"], both),
            (&["/w/e/[x].yaml"], "/w/e/[x].yaml"),
            (&["/w/none"], "error: the folder `/w/none` has no suite"),
            (&["/w/x/*.yaml"], "error: no file matches `/w/x/*.yaml`"),
        ] {
            assert_eq!(found(named), expected, "{named:?}");
        }
    }

    #[test]
    fn suites_of_other_names_are_told_where_a_folder_holds_none() {
        let suite = "name: s\ngraders: {}\n";
        let system = MemorySystem::with(&[
            ("w/other.yaml", suite),
            ("w/evals.yml", suite),
            ("w/config.yaml", "a: 1\n"),
        ]);
        let said = suite_files(&["w".to_owned()], &system).unwrap_err().to_string();
        assert!(said.contains("name `w/evals.yml`, `w/other.yaml` itself"), "{said}");
    }
}
