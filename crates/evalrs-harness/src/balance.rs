//! How the cases of a test set are spread over categories: what `evalrs balance` says.

use serde::Serialize;
use serde_json::Value;

use super::lines::JsonRecord;
use super::words::shown;

/// A category has too few cases for a number of its own below this.
const RELIABLE: usize = 3;
/// A test set has too few cases below this.
const SIGNIFICANT: usize = 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BalanceAnalysis {
    pub total_cases: usize,
    /// The categories, the largest first.
    pub categories: Vec<CategoryShare>,
    /// The categories that have far less than an equal share.
    pub underrepresented: Vec<String>,
    pub suggestions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CategoryShare {
    /// What the cases say.
    pub name: String,
    pub count: usize,
    /// Of 100, rounded, half up.
    pub percentage: u64,
}

/// The spread of cases over what their metadata says under `key`. `threshold` is the share of an equal share below which
/// a category is too small, in percent.
pub(crate) fn balance(prompts: &[JsonRecord], key: &str, threshold: f64) -> BalanceAnalysis {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for prompt in prompts {
        let name = category(prompt, key);
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    // Stable: categories of one size stay in the order of their first case.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total = prompts.len();
    let share = |(name, count): (String, usize)| {
        let percentage = (100.0 * count as f64 / total as f64 + 0.5).floor() as u64;
        CategoryShare { name, count, percentage }
    };
    let categories: Vec<CategoryShare> = counts.into_iter().map(share).collect();
    let least = 100.0 / categories.len() as f64 * threshold / 100.0;
    let underrepresented = names(&categories, |one| (one.percentage as f64) < least);
    let suggestions = suggestions(&categories, &underrepresented, total);
    BalanceAnalysis { total_cases: total, categories, underrepresented, suggestions }
}

/// The names of the categories that `holds` is true of.
fn names(categories: &[CategoryShare], holds: impl Fn(&CategoryShare) -> bool) -> Vec<String> {
    categories.iter().filter(|one| holds(one)).map(|one| one.name.clone()).collect()
}

/// What a case says of itself, as JavaScript would write it.
fn category(prompt: &JsonRecord, key: &str) -> String {
    match prompt.get("metadata").and_then(|metadata| metadata.get(key)) {
        None => "(uncategorized)".to_owned(),
        Some(Value::Array(items)) => {
            let shown =
                items.iter().map(|item| if item.is_null() { String::new() } else { shown(item) });
            shown.collect::<Vec<_>>().join(",")
        }
        Some(other) => shown(other),
    }
}

fn suggestions(
    categories: &[CategoryShare],
    underrepresented: &[String],
    total: usize,
) -> Vec<String> {
    let mut suggestions = Vec::new();
    if !underrepresented.is_empty() {
        suggestions
            .push(format!("Consider adding more test cases for: {}", underrepresented.join(", ")));
    }
    if let Some(CategoryShare { name, percentage, .. }) =
        categories.iter().find(|category| category.percentage > 50)
    {
        suggestions
            .push(format!("Category '{name}' has {percentage}% of cases - consider diversifying"));
    }
    let few = names(categories, |category| category.count < RELIABLE);
    if !few.is_empty() {
        suggestions.push(format!(
            "Categories with < {RELIABLE} cases may not be reliable: {}",
            few.join(", ")
        ));
    }
    if total < SIGNIFICANT {
        suggestions.push(format!(
            "Consider expanding test set (currently {total} cases) for more statistical significance"
        ));
    }
    if suggestions.is_empty() {
        suggestions.push("Test set appears well-balanced".to_owned());
    }
    suggestions
}

/// A bar for each category, a block for each 5 percent.
pub(crate) fn chart(analysis: &BalanceAnalysis) -> String {
    let width =
        analysis.categories.iter().map(|category| category.name.chars().count()).max().unwrap_or(0);
    let line = |category: &CategoryShare| {
        let CategoryShare { name, count, percentage } = category;
        let bar = "█".repeat((*percentage / 5) as usize);
        format!("  {name:<width$}  {count:>4}  {percentage:>3}%  {bar}").trim_end().to_owned()
            + "\n"
    };
    analysis.categories.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{balance, chart};

    fn prompts(categories: &[(Value, usize)]) -> Vec<Map<String, Value>> {
        let of = |(category, count): &(Value, usize)| {
            let prompt = json!({"id": "x", "input": "", "metadata": {"category": category}});
            vec![prompt.as_object().unwrap().clone(); *count]
        };
        categories.iter().flat_map(of).collect()
    }

    #[test]
    fn categories_are_counted_and_judged() {
        let set = prompts(&[
            (json!("web"), 2),
            (json!("code"), 13),
            (json!(null), 2),
            (json!([1, "a"]), 3),
        ]);
        let found = balance(&set, "category", 50.0);
        insta::assert_snapshot!(format!("{}{:#}", chart(&found), json!(found)), @r#"
          code    13   65%  █████████████
          1,a      3   15%  ███
          web      2   10%  ██
          null     2   10%  ██
        {
          "totalCases": 20,
          "categories": [
            {
              "name": "code",
              "count": 13,
              "percentage": 65
            },
            {
              "name": "1,a",
              "count": 3,
              "percentage": 15
            },
            {
              "name": "web",
              "count": 2,
              "percentage": 10
            },
            {
              "name": "null",
              "count": 2,
              "percentage": 10
            }
          ],
          "underrepresented": [
            "web",
            "null"
          ],
          "suggestions": [
            "Consider adding more test cases for: web, null",
            "Category 'code' has 65% of cases - consider diversifying",
            "Categories with < 3 cases may not be reliable: web, null"
          ]
        }
        "#);
    }

    #[test]
    fn sets_are_empty_or_balanced() {
        let empty = balance(&[], "category", 50.0);
        assert_eq!((empty.total_cases, empty.categories.len(), empty.suggestions.len()), (0, 0, 1));
        let even = balance(&prompts(&[(json!("a"), 10), (json!("b"), 10)]), "category", 50.0);
        assert_eq!(even.suggestions, ["Test set appears well-balanced"]);
        let bare = json!({"id": "x", "input": ""});
        let bare = balance(&[bare.as_object().unwrap().clone()], "category", 50.0);
        assert_eq!(bare.categories[0].name, "(uncategorized)");
    }
}
