//! What a comparison grader gives: the runs of one prompt, ranked.

use serde_json::Value;

use super::result_json::json;
use evalrs_base::json_syntax::kind_of;

/// Where a run came in.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRanking {
    /// The label of the run.
    pub run: String,
    /// 1 for the best.
    pub rank: u32,
    /// What it was ranked by, on a scale of the grader's own.
    pub score: f64,
}

/// The rankings in a result. Runs that are not there were not ranked, and none is there twice.
pub fn rankings(text: &str) -> Result<Vec<RunRanking>, String> {
    let result = match json(text)? {
        Value::Object(result) => result,
        other => return Err(invalid("the result", "an object", Some(&other))),
    };
    let all = match result.get("rankings") {
        Some(Value::Array(all)) => all,
        other => return Err(invalid("`rankings`", "a list", other)),
    };
    if let Some(reasoning) = result.get("reasoning").filter(|reasoning| !reasoning.is_string()) {
        return Err(invalid("`reasoning`", "text", Some(reasoning)));
    }
    let mut read: Vec<RunRanking> = Vec::with_capacity(all.len());
    for (at, value) in all.iter().enumerate() {
        let ranking = ranking(at, value)?;
        if read.iter().any(|other| other.run == ranking.run) {
            return Err(format!(
                "Invalid comparison result: run `{}` is ranked twice",
                ranking.run
            ));
        }
        read.push(ranking);
    }
    Ok(read)
}

fn ranking(at: usize, value: &Value) -> Result<RunRanking, String> {
    let Value::Object(members) = value else {
        return Err(invalid(&format!("`rankings[{at}]`"), "an object", Some(value)));
    };
    let wrong = |name: &str, expected: &str| {
        invalid(&format!("`rankings[{at}].{name}`"), expected, members.get(name))
    };
    let run = members.get("run").and_then(Value::as_str).ok_or_else(|| wrong("run", "a label"))?;
    let score = members.get("score").and_then(Value::as_f64);
    let score = score.ok_or_else(|| wrong("score", "a number"))?;
    let rank = members.get("rank").and_then(Value::as_f64);
    let rank =
        rank.filter(|rank| (1.0..=f64::from(u32::MAX)).contains(rank) && rank.fract() == 0.0);
    let rank = rank.ok_or_else(|| wrong("rank", "a whole number from 1"))?;
    Ok(RunRanking { run: run.to_owned(), rank: rank as u32, score })
}

fn invalid(member: &str, expected: &str, found: Option<&Value>) -> String {
    let found = match found {
        None => "nothing".to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(value) => kind_of(value).to_owned(),
    };
    format!("Invalid comparison result: {member} must be {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use super::rankings;

    #[test]
    fn rankings_are_taken_as_they_are_and_nothing_is_guessed() {
        for (text, expected) in [
            (r#"{"rankings":[]}"#, "[]"),
            (
                r#"{"rankings":[{"run":"b","rank":1.0,"score":-3,"more":1},{"run":"a","rank":1,"score":0.5}],"reasoning":"r","x":1}"#,
                r#"[RunRanking { run: "b", rank: 1, score: -3.0 }, RunRanking { run: "a", rank: 1, score: 0.5 }]"#,
            ),
            ("[]", "the result must be an object, found a list"),
            (r#"{"winner":"a"}"#, "`rankings` must be a list, found nothing"),
            (r#"{"rankings":{}}"#, "`rankings` must be a list, found an object"),
            (r#"{"rankings":[],"reasoning":null}"#, "`reasoning` must be text, found null"),
            (r#"{"rankings":["a"]}"#, "`rankings[0]` must be an object, found a string"),
            (
                r#"{"rankings":[{"rank":1,"score":1}]}"#,
                "`rankings[0].run` must be a label, found nothing",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":1}]}"#,
                "`rankings[0].score` must be a number, found nothing",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":0,"score":1}]}"#,
                "`rankings[0].rank` must be a whole number from 1, found 0",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":"1","score":1}]}"#,
                "`rankings[0].rank` must be a whole number from 1, found a string",
            ),
            (
                r#"{"rankings":[{"run":"a","rank":1,"score":1},{"run":"a","rank":2,"score":0}]}"#,
                "run `a` is ranked twice",
            ),
        ] {
            let told = match rankings(text) {
                Ok(rankings) => format!("{rankings:?}"),
                Err(problem) => problem.replace("Invalid comparison result: ", ""),
            };
            assert_eq!(told, expected, "{text}");
        }
        assert!(rankings("b wins").is_err());
    }
}
