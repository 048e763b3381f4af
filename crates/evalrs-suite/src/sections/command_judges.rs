//! Judges that are commands: their words, what they rest on, and which settings of other judges they do not take.
//!
//! A command is a program as targets have them. What a model is told by a setting, a command is told by its words.

use serde_json::{Value, json};

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{Text, Texts, Whole};
use crate::section::{FieldSpec, fields};
use crate::sections::environment::{ENVIRONMENT, SANDBOX_SHAPE};
use crate::sections::model::JUDGE;
use crate::sections::program_files::{words, written_words};
use crate::sections::programs::{self, with_settings};
use crate::written::{extend, without_empty};
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_eval::judge::command;
use evalrs_model::spec::{JudgeProgramSpec, JudgeSpec, Patience, ProgramSpec, Role};

/// The settings of a judge that is a command.
pub(crate) const COMMAND_JUDGE: &[FieldSpec] = fields![
    "command": Texts => "a command that judges instead of a model, word by word and without a shell; it reads the prompt on standard input, or as the word `{prompt}`, and prints the verdict";
    "version": Text => "any text; a new one judges again, for changes that no file shows";
    "inputs": Texts => "files, folders and patterns that the command depends on; a change judges again";
    "env": ENVIRONMENT => "more environment variables to pass on: names, `{NAME: secret}` to keep the value out of keys, or `{NAME: plain}` to put it in";
    "sandbox": SANDBOX_SHAPE => "the sandbox: a kind, or `{kind, memory, cpu}`; if absent, that of the suite, then of `evalrs.toml`";
    "retries": Whole(0, 100, "between 0 and 100"), or "1" => "more attempts after a run of the command that failed or timed out";
];

/// Seconds that one run may take, and further attempts, where the suite does not say.
const TIMEOUT: f64 = 300.0;
const RETRIES: u32 = 1;

/// The field that makes a judge a command.
pub(crate) const COMMAND: &str = "command";
/// What of the settings of judges commands take too.
const TAKEN: [&str; 3] = ["timeout", "deadline", "max_requests_per_minute"];
/// What makes a judge another one.
const OTHERS: [&str; 2] = ["model", "agent_file"];

pub(crate) fn command_judge(
    command: Field<'_>,
    fields: &FieldSet<'_>,
    reader: &mut Reader<'_>,
) -> JudgeSpec {
    refuse_settings(fields);
    let spec = words(command, Role::Judge);
    let spec = spec.map(|spec| ProgramSpec { timeout_ms: (TIMEOUT * 1000.0) as u64, ..spec });
    let program = with_settings(spec, command, fields, reader);
    let defaults = Patience { timeout: TIMEOUT, max_retries: RETRIES, ..Patience::default() };
    let patience = Patience {
        max_retries: fields.whole("retries").unwrap_or(defaults.max_retries),
        timeout: fields.seconds("timeout").unwrap_or(defaults.timeout),
        deadline: fields.seconds("deadline").unwrap_or(defaults.deadline),
        max_requests_per_minute: fields.whole("max_requests_per_minute"),
        ..defaults
    };
    let version = fields.text("version");
    JudgeSpec {
        model: program.as_ref().map(command::name).unwrap_or_default(),
        provider: command::PROVIDER.to_owned(),
        temperature: None,
        patience,
        program: program.map(|program| Box::new(JudgeProgramSpec { program, version })),
        ..JudgeSpec::default()
    }
}

/// Reports settings that say something to models alone.
fn refuse_settings(fields: &FieldSet<'_>) {
    let refused = JUDGE.iter().map(|field| field.name).filter(|name| !TAKEN.contains(name));
    for field in refused.filter_map(|name| fields.take(name)) {
        let name = field.key.as_str();
        let (message, hint) = match name {
            "model" => (
                "a judge has a `command` or a `model`, not both".to_owned(),
                "keep one; name the model among the words of the command, for example `[claude, -p, --model, haiku]`",
            ),
            "agent_file" => {
                ("a judge has a `command` or an `agent_file`, not both".to_owned(), "keep one")
            }
            "max_retries" => (not_taken(name), "write `retries`"),
            _ => (not_taken(name), "put settings among the words of the command"),
        };
        field.error_at_key(&message, hint);
    }
}

fn not_taken(name: &str) -> String {
    format!("a judge with a `command` takes no `{name}`")
}

/// Reports what only commands have of a judge that is none.
pub(crate) fn refuse_without_command(fields: &FieldSet<'_>) {
    let names = COMMAND_JUDGE.iter().map(|field| field.name);
    for field in names.filter_map(|name| fields.take(name)) {
        let hint = "name a command that judges with `command: [PROGRAM, ARGUMENT]`";
        field.error_at_key(
            &format!(
                "`{}` is a setting of judges that are \
                                     commands",
                field.key
            ),
            hint,
        );
    }
}

/// The fields of a judge of a panel without those of the grader that are not for it: a command inherits nothing that only
/// models have, and a model nothing that only commands have.
pub(crate) fn inherited(entries: Vec<YamlEntry>, own: &[YamlEntry]) -> Vec<YamlEntry> {
    let says = |name: &str| own.iter().any(|own| own.key == name && own.value.value != Yaml::Null);
    let is_command = says(COMMAND);
    let is_other = !is_command && OTHERS.iter().any(|name| says(name));
    let of_command = |name: &str| COMMAND_JUDGE.iter().any(|field| field.name == name);
    let is_kept = |entry: &YamlEntry| {
        let name = entry.key.as_str();
        let is_own = own.iter().any(|own| own.key == name);
        let fits_command = of_command(name) || TAKEN.contains(&name);
        is_own || !(is_command && !fits_command || is_other && of_command(name))
    };
    entries.into_iter().filter(is_kept).collect()
}

/// A judge that is a command, as it is written back.
pub(crate) fn written(spec: &JudgeSpec, judge: &JudgeProgramSpec, path: &str) -> Value {
    let mut all = json!({"command": written_words(&judge.program), "version": judge.version});
    extend(&mut all, programs::written(&judge.program, path));
    let patience = json!({
        "timeout": spec.patience.timeout,
        "deadline": spec.patience.deadline,
        "retries": spec.patience.max_retries,
        "max_requests_per_minute": spec.patience.max_requests_per_minute,
        // What runs it is its first word.
        "runtime": null,
    });
    extend(&mut all, patience);
    without_empty(all)
}
