//! What is known of the programs that a suite names: their files, what runs them, and which further files they load.
//!
//! The last is known in two steps, like the depfile of a compiler. A key of everything else, the base key, leads to an
//! entry of the store that lists what the program was seen to load; the digests of those files complete the key that
//! its results are kept under. Where there is no such entry the program is loaded once, before anything is keyed. What
//! it loads only later is added to the entry when it is seen, before any result that rests on it is durable.
//!
//! The entry also lists where the program looked for files that were not there. Those add nothing to keys as long as
//! they are not: one that is made is one that may be loaded in place of another.
//!
//! Files that a command names and writes are known likewise, and are in no key: see `outputs`.

mod arguments;
mod imports;
mod inputs;
mod listings;
mod loads;
mod outputs;
mod paths;
mod program_set;
mod reads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evalrs_base::diagnostic::suggest;
use evalrs_base::file_path::{folder_of, join, non_empty};
use evalrs_eval::action::Action;
use evalrs_eval::program::{
    DependenciesAction, Depfile, DepfileFormat, FOLDER, MISSING, ProgramFingerprint,
    ProgramIdentity, Uncallable, UncallablePart, file_digest, minor_version, runtimes, shebang,
};
pub(crate) use evalrs_exec::programs::changed_meanwhile;
use evalrs_exec::programs::environment_of;
use evalrs_exec::{Discovered, Runtime, Secret, SeenFiles, Start};
use evalrs_model::spec::{Language, ProgramSpec, Variable};
use evalrs_system::glob;
use evalrs_system::{FileBytes, System};

use inputs::DeclaredInputs;
pub(crate) use listings::{FoundListing, entry, listed};
pub(crate) use loads::{depfile_of, grown, is_outgrown, loaded_of};
pub(crate) use outputs::{KnownOutputs, ProgramNow, program_now};
pub(crate) use program_set::{Listing, ProgramSet};

/// Where programs run, and what they may see.
#[derive(Clone, Copy, Debug)]
pub struct ProgramContext<'a> {
    /// The folder of the suite: paths in keys are seen from it, and programs run there.
    pub folder: &'a str,
    /// The folder of which it is told which files a program loads.
    pub workspace: &'a str,
    /// The environment.
    pub environment: &'a BTreeMap<String, String>,
    /// Whether programs see all of it, as if they were run by hand. Only what a spec names decides keys.
    pub sees_all: bool,
}

/// A program whose files were read.
#[derive(Clone, Debug)]
pub struct ReadProgram {
    /// What is known of it, without what it loads.
    pub known: Arc<ProgramFingerprint>,
    /// How it is started.
    pub start: Arc<Start>,
    /// Its own file and its declared inputs: what it may read without being told of.
    pub paths: Vec<String>,
    /// The files that it was found to write, from the suite's folder: they are among none of these.
    pub outputs: BTreeSet<String>,
    /// The suite's folder, as it is named and absolute.
    folder: String,
    home: String,
    /// What a script of Python imports from beside it and does not declare, from the suite's folder.
    imports: Vec<String>,
}

impl ReadProgram {
    /// Reads the files of a program.
    pub fn read(
        spec: &ProgramSpec,
        place: &ProgramContext<'_>,
        system: &dyn System,
    ) -> Result<Self, Uncallable> {
        let bytes = bytes(spec, system)?;
        check_folder(spec, system)?;
        let env = passed(spec, place);
        let cwd = system.absolute(spec.cwd.as_deref().unwrap_or(non_empty(place.folder)));
        let runtime = runtime(spec, &bytes, &cwd, &env, system)?;
        let home = system.absolute(non_empty(place.folder));
        let DeclaredInputs { files: mut inputs, empty } = inputs::declared(spec, place, system)?;
        let outputs = arguments::files_of(&spec.outputs, place, system);
        inputs.retain(|path| !outputs.contains(&system.absolute(&join(place.folder, path))));
        let locks = lock_files(spec, place, system);
        let state = |path: &String| inputs::state(spec, place.folder, path, system);
        let all = inputs.iter().chain(&locks).chain(&empty);
        let mut digests: Vec<(String, String)> =
            all.map(|path| (path.clone(), state(path))).collect();
        digests.sort();
        digests.dedup();
        let known = ProgramFingerprint {
            path: if spec.path.is_empty() {
                String::new()
            } else {
                seen_from(&home, &system.absolute(&spec.path))
            },
            program: if spec.has_text() { hex(&bytes) } else { String::new() },
            runtime: runtime
                .as_ref()
                .map(|runtime| in_keys(runtime, spec, place, system))
                .unwrap_or_default(),
            inputs: digests,
            dependencies: Vec::new(),
            missed: Arc::default(),
            env: variables(spec, place, system),
            cwd: spec.cwd.as_deref().map(|cwd| seen_from(&home, &system.absolute(cwd))),
        };
        let runs_itself = spec.language == Language::Executable && spec.runtime.is_none();
        let start = Start {
            spec: spec.clone(),
            path: if spec.path.is_empty() { String::new() } else { system.absolute(&spec.path) },
            runtime: runtime.filter(|_| !runs_itself),
            cwd,
            workspace: system.absolute(non_empty(place.workspace)),
            inputs: inputs.iter().map(|path| system.absolute(&join(place.folder, path))).collect(),
            may_write: arguments::may_write(spec, place, system),
            env,
        };
        let paths = inputs.iter().map(|path| join(place.folder, path));
        let own = (!spec.path.is_empty()).then(|| spec.path.clone());
        let paths: Vec<String> = own.into_iter().chain(paths).collect();
        let imports = imports::undeclared(spec, &bytes, &paths, system);
        let imports = imports.iter().map(|path| seen_from(&home, &system.absolute(path))).collect();
        Ok(Self {
            known: Arc::new(known),
            start: Arc::new(start),
            paths,
            outputs: BTreeSet::new(),
            folder: place.folder.to_owned(),
            home,
            imports,
        })
    }

    /// The action that finds out which files it loads.
    pub(crate) fn dependencies_action(&self) -> Action {
        dependencies_action(self.identity())
    }

    /// What is known of it before it is known what it loads.
    fn identity(&self) -> Arc<ProgramIdentity> {
        let spec = self.start.spec.clone();
        let known = self.known.as_ref().clone();
        Arc::new(ProgramIdentity { spec, known })
    }

    /// What is known of it once it is known what it loads, seen from the suite's folder. What was `seen` of the files is
    /// what runs, whatever they are by now.
    pub(crate) fn loading(
        &self,
        depfile: &Depfile,
        seen: &SeenFiles,
        folder: &str,
        system: &dyn System,
    ) -> ProgramFingerprint {
        let mut dependencies = BTreeMap::new();
        for path in &depfile.files {
            let seen = seen.get(path).cloned().flatten();
            let state = seen.unwrap_or_else(|| state(&join(folder, path), system));
            dependencies.insert(path.clone(), state);
        }
        let mut folders = Folders::of(system);
        let mut missed = BTreeSet::new();
        for path in &depfile.missed {
            let is_missed = seen.contains_key(path) || dependencies.contains_key(path);
            match (!is_missed).then(|| folders.state(&join(folder, path))).flatten() {
                Some(state) => drop(dependencies.insert(path.clone(), state)),
                None => drop(missed.insert(path.clone())),
            }
        }
        let dependencies = dependencies.into_iter().collect();
        let missed = Arc::new(missed);
        ProgramFingerprint { dependencies, missed, ..self.known.as_ref().clone() }
    }
}

/// The action that finds out which files a program loads, whichever are known of them.
pub(crate) fn dependencies_action(identity: Arc<ProgramIdentity>) -> Action {
    Action::Dependencies(DependenciesAction { identity, format: DepfileFormat::All })
}

/// What keys say of what stands at a path.
fn state(path: &str, system: &dyn System) -> String {
    match system.read(path) {
        FileBytes::Bytes(bytes) => file_digest(Some(&bytes)),
        FileBytes::Folder => FOLDER.to_owned(),
        FileBytes::Missing | FileBytes::Unreadable(_) => MISSING.to_owned(),
    }
}

/// Folders in which many files are looked for that are not there: each is read once.
struct Folders<'a> {
    system: &'a dyn System,
    names: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Folders<'a> {
    fn of(system: &'a dyn System) -> Self {
        Self { system, names: BTreeMap::new() }
    }

    /// What keys say of what stands at a path, if something does.
    fn state(&mut self, path: &str) -> Option<String> {
        let folder = non_empty(folder_of(path));
        if !self.names.contains_key(folder) {
            let names = self.system.list(folder).unwrap_or_default();
            self.names.insert(folder.to_owned(), names.into_iter().collect());
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_there = self.names.get(folder).is_some_and(|names| names.contains(name));
        is_there.then(|| state(path, self.system)).filter(|state| state != MISSING)
    }
}

/// What was discovered, with paths as they are seen from `folder`: what a program loads and reads, and what was seen of
/// the files that it loads and of those that were not there.
pub(crate) fn discovered_from(
    folder: &str,
    discovered: Discovered,
    system: &dyn System,
) -> (Depfile, SeenFiles) {
    let home = system.absolute(non_empty(folder));
    let Discovered { files, missed, reads, .. } = discovered;
    let mut seen: SeenFiles =
        files.into_iter().map(|(path, state)| (seen_from(&home, &path), state)).collect();
    let files: BTreeSet<String> = seen.keys().cloned().collect();
    let missed = missed.iter().map(|path| seen_from(&home, path));
    let missed: BTreeSet<String> = missed.filter(|path| !files.contains(path)).collect();
    seen.extend(missed.iter().map(|path| (path.clone(), Some(MISSING.to_owned()))));
    let reads = reads.into_iter().map(|(path, digest)| (seen_from(&home, &path), digest));
    let reads = reads.filter(|(path, _)| !files.contains(path));
    let reads = reads.map(|(path, digest)| (path, digest.into_iter().collect())).collect();
    (Depfile { files, missed, reads, ..Depfile::default() }, seen)
}

/// An absolute path as it is seen from `folder`, which is absolute too.
pub(crate) fn seen_from(folder: &str, path: &str) -> String {
    let mut ups = String::new();
    let mut base = folder.trim_end_matches('/');
    loop {
        match path.strip_prefix(base).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => return format!("{ups}{rest}"),
            None if base.is_empty() => return path.to_owned(),
            None => {
                base = &base[..base.rfind('/').unwrap_or(0)];
                ups.push_str("../");
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    file_digest(Some(bytes))
}

fn digest(path: &str, system: &dyn System) -> String {
    file_digest(system.read(path).into_bytes().ok().as_deref())
}

/// The bytes of a program's file, which may be executed if that is how it runs.
fn bytes(spec: &ProgramSpec, system: &dyn System) -> Result<Vec<u8>, Uncallable> {
    if let Some(text) = &spec.inline {
        return Ok(text.clone().into_bytes());
    }
    let path = spec.path.as_str();
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let error = |message: String| Uncallable::new(UncallablePart::File, message);
    let bytes = match system.read(path) {
        FileBytes::Bytes(bytes) => bytes,
        FileBytes::Folder => {
            return Err(error(format!("`{path}` is a folder")).hint("name a file in it"));
        }
        FileBytes::Unreadable(why) => return Err(error(format!("cannot read `{path}`: {why}"))),
        FileBytes::Missing => {
            let missing = error(format!("there is no file `{path}`"));
            let folder = folder_of(path);
            let names = system.list(non_empty(folder)).unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or(path);
            return Err(match suggest(name, names.iter().map(String::as_str)) {
                Some(near) => missing.hint(format!("did you mean `{}`?", join(folder, near))),
                None => missing,
            });
        }
    };
    let runs_itself = spec.language == Language::Executable && spec.runtime.is_none();
    if runs_itself && !system.is_executable(path) {
        return Err(error(format!("`{path}` may not be executed"))
            .hint(format!("run `chmod +x {path}`, or name what runs it with `runtime`")));
    }
    Ok(bytes)
}

fn check_folder(spec: &ProgramSpec, system: &dyn System) -> Result<(), Uncallable> {
    match &spec.cwd {
        Some(cwd) if system.list(non_empty(cwd)).is_none() => {
            Err(Uncallable::new(UncallablePart::Cwd, format!("`cwd`: there is no folder `{cwd}`")))
        }
        _ => Ok(()),
    }
}

/// What runs a program in the folder `cwd` that sees `env`; none for an executable of which the system itself knows that.
fn runtime(
    spec: &ProgramSpec,
    bytes: &[u8],
    cwd: &str,
    env: &[(String, Secret)],
    system: &dyn System,
) -> Result<Option<Runtime>, Uncallable> {
    let names = match (&spec.runtime, spec.language) {
        (Some(said), _) => vec![said.clone()],
        (None, Language::Executable) if spec.path.is_empty() => return Ok(None),
        (None, Language::Executable) => match shebang(bytes) {
            Some(name) => vec![name],
            None => return Ok(None),
        },
        (None, language) => runtimes(language).iter().map(|name| (*name).to_owned()).collect(),
    };
    let found = names.iter().find_map(|name| system.find_program(name));
    let Some(path) = found else {
        if spec.language == Language::Executable && spec.runtime.is_none() {
            let message = format!("its first line asks for `{}`, which is not installed", names[0]);
            return Err(Uncallable::new(UncallablePart::File, message));
        }
        let names = names.join("`, `");
        return Err(match &spec.runtime {
            Some(said) => {
                let place = if said.contains('/') { "" } else { " in PATH" };
                let field = if spec.path.is_empty() { "" } else { "`runtime`: " };
                let message = format!("{field}there is no program `{names}`{place}");
                Uncallable::new(UncallablePart::Runtime, message)
            }
            None => Uncallable::new(UncallablePart::File, "nothing here runs it")
                .hint(format!("install one of `{names}`, or name another with `runtime`")),
        });
    };
    let name = evalrs_eval::program::runtime_name(spec.language, &path);
    // What is not known to tell its version is not asked.
    let version = if evalrs_eval::program::tells_version(&name) {
        system.version_of(&path, cwd, &environment_of(system.environment(), env))
    } else {
        None
    };
    Ok(Some(Runtime { name, path, version: version.unwrap_or_default() }))
}

/// A runtime as keys know it: with major and minor version, and with what the suite says of it, because two of one
/// version may have other packages. A path in the workspace is seen from the suite's folder, so that moving the
/// workspace changes nothing.
fn in_keys(
    runtime: &Runtime,
    spec: &ProgramSpec,
    place: &ProgramContext<'_>,
    system: &dyn System,
) -> String {
    let version = minor_version(&runtime.version);
    let plain = format!("{} {version}", runtime.name).trim_end().to_owned();
    let Some(said) = &spec.runtime else { return plain };
    if !said.contains('/') {
        return format!("{plain} ({said})");
    }
    let path = system.absolute(said);
    let workspace = system.absolute(non_empty(place.workspace));
    let rest = path.strip_prefix(workspace.trim_end_matches('/'));
    if rest.is_some_and(|rest| rest.starts_with('/')) {
        let home = system.absolute(non_empty(place.folder));
        return format!("{plain} ({})", seen_from(&home, &path));
    }
    format!("{plain} ({path})")
}

/// The lock file that stands for the packages which a program may load, if packages are installed beside it.
fn lock_files(spec: &ProgramSpec, place: &ProgramContext<'_>, system: &dyn System) -> Vec<String> {
    let packages: &[&str] = match spec.language {
        _ if spec.inline.is_some() => return Vec::new(),
        Language::JavaScript => &["node_modules"],
        Language::Python => &[".venv", "venv"],
        Language::Executable => return Vec::new(),
    };
    let folder = system.absolute(non_empty(folder_of(&spec.path)));
    let workspace = system.absolute(non_empty(place.workspace));
    let mut at = folder.as_str();
    loop {
        let names = system.list(at).unwrap_or_default();
        if let Some(installed) = names.iter().find(|name| packages.contains(&name.as_str())) {
            let list = |folder: &str| system.list(if folder.is_empty() { "/" } else { folder });
            let lock = glob::lock_file(&join(at, installed), &list);
            let home = system.absolute(non_empty(place.folder));
            return lock.into_iter().map(|path| seen_from(&home, &path)).collect();
        }
        if at == workspace || at.len() <= 1 {
            return Vec::new();
        }
        at = folder_of(at);
    }
}

/// Variables that say where modules are looked for, which workers see without being told.
const SEARCHED: [&str; 2] = ["PYTHONPATH", "NODE_PATH"];

/// The names of the variables that are passed on, each with the digest of its value unless that is a secret; and where
/// modules are looked for, as it is seen from the suite's folder.
fn variables(
    spec: &ProgramSpec,
    place: &ProgramContext<'_>,
    system: &dyn System,
) -> Vec<(String, Option<String>)> {
    let of = |variable: &Variable| {
        let value = place.environment.get(&variable.name).filter(|_| !variable.is_secret);
        (variable.name.clone(), value.map(|value| hex(value.as_bytes())))
    };
    let home = system.absolute(non_empty(place.folder));
    let searched = |name: &&str| {
        let value = place.environment.get(*name).filter(|value| !value.is_empty())?;
        let seen = value.split(':').map(|path| seen_from(&home, &system.absolute(non_empty(path))));
        let seen: Vec<String> = seen.collect();
        Some(((*name).to_owned(), Some(hex(seen.join(":").as_bytes()))))
    };
    let searched = SEARCHED.iter().filter(|_| spec.language.has_worker()).filter_map(searched);
    let mut all: Vec<_> = spec.env.iter().map(of).chain(searched).collect();
    all.sort();
    all.dedup_by(|left, right| left.0 == right.0);
    all
}

fn passed(spec: &ProgramSpec, place: &ProgramContext<'_>) -> Vec<(String, Secret)> {
    let of = |name: &String| {
        let value = place.environment.get(name)?;
        Some((name.clone(), Secret::new(value.clone())))
    };
    if place.sees_all {
        return place.environment.keys().filter_map(of).collect();
    }
    spec.env.iter().map(|variable| &variable.name).filter_map(of).collect()
}

#[cfg(test)]
mod tests;
