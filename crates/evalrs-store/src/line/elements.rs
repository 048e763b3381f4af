//! Where the ingredients of a body stand in its text: what lines of one segment may have in common. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The ranges of bytes of the ingredients in a body, one beside the other with a comma between; none if it has none, or not in
/// the way that evalrs writes them.
pub(crate) type Elements = Vec<std::ops::Range<usize>>;

/// What a body needs to be shared in part.
#[derive(Deserialize)]
struct IngredientTexts<'a> {
    #[serde(borrow, default)]
    ingredients: Vec<&'a RawValue>,
}

/// Finds the ingredients of `body`. None if it is no JSON.
pub(crate) fn elements_of(body: &str) -> Option<Elements> {
    match serde_json::from_str::<IngredientTexts<'_>>(body) {
        Ok(IngredientTexts { ingredients }) => Some(side_by_side(body, &ingredients)),
        Err(_) => serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok().then(Vec::new),
    }
}

fn side_by_side(body: &str, ingredients: &[&RawValue]) -> Elements {
    let start_of = |text: &str| text.as_ptr() as usize - body.as_ptr() as usize;
    let elements: Elements = ingredients
        .iter()
        .map(|ingredient| {
            start_of(ingredient.get())..start_of(ingredient.get()) + ingredient.get().len()
        })
        .collect();
    let has_comma =
        |pair: &[std::ops::Range<usize>]| body.get(pair[0].end..pair[1].start) == Some(",");
    if elements.windows(2).all(has_comma) { elements } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::elements_of;

    #[test]
    fn ingredients_are_found_where_they_stand_and_nowhere_else() {
        let cases = [
            (
                r#"{"outcome":{},"ingredients":[{"a":1},"b",[2]],"at":""}"#,
                Some(vec![r#"{"a":1}"#, r#""b""#, "[2]"]),
            ),
            (r#"{"outcome":{"ingredients":[1,2]},"ingredients":[3]}"#, Some(vec!["3"])),
            (r#"{"outcome":"\"ingredients\":[1]"}"#, Some(vec![])),
            (r#"{"ingredients":[1, 2]}"#, Some(vec![])),
            (r#"{"ingredients":[]}"#, Some(vec![])),
            (r#"{"ingredients":{"a":1}}"#, Some(vec![])),
            (r#"{"ingredients":[1],"ingredients":[2]}"#, Some(vec![])),
            (r#"{"ingredients":[1]"#, None),
            (r#"{"ingredients":[1]}}"#, None),
            ("{a:1}", None),
        ];
        for (body, expected) in cases {
            let found = elements_of(body);
            let texts =
                found.map(|found| found.into_iter().map(|at| &body[at]).collect::<Vec<_>>());
            assert_eq!(texts, expected, "{body}");
        }
    }
}
