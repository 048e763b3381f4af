//! Broken datasets in the three formats.

use super::case::{Case, DATA, SUITE, case};

/// A dataset with a good row before and after `rows`.
fn between(rows: &str) -> String {
    let (first, last) = DATA.split_once('\n').unwrap();
    format!("{first}\n{rows}\n{last}")
}

/// A row with more fields.
fn row(fields: &str) -> String {
    between(&format!("{{\"input\": \"q\", \"output\": \"o\", {fields}}}"))
}

fn bad(name: &'static str, rows: &str) -> Case {
    case(name).file("data.jsonl", between(rows))
}

fn bad_field(name: &'static str, fields: &str) -> Case {
    case(name).file("data.jsonl", row(fields))
}

fn with_fields(name: &'static str, fields: &str) -> Case {
    case(name)
        .with("dataset: data.jsonl", &format!("dataset:\n  path: data.jsonl\n  fields: {fields}"))
}

pub(super) fn jsonl() -> Vec<Case> {
    let mut cases = jsonl_files();
    cases.extend(jsonl_lines());
    cases.extend(jsonl_fields());
    cases.extend(trajectories());
    cases.extend(mappings());
    cases
}

fn jsonl_files() -> Vec<Case> {
    let utf16: Vec<u8> = DATA.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let huge = format!("{{\"input\": \"{}\", \"output\": \"o\"}}", "x".repeat(33 << 20));
    vec![
        case("jsonl empty").file("data.jsonl", ""),
        case("jsonl of blank lines").file("data.jsonl", "\u{feff}\r\n  \n\n"),
        case("jsonl with NUL").file("data.jsonl", DATA.replace("two", "t\0wo")),
        case("jsonl in Latin-1")
            .file("data.jsonl", [DATA.as_bytes(), b"{\"input\": \"caf\xe9\"}\n"].concat()),
        case("jsonl in UTF-16").file("data.jsonl", [b"\xfe\xff".as_slice(), &utf16].concat()),
        case("jsonl in UTF-16 without its mark").file("data.jsonl", utf16.clone()),
        case("jsonl cut off inside a character").file("data.jsonl", b"{\"input\": \"a\xe2\x82"),
        case("jsonl with a record of 33 MB").file("data.jsonl", between(&huge)),
        case("jsonl that is a JSON array").file(
            "data.jsonl",
            "[{\"input\": \"a\", \"output\": \"b\"},\n {\"input\": \"c\", \"output\": \"d\"}]\n",
        ),
        case("jsonl that is pretty JSON")
            .file("data.jsonl", "{\n  \"input\": \"a\",\n  \"output\": \"b\"\n}\n"),
        case("jsonl that is CSV").file("data.jsonl", "input,output\na,b\n"),
        case("jsonl with 30 wrong rows")
            .file("data.jsonl", "{\"output\": 1}\n".repeat(30))
            .judged(),
    ]
}

fn jsonl_lines() -> Vec<Case> {
    let deep = format!("{{\"input\": \"q\", \"output\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let long = format!("{{\"note\": \"{}\", \"input\": nil, \"output\": \"o\"}}", "é".repeat(400));
    vec![
        bad("line cut off", "{\"input\": \"q\", \"output\": \"cut of"),
        bad("line cut off after a comma", "{\"input\": \"q\","),
        bad("trailing comma", "{\"input\": \"q\", \"output\": \"o\",}"),
        bad(
            "two objects on a line",
            "{\"input\": \"q\", \"output\": \"o\"} {\"input\": \"r\", \"output\": \"o\"}",
        ),
        bad("comma after the object", "{\"input\": \"q\", \"output\": \"o\"},"),
        bad("array line", "[\"q\", \"o\"]"),
        bad("number line", "42"),
        bad("text line", "\"just text\""),
        bad("single quotes", "{'input': 'q', 'output': 'o'}"),
        bad("keys without quotes", "{input: \"q\", output: \"o\"}"),
        bad("Python values", "{\"input\": \"q\", \"output\": None, \"tags\": [True]}"),
        bad("undefined", "{\"input\": \"q\", \"output\": undefined}"),
        bad("comment line", "// {\"input\": \"q\"}"),
        bad("tab inside a string", "{\"input\": \"a\tb\", \"output\": \"o\"}"),
        bad("bad escape", "{\"input\": \"C:\\path\", \"output\": \"o\"}"),
        bad("half a surrogate pair", "{\"input\": \"\\ud83d\", \"output\": \"o\"}"),
        bad("no colon", "{\"input\" \"q\", \"output\": \"o\"}"),
        bad("JSON 200 deep", &deep),
        bad("wrong far into a long line", &long),
        bad("key written twice", "{\"input\": \"q\", \"output\": \"o\", \"input\": \"r\"}"),
    ]
}

fn jsonl_fields() -> Vec<Case> {
    vec![
        bad_field("id is a list", "\"id\": [1]"),
        bad_field("id is empty", "\"id\": \"\""),
        bad_field("id is a fraction", "\"id\": 1.5"),
        bad_field("id taken", "\"id\": \"a\""),
        bad_field(
            "id, trial and model taken",
            "\"id\": \"m\", \"trial\": 1, \"model\": \"x\"}\n{\"input\": \"q\", \"output\": \"o\", \"id\": \"m\", \"trial\": 1, \"model\": \"x\"",
        ),
        bad_field(
            "id of control characters taken",
            "\"id\": \"\\u001b[31m\"}\n{\"input\": \"q\", \"output\": \"o\", \"id\": \"\\u001b[31m\"",
        ),
        bad_field("trial is no integer", "\"trial\": \"first\""),
        bad_field("trial is negative", "\"trial\": -1"),
        bad_field("model is a number", "\"model\": 4"),
        bad_field("tags are a number", "\"tags\": 5"),
        bad_field("tags hold a number", "\"tags\": [\"a\", 5]"),
        bad_field("rubric_vars is a list", "\"rubric_vars\": [1]"),
        bad_field("two aliases of the answer", "\"expected\": \"1\", \"answer\": \"2\""),
        bad(
            "two aliases of the input",
            "{\"prompt\": \"q\", \"question\": \"r\", \"output\": \"o\"}",
        ),
        bad("input is an object", "{\"input\": {\"text\": \"q\"}, \"output\": \"o\"}"),
        bad("input is a mixed list", "{\"input\": [\"a\", 5], \"output\": \"o\"}"),
        bad("no input", "{\"id\": \"c\", \"output\": \"o\"}").judged(),
        bad("input misspelt", "{\"inptu\": \"q\", \"output\": \"o\"}").judged(),
        bad(
            "rubric and rubric_path",
            "{\"input\": \"q\", \"output\": \"o\", \"rubric\": \"Good?\", \"rubric_path\": \"r.txt\"}",
        ),
        bad(
            "ground truth is a list of accepted answers",
            "{\"input\": \"Capital?\", \"ground_truth\": [\"Canberra\", \"canberra\"], \"output\": \"Canberra\"}",
        ),
        bad(
            "output is a response",
            "{\"input\": \"q\", \"output\": {\"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": \"o\"}}]}}",
        ),
        bad(
            "log of requests and responses",
            "{\"request\": {\"model\": \"m\"}, \"response\": {\"choices\": [{\"message\": {\"content\": \"o\"}}]}}",
        ),
        bad(
            "session of Claude Code",
            "{\"type\": \"user\", \"message\": {\"role\": \"user\", \"content\": \"q\"}, \"sessionId\": \"1\"}",
        ),
        bad(
            "ground truth of the wrong length",
            "{\"input\": [\"a\", \"b\"], \"ground_truth\": [\"1\", \"2\", \"3\"], \"output\": \"o\"}",
        ),
        bad("no output", "{\"id\": \"c\", \"input\": \"q\", \"answr\": \"o\"}"),
        bad("empty object", "{}"),
        bad(
            "many fields and no input",
            &format!(
                "{{\"output\": \"o\"{}}}",
                (0..40).map(|at| format!(", \"field_{at}\": 1")).collect::<Vec<_>>().concat()
            ),
        )
        .judged(),
    ]
}

fn trajectories() -> Vec<Case> {
    let bad_trajectory = |name, trajectory: &str| {
        bad(name, &format!("{{\"id\": \"t\", \"input\": \"q\", \"trajectory\": {trajectory}}}"))
    };
    let long = (0..40).map(|at| format!("{{\"role\": \"user\", \"content\": \"message {at}\"}}"));
    let long: Vec<String> =
        long.chain(["{\"role\": \"assistant\", \"content\": 5}".to_owned()]).collect();
    vec![
        bad_trajectory("trajectory is a number", "5"),
        bad_trajectory("trajectory of numbers", "[1, 2]"),
        bad_trajectory("trajectory of unknown objects", "[{\"who\": \"user\", \"says\": \"hi\"}]"),
        bad_trajectory(
            "trajectory with a role that is a number",
            "[{\"role\": \"user\", \"content\": \"q\"}, {\"role\": 5, \"content\": \"x\"}]",
        ),
        bad_trajectory(
            "trajectory without a tool's name",
            "[{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"1\", \"function\": {\"arguments\": \"{}\"}}]}]",
        ),
        bad_trajectory(
            "trajectory of Letta without content",
            "[[{\"message_type\": \"user_message\", \"content\": \"q\"}, {\"message_type\": \"assistant_message\"}]]",
        ),
        bad_trajectory("trajectory wrong at its end", &format!("[{}]", long.join(", "))),
        bad(
            "messages is text in an object",
            "{\"input\": \"q\", \"messages\": {\"messages\": \"hi\"}}",
        ),
        bad_trajectory(
            "trajectory of another format than the suite says",
            "[{\"role\": \"user\", \"content\": \"q\"}]",
        )
        .lines("target: {kind: recorded, format: letta}\n"),
    ]
}

fn mappings() -> Vec<Case> {
    let rows = "{\"task_id\": \"a\", \"question\": \"q\", \"answers\": {\"gpt\": \"1\", \"claude\": \"2\"}}\n{\"task_id\": \"b\", \"question\": \"q\", \"answers\": {\"gpt\": \"1\"}}\n";
    vec![
        with_fields("fields name nothing", "{id: task_ids, input: quetsion, output: answers.gtp}")
            .file("data.jsonl", rows),
        with_fields("fields misspelt", "{idd: task_id, gruond_truth: x}").file("data.jsonl", rows),
        with_fields("fields is a list", "[id, input]").file("data.jsonl", rows),
        with_fields(
            "outputs missing everywhere",
            "{outputs: {gpt: answers.gpt, llama: answers.llama}}",
        )
        .file("data.jsonl", rows),
        with_fields("input mapped to an object", "{input: task}")
            .file("data.jsonl", "{\"task\": {\"no\": 7}, \"output\": \"o\"}\n"),
        with_fields("messages mapped to choices", "{messages: choices}").file(
            "data.jsonl",
            "{\"input\": \"q\", \"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": \"o\"}}]}\n",
        ),
        with_fields("messages mapped to one message", "{messages: choices.0.message}").file(
            "data.jsonl",
            "{\"input\": \"q\", \"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": \"o\"}}]}\n",
        ),
    ]
}

pub(super) fn json() -> Vec<Case> {
    let bad = |name, text: &str| case(name).data("data.json", text);
    let rows = "[\n  {\"id\": \"a\", \"input\": \"one\", \"output\": \"1\"},\n  {\"id\": \"b\", \"input\": \"two\", \"output\": \"2\"}\n]\n";
    let huge = format!(
        "[{{\"input\": \"a\", \"output\": \"b\"}},\n {{\"input\": \"{}\", \"output\": \"o\"}}]",
        "x".repeat(33 << 20)
    );
    vec![
        bad("json empty", ""),
        bad("json empty array", " [ ]\n"),
        bad("json object", "{\"samples\": [{\"input\": \"a\"}]}\n"),
        bad("json that is JSON Lines", DATA),
        bad("json scalar", "\n  \"samples\"\n"),
        bad(
            "json array of arrays",
            "[\n  {\"input\": \"a\", \"output\": \"b\"},\n  [\"c\", \"d\"]\n]\n",
        ),
        bad("json array of numbers", "[1, 2, 3]\n"),
        bad("json broken in the middle", &rows.replace("\"two\",", "\"two\"")),
        bad("json never closed", &rows.replace("\n]\n", "\n")),
        bad("json trailing comma", &rows.replace("\n]", ",\n]")),
        bad("json with text after it", &format!("{rows}done\n")),
        bad(
            "json row wrong on its third line",
            "[\n  {\n    \"input\": \"a\",\n    \"output\": \"b\",\n    \"trial\": \"x\"\n  }\n]\n",
        ),
        bad(
            "json key written twice",
            "[\n  {\"input\": \"a\", \"output\": \"b\",\n   \"output\": \"c\"}\n]\n",
        ),
        bad("json id taken", &rows.replace("\"b\"", "\"a\"")),
        bad(
            "json 200 deep",
            &format!(
                "[{{\"input\": \"a\", \"output\": \"b\"}},\n{}{}]",
                "[".repeat(200),
                "]".repeat(200)
            ),
        ),
        bad("json with a record of 33 MB", &huge),
        case("json in Latin-1").data("data.json", b"[\n{\"input\": \"caf\xe9\"}]\n"),
    ]
}

pub(super) fn csv() -> Vec<Case> {
    let bad = |name, text: &str| case(name).data("data.csv", text);
    let huge = format!("input,output\na,b\n{},c\n", "x".repeat(33 << 20));
    vec![
        bad("csv empty", ""),
        bad("csv of a header alone", "input,output\n"),
        bad("csv too few cells", "id,input,ground_truth,output\n1,a,b,c\n2,a,b\n"),
        bad("csv of empty rows", "input,output\n,\n,\n"),
        bad("csv quote never closed", "id,input,output\n1,a,b\n2,\"c,d\n3,e,f\n"),
        bad("csv quote never closed in the last cell", "input,output\na,\"b\n"),
        bad("csv quote closed by the next", "input,output\na,\"b\nc,\"d\"\ne,f,g\n"),
        bad("csv too many cells", "input,output\na,b\nc, with a comma,d\ne,f\n"),
        bad("csv row wrong after line breaks", "input,output\n\"a\n\nb\",c\n\"d\",e,f\n"),
        bad("csv duplicate columns", "input,output,note, output\na,b,c,d\n"),
        bad("csv with bars", "input|output\na|b\n"),
        bad("csv with tabs", "input\toutput\na\tb\n"),
        bad(
            "csv bad JSON in rubric_vars",
            "input,output,rubric_vars\na,b,\"{\"\"x\"\": 1}\"\nc,d,{x: 1}\n",
        ),
        bad("csv rubric_vars is a list", "input,output,rubric_vars\na,b,\"[1, 2]\"\n"),
        bad("csv bad JSON in input", "input,output\n\"[\"\"a\"\", b]\",c\n"),
        bad("csv bad JSON in tags", "input,output,tags\na,b,[smoke]\n"),
        bad(
            "csv bad JSON in a trajectory",
            "input,trajectory\na,\"[{\"\"role\"\": \"\"user\"\", }]\"\n",
        ),
        bad("csv bad trajectory", "input,trajectory\na,\"[{\"\"role\"\": 5}]\"\n"),
        bad("csv trial is no integer", "input,output,trial\na,b,one\n"),
        bad("csv without input", "id,output\n1,b\n").judged(),
        bad("csv without output", "id,input\n1,b\n"),
        bad("csv input missing in a row", "id,input,output\n1,a,b\n2,,c\n").judged(),
        bad("csv id taken", "id,input,output\n1,\"a\nb\",c\n\n1,d,e\n"),
        bad(
            "csv ground truths of the wrong length",
            "input,ground_truth,output\n\"[\"\"a\"\", \"\"b\"\"]\",\"[\"\"1\"\"]\",o\n",
        ),
        bad("csv fields name nothing", "q,a\nx,y\n").suite(
            SUITE.replace(
                "data.jsonl",
                "\n  path: data.csv\n  fields: {input: question, output: a}",
            ),
        ),
        bad("csv fields name a part of a column", "q,a,truths\nx,y,z\n").suite(SUITE.replace(
            "data.jsonl",
            "\n  path: data.csv\n  fields: {input: q, output: a, ground_truth: truth}",
        )),
        case("csv in Latin-1").data("data.csv", b"input,output\nna\xefve,b\n"),
        bad("csv with NUL", "input,output\na\0,b\n"),
        bad("csv with a record of 33 MB", &huge),
    ]
}
