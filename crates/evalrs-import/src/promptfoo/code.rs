//! Assertions that are code: JavaScript and Python of the user, and comparisons that only JavaScript makes as promptfoo does.

use serde_json::{Value, json};

use super::case::AssertionSpec;
use super::files::{ConfigFiles, ending, is_javascript, path_and_function, relative};
use super::mapped_assertion::{AssertionContext, MappedAssertion, SLOT};
use crate::folder::is_inside;
use crate::imported::ImportedFile;
use evalrs_base::file_path::folder_of;

/// The folder of copies of the user's programs.
const COPIES: &str = "files";
/// The most files that one program may load by relative paths.
const MAX_LOADED: usize = 200;

/// A condition in JavaScript.
pub(super) struct ScriptCondition {
    pub code: String,
    pub wanted: Option<Value>,
}

impl ScriptCondition {
    /// A condition that needs nothing of the row.
    pub(super) fn plain(code: &str) -> Self {
        Self { code: code.to_owned(), wanted: None }
    }
}

pub(super) const IS_JSON: &str =
    "(() => { try { JSON.parse(text); return true; } catch { return false; } })()";

/// Whether some part between braces is JSON.
pub(super) const CONTAINS_JSON: &str = "(() => {
  for (let from = text.indexOf('{'); from >= 0; from = text.indexOf('{', from + 1)) {
    for (let to = text.indexOf('}', from); to >= 0; to = text.indexOf('}', to + 1)) {
      try { JSON.parse(text.slice(from, to + 1)); return true; } catch {}
    }
  }
  return false;
})()";

/// Whether so few characters differ.
pub(super) const LEVENSHTEIN: &str = "(() => {
  let row = Array.from({ length: wanted.length + 1 }, (_, at) => at);
  for (let i = 1; i <= text.length; i++) {
    const next = [i];
    for (let j = 1; j <= wanted.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (text[i - 1] === wanted[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[wanted.length] <= MOST;
})()";

/// How a result of the user's function becomes a grade.
const GRADE: &str = "\
if (typeof result === 'boolean') { const pass = result !== NEGATED; return { pass, score: pass ? 1 : 0 }; }
if (typeof result === 'number') { return { pass: PASSES, score: Math.min(1, Math.max(0, result)) }; }
if (result && typeof result.pass === 'boolean' && typeof result.score === 'number') {
  return { pass: result.pass, score: Math.min(1, Math.max(0, result.score)), reasoning: String(result.reason ?? '') };
}
return { pass: false, score: 0, reasoning: 'the function gave no boolean, number or result' };";

/// A comparison in JavaScript, after transforms.
pub(super) fn compared(
    spec: &AssertionSpec,
    condition: ScriptCondition,
    transforms: &[String],
) -> MappedAssertion {
    let wanted = match condition.wanted {
        Some(_) => format!("const wanted = row.assert[{SLOT:?}];\n"),
        None => String::new(),
    };
    let before = transformed(transforms);
    let text = "const text = typeof answer === 'string' ? answer : JSON.stringify(answer);\n";
    let body = format!(
        "{before}{text}{wanted}const pass = ({}) !== {};\nreturn {{ pass, score: pass ? 1 : 0 }};",
        condition.code, spec.negated
    );
    MappedAssertion::new(json!({"kind": "program", "javascript": guarded(&body)}), condition.wanted)
}

/// What promptfoo hands to functions, under its names.
fn context(spec: &AssertionSpec, uses: &[&str]) -> String {
    let config =
        spec.config.as_ref().map(|config| format!(", config: {config}")).unwrap_or_default();
    let uses = |name: &str| uses.iter().any(|code| code.contains(name));
    if !uses("context") {
        return "const context = {};\n".to_owned();
    }
    format!(
        "const vars = row.vars ?? {{}};\nconst context = {{ vars, prompt: input, test: {{ vars }}{config} }};\n"
    )
}

/// The answer after what is done to it first.
fn transformed(transforms: &[String]) -> String {
    let mut code = "let answer = output;\n".to_owned();
    for transform in transforms {
        let function = function(transform);
        code +=
            "{ const vars = row.vars ?? {}; const context = { vars, prompt: { label: input } };\n";
        code.extend(["answer = await ", &function, "(answer, context); }\n"]);
    }
    code
}

/// The user's code as a function, made when it is called: an error in its syntax is one of this assertion alone.
fn function(code: &str) -> String {
    let code = code.trim_end();
    let body = if code.contains('\n') { code.to_owned() } else { format!("return {code}") };
    format!("new Function('output', 'context', {})", Value::from(body))
}

/// An exception is a failed assertion for promptfoo.
fn guarded(body: &str) -> String {
    format!(
        "try {{\n{body}\n}} catch (error) {{\n  return {{ pass: false, score: 0, reasoning: String(error) }};\n}}"
    )
}

fn grade(spec: &AssertionSpec) -> String {
    let passes = spec
        .threshold
        .map_or_else(|| "result > 0".to_owned(), |threshold| format!("result >= {threshold}"));
    GRADE.replace("NEGATED", &spec.negated.to_string()).replace("PASSES", &passes)
}

/// The grader of an assertion that is a program of the user.
pub(super) fn program(
    spec: &AssertionSpec,
    value: &Value,
    transforms: &[String],
    context: &AssertionContext<'_>,
) -> Result<MappedAssertion, String> {
    let code = value.as_str().ok_or("its `value` is not code")?;
    let is_file = code.starts_with("file://");
    match (spec.kind.as_str(), is_file) {
        ("javascript", false) => Ok(javascript(spec, code, transforms)),
        ("javascript", true) if is_javascript(&path_and_function(code).0) => {
            javascript_file(spec, code, transforms, context.files)
        }
        ("python", false) if transforms.is_empty() => Ok(python(spec, code)),
        (_, true) if ending(&path_and_function(code).0) == "py" && transforms.is_empty() => {
            python_file(spec, code, context.files)
        }
        ("python", _) if !transforms.is_empty() => {
            Err("a `transform` in JavaScript comes before a function in Python".to_owned())
        }
        _ => Err(format!("`{code}` is of another language")),
    }
}

fn javascript(spec: &AssertionSpec, code: &str, transforms: &[String]) -> MappedAssertion {
    let all: Vec<&str> = transforms.iter().map(String::as_str).chain([code]).collect();
    let call = format!("const result = await {}(answer, context);", function(code));
    let body =
        format!("{}{}{call}\n{}", transformed(transforms), self::context(spec, &all), grade(spec));
    MappedAssertion::new(json!({"kind": "program", "javascript": guarded(&body)}), None)
}

fn javascript_file(
    spec: &AssertionSpec,
    reference: &str,
    transforms: &[String],
    files: &ConfigFiles<'_>,
) -> Result<MappedAssertion, String> {
    let (path, function) = path_and_function(relative(reference));
    let copies = copies(&path, files)?;
    let named = function
        .map(|name| format!("loaded[{name:?}] ?? loaded.default?.[{name:?}] ?? "))
        .unwrap_or_default();
    // What cannot be loaded is an error of this assertion alone, so it is loaded by the call.
    let load = format!(
        "const loaded = await import({:?});\nconst check = {named}(typeof loaded.default === 'function' ? loaded.default : loaded.default?.default);\n",
        format!("./{COPIES}/{path}")
    );
    let body = format!(
        "{load}{}{}const result = await check(answer, context);\n{}",
        transformed(transforms),
        self::context(spec, &["context"]),
        grade(spec)
    );
    let module = format!(
        "// Calls what promptfoo calls.\nexport const grade = async ({{ input, output, row }}) => {{\n{}\n}};\n",
        guarded(&body)
    );
    let name = adapter_name(&module, &path, "mjs");
    let settings = json!({"kind": "program", "path": name, "sees": ["row"]});
    Ok(with_copies(settings, copies, ImportedFile { path: name, text: module }))
}

/// A grader with the program that it calls, which loads the files of the user.
fn with_copies(
    settings: Value,
    copies: Vec<ImportedFile>,
    program: ImportedFile,
) -> MappedAssertion {
    MappedAssertion {
        files: copies.into_iter().chain([program]).collect(),
        note: Some(
            "Programs are copied with the files that they load by relative paths; packages that they import must be installed beside them.",
        ),
        ..MappedAssertion::new(settings, None)
    }
}

/// The user's program and what it loads by relative paths, under the paths that they have in the source.
fn copies(path: &str, files: &ConfigFiles<'_>) -> Result<Vec<ImportedFile>, String> {
    let mut copies: Vec<ImportedFile> = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if copies.iter().any(|copy| copy.path == format!("{COPIES}/{path}")) {
            continue;
        }
        if !is_inside(&path) {
            return Err(format!("`{path}` is outside of the configuration's folder"));
        }
        let text = files.text(&path).map_err(|why| format!("cannot read `{path}`: {why}"))?;
        if copies.len() >= MAX_LOADED {
            return Err(format!("it loads more than {MAX_LOADED} files"));
        }
        open.extend(loaded_by(&path, &text, files));
        copies.push(ImportedFile { path: format!("{COPIES}/{path}"), text });
    }
    Ok(copies)
}

/// The files that a program names by relative paths in quotes, or imports from its own folder, as far as they are there.
fn loaded_by(path: &str, text: &str, files: &ConfigFiles<'_>) -> Vec<String> {
    let folder = folder_of(path);
    let mut named: Vec<String> = Vec::new();
    for part in text.split(['"', '\'', '`']) {
        let is_relative = part.starts_with("./") || part.starts_with("../");
        if is_relative && part.len() < 200 && !part.contains(['\n', '*']) {
            let endings = ["", ".js", ".mjs", ".cjs", ".ts", ".json"];
            named.extend(endings.map(|ending| format!("{part}{ending}")));
        }
    }
    if ending(path) == "py" {
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if matches!(words.next(), Some("import" | "from"))
                && let Some(module) = words.next()
            {
                let module = module.trim_start_matches('.').trim_end_matches(',');
                named.push(format!("{}.py", module.replace('.', "/")));
            }
        }
    }
    let joined = named.iter().filter_map(|name| plain(folder, name));
    joined.filter(|path| files.text(path).is_ok()).collect()
}

/// `name` in `folder` without `.` and `..`; none outside of the configuration's folder.
fn plain(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The name of an adapter: that of the function it calls, and a suffix to distinguish others of
/// that name.
fn adapter_name(text: &str, path: &str, ending: &str) -> String {
    let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
    let stem: String = stem.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let digest = blake3::hash(text.as_bytes()).to_hex();
    format!("check_{stem}_{}.{ending}", &digest[..6])
}

/// What turns a result of Python into a grade, as promptfoo does.
const PYTHON_GRADE: &str = r#"

def read_result(result):
    if hasattr(result, "__dataclass_fields__"):
        result = {name: getattr(result, name) for name in result.__dataclass_fields__}
    if isinstance(result, str) and result.lower() in ("true", "false"):
        result = result.lower() == "true"
    if isinstance(result, str) and result.startswith("{"):
        result = json.loads(result)
    if isinstance(result, bool):
        return {"pass": result, "score": 1.0 if result else 0.0}
    if isinstance(result, dict):
        passed = result.get("pass", result.get("pass_"))
        score, why = result.get("score"), result.get("reason")
        if not isinstance(passed, bool) or not isinstance(score, (int, float)) or not isinstance(why, str):
            raise ValueError("the function gave no boolean, number or result")
        if THRESHOLD is not None and score < THRESHOLD:
            passed = False
        return {"pass": passed, "score": min(1.0, max(0.0, float(score))), "reason": why}
    score = float(result)
    passed = score >= THRESHOLD if THRESHOLD is not None else score > 0
    return {"pass": passed, "score": min(1.0, max(0.0, score))}


def grade(sample, submission):
    variables = (sample.row or {}).get("vars") or {}
    context = {"vars": variables, "prompt": sample.input, "test": {"vars": variables}, "config": CONFIG}
    try:
        return read_result(check(submission, context))
    except Exception as error:
        return {"pass": False, "score": 0.0, "reason": f"{type(error).__name__}: {error}"}
"#;

fn python_module(spec: &AssertionSpec, head: &str) -> String {
    let threshold =
        spec.threshold.map_or_else(|| "None".to_owned(), |threshold| format!("{threshold:?}"));
    let config = spec.config.as_ref().map_or_else(|| "{}".to_owned(), Value::to_string);
    // JSON is read, since its words for truth are not those of Python.
    let config = serde_json::to_string(&config).unwrap_or_default();
    format!(
        "\"\"\"Calls what promptfoo calls.\"\"\"\nimport json\n\nTHRESHOLD = {threshold}\nCONFIG = json.loads({config})\n{head}{PYTHON_GRADE}"
    )
}

fn python(spec: &AssertionSpec, code: &str) -> MappedAssertion {
    let body = if code.contains('\n') {
        let is_indented = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let indented = code.lines().find(is_indented).unwrap_or("    x");
        let indent: String = indented.chars().take_while(|c| c.is_whitespace()).collect();
        code.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
    } else {
        format!("    return {code}")
    };
    // Compiled by the call: an error in its syntax is one of this assertion alone.
    let source = Value::from(format!("import json\n\ndef main(output, context):\n{body}\n"));
    let head = format!(
        "\nSOURCE = {source}\n\n\ndef check(output, context):\n    names = {{}}\n    exec(compile(SOURCE, \"assertion\", \"exec\"), names)\n    return names[\"main\"](output, context)\n"
    );
    let module = python_module(spec, &head);
    let name = adapter_name(&module, "inline", "py");
    let settings = json!({"kind": "tool", "function": format!("{name}:grade"), "sees": ["row"]});
    MappedAssertion {
        files: vec![ImportedFile { path: name, text: module }],
        ..MappedAssertion::new(settings, None)
    }
}

fn python_file(
    spec: &AssertionSpec,
    reference: &str,
    files: &ConfigFiles<'_>,
) -> Result<MappedAssertion, String> {
    let (path, function) = path_and_function(relative(reference));
    let copies = copies(&path, files)?;
    let function = function.unwrap_or_else(|| "get_assert".to_owned());
    let head = format!(
        "import importlib.util\nimport pathlib\nimport sys\n\nPATH = pathlib.Path(__file__).parent / {:?}\nsys.path.insert(0, str(PATH.parent))\n\n\ndef check(output, context):\n    spec = importlib.util.spec_from_file_location(\"checked\", PATH)\n    module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n    return getattr(module, {function:?})(output, context)\n",
        format!("{COPIES}/{path}"),
    );
    let module = python_module(spec, &head);
    let name = adapter_name(&module, &path, "py");
    let inputs: Vec<&str> = copies.iter().map(|copy| copy.path.as_str()).collect();
    let settings = json!({"kind": "tool", "function": format!("{name}:grade"), "sees": ["row"], "inputs": inputs});
    Ok(with_copies(settings, copies, ImportedFile { path: name, text: module }))
}
