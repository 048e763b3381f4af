//! A program of a suite as it is by now: its files, what runs it, and what keys hold of both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file_state::{Folders, hex, seen_from, state};
use super::inputs::{self, DeclaredInputs};
use super::program_context::ProgramContext;
use super::{arguments, imports};
use evalrs_base::diagnostic::suggest;
use evalrs_base::file_path::{folder_of, join, non_empty};
use evalrs_eval::action::Action;
use evalrs_eval::program::{
    DependenciesAction, Depfile, DepfileFormat, ProgramFingerprint, ProgramIdentity, Uncallable,
    UncallablePart, minor_version, runtime_name, runtimes, shebang, tells_version,
};
use evalrs_exec::programs::environment_of;
use evalrs_exec::{Runtime, Secret, SeenFiles, Start};
use evalrs_model::key::ActionKey;
use evalrs_model::spec::{Language, ProgramSpec, Variable};
use evalrs_system::{FileBytes, System, glob};

/// A program whose files were read.
#[derive(Clone, Debug)]
pub struct ReadProgram {
    /// What is known of it, without what it loads.
    pub known: Arc<ProgramFingerprint>,
    pub start: Arc<Start>,
    /// Its own file and its declared inputs: files it may read without a warning.
    pub paths: Vec<String>,
    /// The files that it was found to write, from the suite's folder: they are among none of these.
    pub outputs: BTreeSet<String>,
    /// The suite's folder, as it is named and absolute.
    pub folder: String,
    pub home: String,
    /// What a script of Python imports from beside it and does not declare, from the suite's folder.
    pub imports: Vec<String>,
}

impl ReadProgram {
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
        let path = if spec.path.is_empty() { String::new() } else { system.absolute(&spec.path) };
        let known = ProgramFingerprint {
            path: if path.is_empty() { String::new() } else { seen_from(&home, &path) },
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
            path,
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

    /// The key of what is known of it without what it loads.
    pub(crate) fn base(&self) -> ActionKey {
        self.dependencies_action().key()
    }

    /// What is known of it before it is known what it loads.
    pub fn identity(&self) -> Arc<ProgramIdentity> {
        let spec = self.start.spec.clone();
        Arc::new(ProgramIdentity { spec, known: self.known.as_ref().clone() })
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
        let files = depfile.files.iter().map(|path| {
            let seen = seen.get(path).cloned().flatten();
            (path.clone(), seen.unwrap_or_else(|| state(&join(folder, path), system)))
        });
        let mut dependencies: BTreeMap<String, String> = files.collect();
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
            let missing = error(format!("the file `{path}` does not exist"));
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
        return Err(error(format!("`{path}` is not executable"))
            .hint(format!("run `chmod +x {path}`, or name what runs it with `runtime`")));
    }
    Ok(bytes)
}

fn check_folder(spec: &ProgramSpec, system: &dyn System) -> Result<(), Uncallable> {
    match &spec.cwd {
        Some(cwd) if system.list(non_empty(cwd)).is_none() => Err(Uncallable::new(
            UncallablePart::Cwd,
            format!(
                "`cwd`: the folder `{cwd}` does not \
                                                              exist"
            ),
        )),
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
            let message = format!("its first line needs `{}`, which is not installed", names[0]);
            return Err(Uncallable::new(UncallablePart::File, message));
        }
        let names = names.join("`, `");
        return Err(match &spec.runtime {
            Some(said) => {
                let place = if said.contains('/') { "" } else { " in PATH" };
                let field = if spec.path.is_empty() { "" } else { "`runtime`: " };
                let message = format!("{field}no program `{names}`{place}");
                Uncallable::new(UncallablePart::Runtime, message)
            }
            None => Uncallable::new(UncallablePart::File, "no runtime here runs it")
                .hint(format!("install one of `{names}`, or name another with `runtime`")),
        });
    };
    let name = runtime_name(spec.language, &path);
    // What is not known to tell its version is not asked.
    let version = tells_version(&name)
        .then(|| system.version_of(&path, cwd, &environment_of(system.environment(), env)))
        .flatten();
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

/// The lock file of the packages which a program may load, if packages are installed beside it.
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

/// Variables that set where modules are looked for, which workers see without a declaration.
const SEARCHED: [&str; 2] = ["PYTHONPATH", "NODE_PATH"];

/// The names of the variables that are passed on, each with the digest of its value unless that is a secret; and where
/// modules are looked for, as it is seen from the suite's folder.
fn variables(
    spec: &ProgramSpec,
    place: &ProgramContext<'_>,
    system: &dyn System,
) -> Vec<(String, Option<String>)> {
    let passed = spec.env.iter().map(|Variable { name, is_secret }| {
        let value = place.environment.get(name).filter(|_| !is_secret);
        (name.clone(), value.map(|value| hex(value.as_bytes())))
    });
    let home = system.absolute(non_empty(place.folder));
    let searched = |name: &&str| {
        let value = place.environment.get(*name).filter(|value| !value.is_empty())?;
        let seen = value.split(':').map(|path| seen_from(&home, &system.absolute(non_empty(path))));
        let seen: Vec<String> = seen.collect();
        Some(((*name).to_owned(), Some(hex(seen.join(":").as_bytes()))))
    };
    let searched = SEARCHED.iter().filter(|_| spec.language.has_worker()).filter_map(searched);
    let mut all: Vec<_> = passed.chain(searched).collect();
    all.sort();
    all.dedup_by(|left, right| left.0 == right.0);
    all
}

fn passed(spec: &ProgramSpec, place: &ProgramContext<'_>) -> Vec<(String, Secret)> {
    let secret = |(name, value): (&String, &String)| (name.clone(), Secret::new(value.clone()));
    if place.sees_all {
        return place.environment.iter().map(secret).collect();
    }
    let named = spec.env.iter();
    named.filter_map(|it| place.environment.get_key_value(&it.name).map(secret)).collect()
}
