//! `evalrs init`: writes a small suite to start from, with a grader of one's own on request, or the skill file for agents.
//! Overwrites nothing.
//!
//! What it writes stands in the folder `init` beside this file, and tests run it.

use crate::cli::{InitArgs, StarterLanguage};
use evalrs_base::file_path::join;
use evalrs_base::text::enumerated;
use evalrs_system::FileBytes;
use evalrs_use_cases::console::Console;
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
    let files = match (args.skill, args.rubric) {
        (true, _) => skill(&args.dir),
        (_, true) => judged(&args.dir),
        _ => files(&args.dir, grader.as_ref()),
    };
    let is_there = |path: &str| console.system.read(path) != FileBytes::Missing;
    let there = files.iter().filter(|file| is_there(&file.path));
    let there: Vec<String> = there.map(|file| format!("`{}`", file.path)).collect();
    if !there.is_empty() {
        let hint = if args.skill {
            "to get those of this version, remove them and rerun `evalrs init --skill`"
        } else {
            "name another folder: `evalrs init DIR`"
        };
        let exist = if there.len() == 1 { "exists" } else { "exist" };
        let there = enumerated(&there, "and");
        let message = format!("{there} already {exist}; nothing was written");
        return Err(Error::plain(message, hint));
    }
    let beside = if args.rubric { &BESIDE[..] } else { &[] };
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
    for StarterFile { path, text, is_executable } in &files {
        console.system.write(path, &mut |to| to.write_all(text.as_bytes()))?;
        if *is_executable {
            console.system.make_executable(path)?;
        }
        writeln!(console.out, "wrote {path}")?;
    }
    if !args.skill {
        say_next(args, grader.as_ref(), console)?;
    }
    Ok(ExitStatus::Success)
}

fn say_next(
    args: &InitArgs,
    grader: Option<&StarterGrader>,
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
        writeln!(console.out, "  evalrs watch suite.yaml          # and edit rubric.txt")?;
        return writeln!(console.out, "  evalrs cache export suite.yaml   # and commit the file");
    }
    writeln!(console.out, "  evalrs run suite.yaml")
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
    vec![
        plain(dir, "suite.yaml", include_str!("init/rubric.yaml")),
        plain(dir, "rubric.txt", include_str!("init/rubric.txt")),
        plain(dir, "dataset.jsonl", LABELLED),
    ]
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
        return vec![plain(dir, "suite.yaml", CONTAINS), plain(dir, "dataset.jsonl", DATASET)];
    };
    vec![
        plain(dir, "suite.yaml", PROGRAM.replace(NAME, file)),
        // The same rows are records for `evalrs grade`, in the words of its protocol.
        plain(dir, "dataset.jsonl", DATASET.replace(FIELDS[0], FIELDS[1])),
        StarterFile { is_executable, ..plain(dir, file, text) },
    ]
}
