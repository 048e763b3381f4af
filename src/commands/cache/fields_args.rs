//! What `--fields` and `--map` say of a file of judgments: where its fields stand, and what its scores are written as.

use evalrs_eval::votes::judgments::{JudgmentField, JudgmentLayout};
use evalrs_eval::votes::score_map::{ScoreMap, VoteMeaning};
use evalrs_use_cases::error::Error;

/// The layout that the command line names.
pub(super) fn layout(fields: &[String], map: &[String]) -> Result<JudgmentLayout, Error> {
    let pieces = |all: &[String]| -> Vec<String> { all.iter().flat_map(|it| pieces(it)).collect() };
    let fields: Vec<(JudgmentField, Vec<String>)> =
        pieces(fields).iter().map(|piece| field(piece)).collect::<Result<_, _>>()?;
    let columns = |named| fields.iter().find(|(field, _)| *field == named).map(|it| it.1.len());
    let scores = columns(JudgmentField::Score).unwrap_or(1);
    for (field, paths) in &fields {
        if paths.len() > 1 && paths.len() != scores {
            let n = paths.len();
            let name = field.name();
            let message = format!("`--fields` has {n} paths for `{name}` and {scores} for `score`");
            return Err(Error::plain(
                message,
                "name one path per vote, in the order of the scores",
            ));
        }
        if fields.iter().filter(|(other, _)| other == field).count() > 1 {
            let message = format!("`--fields` names `{}` twice", field.name());
            return Err(Error::plain(message, "votes side by side are `score=[one,two]`"));
        }
    }
    let map = pieces(map).iter().map(|piece| meaning(piece)).collect::<Result<_, _>>()?;
    Ok(JudgmentLayout { fields, map: ScoreMap { entries: map, takes_truths: false } })
}

/// The texts between commas that are not in brackets.
fn pieces(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut pieces = vec![String::new()];
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = pieces.last_mut() {
            last.push(letter);
        }
    }
    pieces
}

/// Reads `score=gpt4.score` and `score=[one,two]`.
fn field(text: &str) -> Result<(JudgmentField, Vec<String>), Error> {
    let read = || {
        let (name, paths) = text.split_once('=')?;
        let field = JudgmentField::named(name.trim())?;
        let paths = paths.trim();
        let listed = paths.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let paths: Vec<String> = match listed {
            Some(listed) if field.takes_columns() => {
                listed.split(',').map(|path| path.trim().to_owned()).collect()
            }
            _ => vec![paths.to_owned()],
        };
        (!paths.iter().any(String::is_empty)).then_some((field, paths))
    };
    read().ok_or_else(|| {
        let names: Vec<&str> = JudgmentField::names().collect();
        Error::plain(
            format!("`--fields` has `{text}`, which is not NAME=PATH"),
            format!("names are `{}`", names.join("`, `")),
        )
    })
}

/// Reads `Tie=0` and `garbage=error`.
fn meaning(text: &str) -> Result<(String, VoteMeaning), Error> {
    let read = || {
        let (value, meaning) = text.rsplit_once('=')?;
        let value = value.trim();
        let meaning = VoteMeaning::of(meaning).filter(|_| !value.is_empty())?;
        Some((value.to_owned(), meaning))
    };
    read().ok_or_else(|| {
        Error::plain(
            format!("`--map` has `{text}`, which is not VALUE=SCORE"),
            "a score is a number, or `error` for a value that is not a score: `--map \
             Tie=0,garbage=error`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::layout;

    fn told(fields: &[&str], map: &[&str]) -> String {
        let owned =
            |all: &[&str]| -> Vec<String> { all.iter().map(|one| (*one).to_owned()).collect() };
        match layout(&owned(fields), &owned(map)) {
            Ok(layout) => format!("{:?} {:?}", layout.fields, layout.map.entries),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn fields_have_one_path_or_one_a_vote() {
        for (fields, map, expected) in [
            (&["id=idx,score=a[0].b"][..], &[][..], r#"[(Id, ["idx"]), (Score, ["a[0].b"])] []"#),
            (
                &["score=[a, b]", "judge=people"],
                &[],
                r#"[(Score, ["a", "b"]), (Judge, ["people"])] []"#,
            ),
            (
                &[],
                &["Tie=0,garbage=error", "a=b=1"],
                r#"[] [("Tie", Score(0.0)), ("garbage", Error), ("a=b", Score(1.0))]"#,
            ),
        ] {
            assert_eq!(told(fields, map), expected);
        }
        for (fields, map, message) in [
            ("score=[a,b],rationale=[c]", "", ""),
            ("score=[a,b],rationale=[c,d,e]", "", "3 paths for `rationale` and 2 for `score`"),
            ("id=[a,b]", "", ""),
            ("score=", "", "which is not NAME=PATH"),
            ("score=[a,]", "", "which is not NAME=PATH"),
            ("ID=a", "", "which is not NAME=PATH"),
            ("score=a,score=b", "", "names `score` twice"),
            ("", "Tie", "which is not VALUE=SCORE"),
            ("", "=0", "which is not VALUE=SCORE"),
            ("", "Tie=zero", "which is not VALUE=SCORE"),
        ] {
            let some = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
            let told = told(&some(fields), &some(map));
            assert!(told.contains(message), "{told}");
            assert_eq!(told.contains("Plain"), !message.is_empty(), "{told}");
        }
    }
}
