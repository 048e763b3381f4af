//! The pattern that picks the reference answer out of a longer ground truth.

use python_re::{Captures, Regex, RegexProblem};

/// A compiled `ground_truth_pattern`.
#[derive(Debug)]
pub struct ReferencePattern {
    regex: Regex,
}

impl ReferencePattern {
    /// Compiles a Python pattern.
    pub fn new(pattern: &str) -> Result<Self, RegexProblem> {
        Ok(Self { regex: Regex::new(pattern)? })
    }

    /// The reference answer in `ground_truth`: group 1 of the last match, or all of that match if the pattern
    /// has no group. None without a match, or if group 1 took no part in it.
    ///
    /// The last match and not the first, because an answer stands at the end of its explanation. Empty
    /// matches count only if there is no other: `(\d*)` finds nothing at the end of every text.
    pub fn pick<'t>(&self, ground_truth: &'t str) -> Result<Option<&'t str>, RegexProblem> {
        let mut last: Option<Captures> = None;
        for found in self.regex.find_all(ground_truth) {
            let found = found?;
            let is_empty = found.groups.first().cloned().flatten().is_none_or(|it| it.is_empty());
            if !is_empty || last.is_none() {
                last = Some(found);
            }
        }
        let group = usize::from(self.regex.group_count() > 0);
        let range = last.and_then(|found| found.groups.get(group).cloned().flatten());
        Ok(range.and_then(|range| ground_truth.get(range)))
    }
}

#[cfg(test)]
mod tests {
    use super::ReferencePattern;

    #[test]
    fn the_last_match_is_the_answer() {
        for (pattern, text, expected) in [
            ("A: (.*)", "A: 1\nwork\nA: 18", Some("18")),
            ("#### (.+)$", "so 18\n#### 18\n", Some("18")),
            (r"\d+", "1 then 23.", Some("23")),
            (r"(\d*)", "é 42 é", Some("42")),
            (r"x*", "é", Some("")),
            ("A: (.*)", "no answer", None),
            ("(a)|b", "a b", None),
            ("(?P<x>a)(?P<y>b)", "ab", Some("a")),
            ("(?<=: )(?:.+)", "A: yes", Some("yes")),
        ] {
            let found = ReferencePattern::new(pattern).unwrap();
            assert_eq!(found.pick(text), Ok(expected), "{pattern:?} in {text:?}");
        }
        assert!(ReferencePattern::new("(").is_err());
    }
}
