//! Rubrics that are warned of, and those that are not, as tables.

use crate::registry::registry;
use crate::{Files, read_suite};
use evalrs_base::file_text::FileText;
use evalrs_eval::lint::family::family;
use evalrs_eval::lint::{RowFacts, rubric_lints};

struct LintedFiles(Vec<(&'static str, String)>);

impl Files for LintedFiles {
    fn text(&self, path: &str) -> FileText {
        let found = self.0.iter().find(|(known, _)| *known == path);
        found.map_or(FileText::Missing, |(_, text)| FileText::Text(text.as_str().into()))
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }
}

/// What is said of a rubric in a file whose grader has these `settings`: names and places, and what is marked there.
fn lints(text: &str, settings: &str, facts: &RowFacts) -> Vec<String> {
    let suite = format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q: {{kind: rubric, prompt_path: r.txt, pass_threshold: 0.5{settings}}}\n"
    );
    let files = LintedFiles(vec![("s.yaml", suite), ("r.txt", text.to_owned())]);
    let reading = read_suite("s.yaml", &files, &registry());
    assert!(reading.suite.is_some(), "{:?}", reading.diagnostics);
    let spec = &reading.suite.unwrap().graders[0];
    let (_, places) = &reading.rubric_places[0];
    let found = rubric_lints(spec, places, facts);
    let shown = found.iter().map(|found| {
        let place = found.place.as_ref().unwrap();
        let marked = &place.source[place.marked.clone()];
        format!("{} {place} `{marked}`", found.lint.unwrap())
    });
    shown.collect()
}

fn facts() -> RowFacts {
    RowFacts::default()
}

const ONE_TO_FIVE: &str = ", scale: {min: 1, max: 5}";
const ONE_TO_TEN: &str = ", scale: {min: 1, max: 10}";
const HUNDRED: &str = ", scale: {min: 0, max: 100}";

#[test]
fn ranges_that_are_declared_and_not_the_scale_are_warned_of() {
    for (text, scale, marked) in [
        ("Grade from 1 to 10.", "", "1 to 10"),
        ("Rate the reply from 1 to 5, where 5 is best.", "", "1 to 5"),
        ("Is it kind? Give a score between 0 and 100.", "", "0 and 100"),
        ("Score: 1-10", "", "1-10"),
        ("Score (1–5)", "", "1–5"),
        ("Rate its helpfulness on a scale of 1 to 5.", "", "1 to 5"),
        ("Use a 1-5 scale.", "", "1-5"),
        ("Answer on a five-point scale.", "", "five-point scale"),
        ("Rate it on a 7-point Likert scale.", "", "7-point Likert"),
        ("Score the answer out of 10.", "", "out of 10"),
        ("Give it a mark out of 20, and say why.", "", "out of 20"),
        ("Return a number from 0 to 10.", "", "0 to 10"),
        ("Score 1: bad.\nScore 3: fair.\nScore 5: excellent.", "", "Score 5"),
        ("A score of 10 means that nothing is wrong.", "", "score of 10"),
        ("Score from 0% to 100%.", "", "0% to 100%"),
        ("Assign a rating\nfrom 1 to 10.", "", "1 to 10"),
        ("Your task is to rate the answer from 1 to 10", "", "1 to 10"),
        ("Please grade the submission from -5 to 5.", "", "-5 to 5"),
        ("Grade from 1 to 10.", ONE_TO_FIVE, "1 to 10"),
        ("On a scale from 0 to 1, how kind is it?", ONE_TO_FIVE, "0 to 1"),
        ("Grade the answer from 1 to 10.", HUNDRED, "1 to 10"),
        ("Rate it on a scale of 0-10.", HUNDRED, "0-10"),
        ("After that, you must rate the response on a scale of 1 to 10.", "", "1 to 10"),
        ("Write a score that is an integer between 1 and 5.", "", "1 and 5"),
        ("**Score** from **1** to **10**", "", "1** to **10"),
        (
            "Your score has to be between 1 and 5, where 1 is the worst and 5 is the best.",
            "",
            "1 and 5",
        ),
        ("Respond with a number between 0 and 10.", "", "0 and 10"),
        ("You must respond with an integer from 1 to 10", "", "1 to 10"),
        ("Output a score in the range [0, 100].", "", "0, 100"),
        ("Give 0, 1 or 2 points.", "", "0, 1 or 2"),
        ("Is it kind? Score 1, 2, 3, or 4.", "", "1, 2, 3, or 4"),
        ("Score: 1 = poor ... 10 = excellent", "", "1 = poor ... 10"),
        ("Score:\n1 = poor\n2 = fair\n3 = good", "", "1 = poor"),
        ("Score it: 0 = bad, 1 = fair, 2 = good.", "", "0 = bad, 1 = fair, 2"),
        ("Rate it (scale: 0 = no, 1 = a little, 2 = yes)", "", "0 = no, 1 = a little, 2"),
    ] {
        let found = lints(text, scale, &facts());
        assert_eq!(found.len(), 1, "{text}{scale}: {found:?}");
        assert!(found[0].starts_with("range-not-scale r.txt:"), "{found:?}");
        assert!(found[0].ends_with(&format!("`{marked}`")), "{text}: {found:?}");
    }
}

#[test]
fn other_numbers_are_not_warned_of() {
    for (text, settings) in [
        ("Score 1 if the reply is friendly, 0.5 if only polite, and 0 if neither.", ""),
        ("Score from 0.0 to 1.0.", ""),
        ("Score from 0 to 0.3 if it is wrong, and from 0.7 to 1 if it is right.", ""),
        ("Score 1 if it names between 3 and 5 causes.", ""),
        ("Score 1 if the length is between 50 and 100.", ""),
        ("Grade the answer: it should name 2 to 4 causes.", ""),
        ("Grade essays from 3 to 5 pages by their style.", ""),
        ("The agent rated the hotels from 1 to 5.", ""),
        ("Does it ask the customer to rate the stay from 1 to 5?", ""),
        ("8 out of 10 dentists agree. Is that said?", ""),
        ("Full marks if it finds 3 out of 5 facts.", ""),
        ("Rate accuracy from 1 to 5 and style from 1 to 5, then divide the sum by 10.", ""),
        ("Steps 1 to 3 must be shown. Lines 10-20 hold the code.", ""),
        ("Score 2 points for each fact.", ""),
        ("Mark answers from 1990 to 1995 as old.", ""),
        ("Score 1-2 examples", ""),
        ("The reply should have 1 to 3 sentences.", ""),
        ("Score 1 if it says that 70 out of 100 customers agree.", ""),
        ("It had to write between 3 and 5 sentences.", ""),
        ("Write between 3 and 5 sentences.", ""),
        ("Write a number of sentences between 3 and 5.", ""),
        ("Does it speak of the years between 2019 and 2024?", ""),
        ("Score 1 if the score of the match has been between 1 and 5, as it was.", ""),
        ("Does it respond with a number between 0 and 10?", ""),
        ("The assistant must respond with a number between 0 and 10.", ""),
        ("Do the citations [1, 5] exist? Score 0 or 1.", ""),
        ("Output a score in the range [0, 1].", ""),
        ("Give 0, 0.5 or 1 point.", ""),
        ("Give 1 or 2 examples in the rationale.", ""),
        ("The product rating is 1 = bad to 5 = good in the table; is it quoted?", ""),
        ("Score 1 if correct. Menu: 1 = tea, 2 = coffee, 3 = milk.", ""),
        ("The user was asked to respond with a number between 1 and 10.", ""),
        ("Did it give 1, 2 or 3 points?", ""),
        ("Score: 0 = wrong, 0.5 = partly, 1 = right", ""),
        ("Score 1 if it solves x: 1 = a, 2 = b.", ""),
        ("Give 0, 1 or 2 points.", ", scale: {min: 0, max: 2}"),
        ("Score: 1 = poor ... 10 = excellent", ONE_TO_TEN),
        ("Give 0 to 1. A score of 0.9 or more is rare.", ""),
        ("It was published 1914-1918, in the 3-5 range of prices.", ""),
        ("Score 5: excellent. Score 1: poor.", ONE_TO_FIVE),
        ("Rate from 1 to 5, where 4 to 5 is good.", ONE_TO_FIVE),
        ("Score 7 to 10 if it is good, 1 to 6 otherwise.", ONE_TO_TEN),
        ("Score from 0 to 50 if it is wrong; 100 is best.", HUNDRED),
        ("Use a five-point scale.", ONE_TO_FIVE),
        ("Give it a mark out of 5.", ONE_TO_FIVE),
        ("Grade it out of 100: from 90 upwards is an A.", HUNDRED),
        ("Which reply is better? Rate each from 1 to 10 in your head.", ", compare_to: other"),
    ] {
        assert_eq!(lints(text, settings, &facts()), Vec::<String>::new(), "{text}{settings}");
    }
}

#[test]
fn placeholders_are_known_in_single_braces_and_named_once() {
    let missing = ["output", "question", "tone", "context", "answer_a", "submission_a"];
    let facts = RowFacts {
        missing: missing.map(str::to_owned).to_vec(),
        row_fields: vec!["context".to_owned()],
        ..RowFacts::default()
    };
    for (text, settings, expected) in [
        ("{submission} for {input}", "", &[][..]),
        ("Is it kind?", "", &[]),
        ("{\"score\": 1, \"why\": {}}", "", &[]),
        ("Judge {output}.", "", &["unknown-placeholder r.txt:1:7 `{output}`"]),
        ("Judge {{output}}.", "", &["unknown-placeholder r.txt:1:8 `{output}`"]),
        ("{submission}\n {tone} {tone}", "", &["unknown-placeholder r.txt:2:2 `{tone}`"]),
        ("{submission} {kept}", "", &[]),
        ("Is {{submission}} kind?", "", &["doubled-braces r.txt:1:4 `{{submission}}`"]),
        ("Is {{ submission }} kind?", "", &["doubled-braces r.txt:1:4 `{{ submission }}`"]),
        ("Is { response } kind?", "", &["doubled-braces r.txt:1:4 `{ response }`"]),
        ("Is {{ weather }} said? {% if x %} {{{input}}}{submission}", "", &[]),
        ("{submission} or {submission}", "", &["sent-twice r.txt:1:17 `{submission}`"]),
        ("Q: {input}", "", &["sent-twice r.txt:1:4 `{input}`"]),
        ("{ground_truth}", "", &["sent-twice r.txt:1:1 `{ground_truth}`"]),
        ("{submission_a} {submission_b} {input}", ", compare_to: other", &[]),
        (
            "{submission_a} {submission_b} {submission}",
            ", compare_to: other",
            &["sent-twice r.txt:1:31 `{submission}`"],
        ),
        ("Better for {input}?", ", compare_to: other", &["sent-twice r.txt:1:12 `{input}`"]),
        ("{input}", ", allow: sent-twice", &[]),
        ("{submission} {tone}", ", allow: unknown-placeholder", &[]),
        ("{submission} {tone}", ", allow_unknown: true", &[]),
        ("---\nallow_unknown: true\n---\n{submission} {tone}", "", &[]),
        ("---\nallow: [sent-twice]\n---\n{input}", "", &[]),
    ] {
        assert_eq!(lints(text, settings, &facts), expected, "{text}");
    }
}

#[test]
fn the_likely_fix_is_named() {
    let missing =
        ["output", "answer", "question", "expected", "tone", "context", "inptu", "answer_b"];
    let facts = RowFacts {
        missing: missing.map(str::to_owned).to_vec(),
        row_fields: vec!["context".to_owned(), "answer".to_owned()],
        ..RowFacts::default()
    };
    for (name, expected) in [
        ("output", "did you mean `{submission}`?"),
        ("answer", "did you mean `{submission}`? The field of the rows is `{row.answer}`"),
        ("question", "did you mean `{input}`?"),
        ("expected", "did you mean `{ground_truth}`?"),
        ("inptu", "did you mean `{input}`?"),
        ("context", "the rows have a field of that name: write `{row.context}`"),
        (
            "tone",
            "a rubric can name `{input}`, `{submission}`, `{ground_truth}`, the names in `rubric_vars`, and `{row.KEY}`",
        ),
    ] {
        assert_eq!(evalrs_eval::lint::placeholders::instead(name, false, &facts), expected);
    }
    assert_eq!(
        evalrs_eval::lint::placeholders::instead("answer_b", true, &facts),
        "did you mean `{submission_b}`?"
    );
}

#[test]
fn references_are_shown_where_the_text_speaks_of_them() {
    let facts = RowFacts { has_reference: true, ..RowFacts::default() };
    for (text, expected) in [
        ("Compare {submission} with the reference answer.", "reference answer"),
        ("Does {submission} say the same as the ground truth?", "ground truth"),
        ("Does {submission} match the Expected\noutput?", "Expected"),
        ("{submission} against the gold-answer", "gold-answer"),
    ] {
        let found = lints(text, "", &facts);
        assert_eq!(found.len(), 1, "{text}");
        assert!(found[0].starts_with("reference-not-shown r.txt:1:"), "{found:?}");
        assert!(found[0].ends_with(&format!("`{expected}`")), "{found:?}");
        assert_eq!(lints(text, "", &RowFacts::default()), Vec::<String>::new());
    }
    for text in [
        "Compare with the reference answer.",
        "Compare {submission} with the reference answer: {ground_truth}",
        "Compare {submission} with the reference answer: {row.gold}",
        "There is no reference answer for {submission}.",
        "Judge {submission} without a reference answer.",
        "Is {submission} in the expected output format?",
        "Is {submission} a correct answer?",
        "Does {submission} give a reference for each claim?",
    ] {
        assert_eq!(lints(text, "", &facts), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn judges_of_the_family_that_they_judge_are_warned_of() {
    let of = |models: &[&str]| RowFacts {
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        ..RowFacts::default()
    };
    let place = "same-family s.yaml:4:";
    for (settings, models, is_found) in [
        ("", &["gpt-4"][..], true),
        ("", &["claude-3", "openai/gpt-4o", "o3-mini"], true),
        ("", &["claude-3", "llama-3"], false),
        ("", &[], false),
        (", model: claude-sonnet-4", &["anthropic.claude-3-haiku"], true),
        (", model: claude-sonnet-4, allow: [same-family]", &["claude-3"], false),
        (", model: my-judge", &["my-judge"], false),
        (", panel: [{model: gpt-4o}, {model: claude-3}]", &["gpt-4"], false),
        (", panel: [{model: gpt-4o}, {model: gpt-5}]", &["gpt-4"], true),
        (", command: [gpt, '{prompt}']", &["gpt-4"], false),
    ] {
        let found = lints("Is it kind?", settings, &of(models));
        assert_eq!(found.len(), usize::from(is_found), "{settings}: {found:?}");
        assert!(found.iter().all(|found| found.starts_with(place)), "{found:?}");
    }
    for (model, expected) in [
        ("gpt-4o-mini", Some("gpt")),
        ("gpt4o", Some("gpt")),
        ("azure/gpt-35-turbo", Some("gpt")),
        ("gpt4all-j", None),
        ("o1-preview", Some("gpt")),
        ("us.anthropic.claude-sonnet-4", Some("claude")),
        ("meta-llama/Llama-3.1-8B", Some("llama")),
        ("models/gemini-2.5-pro", Some("gemini")),
        ("deepseek-r1-distill-llama-70b", Some("deepseek")),
        ("qwen2.5", Some("qwen")),
        ("my-gpt-judge", None),
        ("agent", None),
        ("", None),
    ] {
        assert_eq!(family(model), expected, "{model}");
    }
}

#[test]
fn a_threshold_of_nothing_is_met_by_everything() {
    let suite = "name: s\ndataset: d\ngraders:\n  q: {kind: rubric, prompt: Is it kind?, pass_threshold: 0}\n";
    let files = LintedFiles(vec![("s.yaml", suite.to_owned())]);
    let reading = read_suite("s.yaml", &files, &registry());
    let spec = &reading.suite.unwrap().graders[0];
    let found = rubric_lints(spec, &reading.rubric_places[0].1, &facts());
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].brief(),
        "s.yaml:4:58: every answer passes `q`: no score is below 0 (threshold-always-met)"
    );
}

#[test]
fn texts_without_fences_are_warned_of() {
    for (settings, expected) in [
        ("", &[][..]),
        (", fence: true", &[]),
        (", unfenced: []", &[]),
        (", fence: false", &["unfenced s.yaml:4:62 `fence`"]),
        (", unfenced: [input]", &["unfenced s.yaml:4:62 `unfenced`"]),
        (", unfenced: [tone, row.a, row]", &["unfenced s.yaml:4:62 `unfenced`"]),
        (", fence: false, allow: [unfenced]", &[]),
    ] {
        assert_eq!(
            lints("{submission} {tone} {row.a}", settings, &facts()),
            expected,
            "{settings}"
        );
    }
    let front = "---\nfence: false\n---\nIs it kind?";
    assert_eq!(lints(front, "", &facts()), ["unfenced r.txt:2:1 `fence`"]);
}

#[test]
fn places_in_texts_inside_the_suite_are_found() {
    let suite = "name: s\ndataset: d\ngraders:\n  q:\n    kind: rubric\n    pass_threshold: 0.5\n    prompt: |\n      Judge {submission}.\n      Grade from 1 to 10.\n  r:\n    kind: rubric\n    pass_threshold: 0.5\n    prompt: \"Rate it\\n\\u0066rom 1 to 5.\"\n  s:\n    kind: rubric\n    pass_threshold: 0.5\n    prompt_path: r.txt\n";
    let rubric = "---\ninclude: [base.md]\n---\nAlso rate it from 1 to 10.\n".to_owned();
    let base = "Rate it.\n\nJudge {submission} or {submission}.\n".to_owned();
    let files =
        LintedFiles(vec![("s.yaml", suite.to_owned()), ("r.txt", rubric), ("base.md", base)]);
    let reading = read_suite("s.yaml", &files, &registry());
    let suite = reading.suite.unwrap();
    let mut shown = Vec::new();
    for (spec, (_, places)) in suite.graders.iter().zip(&reading.rubric_places) {
        let found = rubric_lints(spec, places, &facts());
        shown.extend(found.iter().map(|found| found.place.clone().unwrap().to_string()));
    }
    assert_eq!(shown, ["s.yaml:9:18", "s.yaml:13:33", "base.md:3:23", "r.txt:4:19"]);
}
