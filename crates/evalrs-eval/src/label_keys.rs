//! The key of each label, and the text of its button: one table for the terminal and for pages.

use serde_json::{Value, json};

use evalrs_model::spec::Scale;

/// The key of the highest score where digits are tenths of the scale.
pub const TOP: char = '!';

/// The key that removes the label of the same person.
pub const REMOVE: char = 'x';

/// What a key says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyLabel {
    /// Whether the answer passes.
    Pass(bool),
    /// A score on the scale of the grader.
    Score(f64),
    /// Nothing any more.
    Nothing,
}

/// A key.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelKey {
    /// The key.
    pub key: char,
    /// What it says.
    pub says: KeyLabel,
    /// What its button shows.
    pub shown: String,
}

/// Every key that labels what is graded on a scale, in the order of its buttons.
pub fn label_keys(scale: Scale) -> Vec<LabelKey> {
    let key = |key, says, shown: &str| LabelKey { key, says, shown: shown.to_owned() };
    let mut keys =
        vec![key('y', KeyLabel::Pass(true), "Pass"), key('n', KeyLabel::Pass(false), "Fail")];
    let scores = score_keys(scale).into_iter();
    keys.extend(scores.map(|(char, score)| key(char, KeyLabel::Score(score), &score.to_string())));
    keys.push(key(REMOVE, KeyLabel::Nothing, "Remove"));
    keys
}

/// What a key says on a scale; none where it says nothing there.
pub fn label_of_key(scale: Scale, key: char) -> Option<KeyLabel> {
    label_keys(scale).into_iter().find(|known| known.key == key).map(|known| known.says)
}

/// A score as it is written: a whole number as people write it.
pub fn written_score(score: f64) -> Value {
    if score.fract() == 0.0 && score.abs() < 1e15 { json!(score as i64) } else { json!(score) }
}

/// The keys of scores, the lowest first: the digit itself on scales of whole numbers up to 9, with 0 for 10 from 1 to 10, else
/// tenths of the scale and a key for its top.
fn score_keys(scale: Scale) -> Vec<(char, f64)> {
    let Scale { min, max } = scale;
    let is_whole = min.fract() == 0.0 && max.fract() == 0.0 && min >= 0.0;
    if is_whole && max <= 9.0 && scale != Scale::UNIT {
        return digits(min as u32..=max as u32).collect();
    }
    if scale == (Scale { min: 1.0, max: 10.0 }) {
        return digits(1..=9).chain([('0', 10.0)]).collect();
    }
    let tenths = digits(0..=9).map(|(key, digit)| (key, scale.native(digit / 10.0)));
    tenths.chain([(TOP, max)]).collect()
}

fn digits(range: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = (char, f64)> {
    range.filter_map(|digit| Some((char::from_digit(digit, 10)?, f64::from(digit))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{KeyLabel, label_keys, label_of_key, written_score};
    use evalrs_model::spec::Scale;

    /// The keys of scores with what their buttons show.
    fn shown(min: f64, max: f64) -> String {
        let keys = label_keys(Scale { min, max });
        let scores = keys.iter().filter(|key| matches!(key.says, KeyLabel::Score(_)));
        scores.map(|key| format!("{}={}", key.key, key.shown)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn digits_are_scores_where_the_scale_has_them_else_tenths() {
        for ((min, max), expected) in [
            ((1.0, 5.0), "1=1 2=2 3=3 4=4 5=5"),
            ((0.0, 2.0), "0=0 1=1 2=2"),
            ((0.0, 9.0), "0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9"),
            ((1.0, 2.0), "1=1 2=2"),
            ((1.0, 10.0), "1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9 0=10"),
            ((0.0, 1.0), "0=0 1=0.1 2=0.2 3=0.3 4=0.4 5=0.5 6=0.6 7=0.7 8=0.8 9=0.9 !=1"),
            ((0.0, 10.0), "0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9 !=10"),
            ((0.0, 100.0), "0=0 1=10 2=20 3=30 4=40 5=50 6=60 7=70 8=80 9=90 !=100"),
            ((-1.0, 1.0), "0=-1 1=-0.8 2=-0.6 3=-0.4 4=-0.2 5=0 6=0.2 7=0.4 8=0.6 9=0.8 !=1"),
            ((0.5, 4.5), "0=0.5 1=0.9 2=1.3 3=1.7 4=2.1 5=2.5 6=2.9 7=3.3 8=3.7 9=4.1 !=4.5"),
            ((1.0, 11.0), "0=1 1=2 2=3 3=4 4=5 5=6 6=7 7=8 8=9 9=10 !=11"),
        ] {
            assert_eq!(shown(min, max), expected, "{min} to {max}");
        }
    }

    #[test]
    fn every_scale_has_the_keys_of_pass_fail_and_nothing_and_each_key_once() {
        for scale in [Scale::UNIT, Scale { min: 1.0, max: 5.0 }, Scale { min: -3.5, max: 1e9 }] {
            let keys = label_keys(scale);
            let mut names: Vec<char> = keys.iter().map(|key| key.key).collect();
            assert_eq!(names.iter().filter(|key| "ynx".contains(**key)).count(), 3);
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), keys.len(), "{scale:?}");
            for key in &keys {
                assert_eq!(label_of_key(scale, key.key), Some(key.says));
                if let KeyLabel::Score(score) = key.says {
                    assert!(scale.contains(score), "{scale:?} {score}");
                }
            }
        }
        assert_eq!(label_of_key(Scale { min: 1.0, max: 5.0 }, '6'), None);
        assert_eq!(label_of_key(Scale { min: 1.0, max: 5.0 }, '!'), None);
    }

    /// What a button says is sent as a number from 0 to 1, and written as the person meant it.
    #[test]
    fn scores_that_a_page_sends_are_written_as_its_buttons_show_them() {
        for scale in [Scale { min: 1.0, max: 7.0 }, Scale { min: 1.0, max: 10.0 }, Scale::UNIT] {
            for key in label_keys(scale) {
                let KeyLabel::Score(score) = key.says else { continue };
                let written = written_score(scale.native(scale.unit(score)));
                assert_eq!(written.to_string(), key.shown, "{scale:?}");
            }
        }
        assert_eq!([4.0, 2.5, 1e300].map(written_score), [json!(4), json!(2.5), json!(1e300)]);
    }
}
