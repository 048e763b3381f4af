//! `evalrs init`: writes a small suite to start from, or one over data of the user, with a grader of one's own on request, or
//! the skill file for agents.
//! Overwrites nothing.
//!
//! What it writes stands in the folder `init` beside this file, and tests run it.

use crate::cli::{InitArgs, StarterLanguage};
use evalrs_base::file_path::join;
use evalrs_base::text::enumerated;
#[cfg(feature = "import")]
use evalrs_base::text::sanitize;
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};

const DATASET: &str = include_str!("init/dataset.jsonl");
const LABELLED: &str = include_str!("init/labelled.jsonl");
const CONTAINS: &str = include_str!("init/contains.yaml");
const PROGRAM: &str = include_str!("init/program.yaml");
const SKILL: &str = include_str!("init/SKILL.md");

/// Where agents look for skills: Claude Code, and those that follow the common convention.
const SKILL_FOLDERS: [&str; 2] = [".claude/skills/evalrs", ".agents/skills/evalrs"];

/// The name of the reference answer in the rows of suites, and in records that a grader gets.
const FIELDS: [&str; 2] = ["\"ground_truth\":", "\"hint\":"];

/// What git and CI have to know. Where one is there already, it is left alone.
const BESIDE: [(&str, &str); 3] = [
    (".gitignore", include_str!("init/gitignore")),
    (".gitattributes", include_str!("init/gitattributes")),
    ("evals.yml", include_str!("init/evals.yml")),
];

/// The files of every starter.
const SUITE: &str = "suite.yaml";
const SETTINGS: &str = "evalrs.toml";

/// What the grader is called in the suite's template.
const NAME: &str = "GRADER";
/// A record to try a grader with.
const RECORD: &str = r#"{"input":"test","output":"hello world","hint":"world"}"#;

struct StarterGrader {
    file: &'static str,
    text: &'static str,
    /// Whether it is run by itself.
    is_executable: bool,
}

struct StarterFile {
    path: String,
    text: String,
    is_executable: bool,
}

/// Writes the files, unless one of them is there.
pub(crate) fn init(args: &InitArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let grader = args.grader.map(grader);
    let over_data = data_suite(args, console.system)?;
    let mut files = match &over_data {
        Some(suite) => vec![plain(&args.dir, SUITE, suite.text.as_str())],
        None if args.skill => skill(&args.dir),
        None if args.rubric => judged(&args.dir),
        None => files(&args.dir, grader.as_ref()),
    };
    check_free(args, &files, console.system)?;
    if !args.skill {
        files.extend(workspace(&args.dir, console.system)?);
    }
    let beside = match &over_data {
        _ if args.rubric => &BESIDE[..],
        Some(_) => &BESIDE[..1],
        None => &[],
    };
    let is_there = |path: &str| console.system.read(path) != FileBytes::Missing;
    for (name, text) in beside {
        let path = join(&args.dir, name);
        if is_there(&path) {
            writeln!(
                console.out,
                "{path} exists and was not changed; it should \
                                   contain:\n{}",
                indented(text)
            )?;
            continue;
        }
        console.system.write(&path, &mut |to| to.write_all(text.as_bytes()))?;
        writeln!(console.out, "wrote {path}")?;
    }
    // The suite is the last: an interrupted `init` leaves none.
    for StarterFile { path, text, is_executable } in files.iter().rev() {
        console.system.write(path, &mut |to| to.write_all(text.as_bytes()))?;
        if *is_executable {
            console.system.make_executable(path)?;
        }
    }
    for file in &files {
        writeln!(console.out, "wrote {}", file.path)?;
    }
    if let Some(suite) = &over_data {
        writeln!(console.out, "\n{}", suite.notes)?;
    }
    if !args.skill {
        say_next(args, grader.as_ref(), over_data.is_some(), console)?;
    }
    Ok(ExitStatus::Success)
}

fn check_free(args: &InitArgs, files: &[StarterFile], system: &dyn System) -> Result<(), Error> {
    let there = files.iter().filter(|file| system.read(&file.path) != FileBytes::Missing);
    let there: Vec<String> = there.map(|file| format!("`{}`", file.path)).collect();
    if there.is_empty() {
        return Ok(());
    }
    let hint = if args.skill {
        "to get those of this version, remove them and rerun `evalrs init --skill`"
    } else {
        "name another folder: `evalrs init DIR`"
    };
    let exist = if there.len() == 1 { "exists" } else { "exist" };
    let there = enumerated(&there, "and");
    let message = format!("{there} already {exist}; nothing was written");
    Err(Error::plain(message, hint))
}

/// The settings of a workspace, unless the folder is in one.
fn workspace(dir: &str, system: &dyn System) -> Result<Option<StarterFile>, Error> {
    let root = SuiteContext::find(&join(dir, SUITE), None, system)?.root;
    let is_there = system.read(&join(&root, SETTINGS)) != FileBytes::Missing;
    Ok((!is_there).then(|| plain(dir, SETTINGS, include_str!("init/evalrs.toml"))))
}

/// A suite over data of the user.
struct DataSuite {
    text: String,
    /// What a person has to know of it.
    notes: String,
}

/// The suite over the data that `--from` names.
#[cfg(feature = "import")]
fn data_suite(args: &InitArgs, system: &dyn System) -> Result<Option<DataSuite>, Error> {
    let Some(source) = &args.from else { return Ok(None) };
    let started = super::starter::over_data(source, &args.dir, &args.fields, system)?;
    let first = format!("{} in {source}", started.suite.samples(started.samples));
    let notes: Vec<String> =
        std::iter::once(first).chain(started.notes).map(|note| sanitize(&note)).collect();
    Ok(Some(DataSuite { text: started.text, notes: notes.join("\n  ") }))
}

#[cfg(not(feature = "import"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature, data may be wrong")]
fn data_suite(_: &InitArgs, _: &dyn System) -> Result<Option<DataSuite>, Error> {
    Ok(None)
}

fn say_next(
    args: &InitArgs,
    grader: Option<&StarterGrader>,
    is_over_data: bool,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    writeln!(console.out, "\nnext:")?;
    if args.dir != "." {
        writeln!(console.out, "  cd {}", args.dir)?;
    }
    if let Some(StarterGrader { file, is_executable, .. }) = grader {
        let run = if *is_executable {
            format!("./{file}")
        } else {
            format!("evalrs grade --grader ./{file}")
        };
        writeln!(console.out, "  echo '{RECORD}' | {run}")?;
        writeln!(console.out, "  evalrs grade dataset.jsonl --grader ./{file}")?;
    }
    if args.rubric {
        writeln!(console.out, "  export OPENAI_API_KEY=...")?;
        writeln!(console.out, "  evalrs run suite.yaml")?;
        writeln!(console.out, "  evalrs watch suite.yaml          # and edit a question")?;
        return writeln!(console.out, "  evalrs cache export suite.yaml   # and commit the file");
    }
    writeln!(console.out, "  evalrs run suite.yaml")?;
    if is_over_data {
        writeln!(console.out, "  evalrs watch suite.yaml   # and fill in the rubric")?;
    }
    Ok(())
}

/// The lines that are not comments, each two columns to the right.
fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn plain(dir: &str, name: &str, text: impl Into<String>) -> StarterFile {
    StarterFile { path: join(dir, name), text: text.into(), is_executable: false }
}

fn skill(dir: &str) -> Vec<StarterFile> {
    SKILL_FOLDERS.map(|folder| plain(&join(dir, folder), "SKILL.md", SKILL)).into()
}

/// The files of a suite with a judge.
fn judged(dir: &str) -> Vec<StarterFile> {
    vec![plain(dir, SUITE, include_str!("init/rubric.yaml")), plain(dir, "dataset.jsonl", LABELLED)]
}

fn grader(language: StarterLanguage) -> StarterGrader {
    let (file, text, is_executable) = match language {
        StarterLanguage::Python => ("grader.py", include_str!("init/grader.py"), true),
        StarterLanguage::Bash => ("grader.sh", include_str!("init/grader.sh"), true),
        StarterLanguage::Typescript => ("grader.ts", include_str!("init/grader.ts"), false),
        StarterLanguage::Javascript => ("grader.mjs", include_str!("init/grader.mjs"), false),
    };
    StarterGrader { file, text, is_executable }
}

fn files(dir: &str, grader: Option<&StarterGrader>) -> Vec<StarterFile> {
    let Some(&StarterGrader { file, text, is_executable }) = grader else {
        return vec![plain(dir, SUITE, CONTAINS), plain(dir, "dataset.jsonl", DATASET)];
    };
    vec![
        plain(dir, SUITE, PROGRAM.replace(NAME, file)),
        // The same rows are records for `evalrs grade`, in the words of its protocol.
        plain(dir, "dataset.jsonl", DATASET.replace(FIELDS[0], FIELDS[1])),
        StarterFile { is_executable, ..plain(dir, file, text) },
    ]
}
