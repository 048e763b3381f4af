//! Gives or takes back one label in the text of a file of labels: a sorted line each, so that branches of git merge line by line.
//!
//! What a person says takes the place of all that they said of the same: of this verdict, or of one of those that it is about if
//! it is about several. Lines of other people and of other verdicts stay as they are, also those that cannot be read.

use serde_json::{Map, Value, json};

use super::people::{LabelNote, UNKNOWN, person};
use evalrs_base::diagnostic::clipped;
use evalrs_model::spec::LabelPick;

/// A label that a person gives, and what it is of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewLabel {
    /// The sample.
    pub id: String,
    /// For this grader alone.
    pub grader: Option<String>,
    /// Whether there is no other grader, so that lines without a grader are for it alone.
    pub is_only_grader: bool,
    /// Of this model alone.
    pub model: Option<String>,
    /// Of this trial alone, from 0.
    pub trial: Option<u32>,
    /// The digest of the submission that the person saw, 16 hexadecimal digits of BLAKE3.
    pub submission: Option<String>,
    /// `true`, `false` or a number on the scale of the grader; none removes the person's label.
    pub label: Option<Value>,
    /// The person.
    pub who: Option<String>,
    /// When, as RFC 3339.
    pub at: String,
    /// How the answer came to be labelled.
    pub picked: Option<LabelPick>,
    /// What the person says beside it. What is not there stays as their label before had it; an empty text removes it.
    pub note: LabelNote,
}

/// The text of a file of labels after an edit, and what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelEdit {
    /// The text.
    pub text: String,
    /// The lines.
    pub change: LabelChange,
}

/// The lines of a file of labels that an edit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelChange {
    /// Those that are gone.
    pub removed: Vec<String>,
    /// The one that is new.
    pub added: Option<String>,
}

/// The file with the label; an error, a sentence, if others gave the same verdict a label of another kind.
pub fn edited(text: &str, label: &NewLabel) -> Result<LabelEdit, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = Vec::new();
    let mut removed = Vec::new();
    let mut note = LabelNote::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let read: Option<Map<String, Value>> = serde_json::from_str(line).ok();
        match read.filter(|read| label.covers(read)) {
            Some(read) if label.is_by(&read) => {
                let said = |name: &str| read.get(name).and_then(Value::as_str).map(Box::from);
                note.comment = said("comment").or(note.comment);
                note.category = said("category").or(note.category);
                removed.push(line.to_owned());
            }
            Some(read) => {
                label.check_kind(&read)?;
                lines.push(line.to_owned());
            }
            None => lines.push(line.to_owned()),
        }
    }
    let added = label.line(&note);
    lines.extend(added.clone());
    Ok(LabelEdit { text: sorted(lines), change: LabelChange { removed, added } })
}

/// The text of the file without a change; an error, a sentence, if its line is another one by now.
pub fn undone(text: &str, change: &LabelChange) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Some(added) = &change.added {
        let at = lines.iter().position(|line| line == added);
        let at = at.ok_or("the label was changed since, and is not taken back")?;
        lines.remove(at);
    }
    lines.extend(change.removed.iter().cloned());
    Ok(sorted(lines))
}

fn sorted(mut lines: Vec<String>) -> String {
    lines.sort();
    lines.into_iter().filter(|line| !line.trim().is_empty()).map(|line| line + "\n").collect()
}

impl NewLabel {
    /// The line of the file, where it says something. `before` is what the person said beside the label before.
    fn line(&self, before: &LabelNote) -> Option<String> {
        let label = self.label.as_ref()?;
        let beside = |new: &Option<Box<str>>, before: &Option<Box<str>>| {
            new.clone().or_else(|| before.clone()).filter(|text| !text.trim().is_empty())
        };
        let mut line = json!({
            "id": self.id,
            "grader": self.grader,
            "model": self.model,
            "trial": self.trial,
            "submission_digest": self.submission,
            "label": label,
            "who": self.person(),
            "at": self.at,
            "picked": self.picked.map(LabelPick::name),
            "category": beside(&self.note.category, &before.category),
            "comment": beside(&self.note.comment, &before.comment),
        });
        line.as_object_mut()?.retain(|_, value| !value.is_null());
        Some(line.to_string())
    }

    /// Whether a line of the file is of this verdict, or of one of those that this is about: of this submission or of another.
    fn covers(&self, line: &Map<String, Value>) -> bool {
        let id = line.get("id").or_else(|| line.get("sample_id"));
        let is_id = match id {
            Some(Value::String(id)) => *id == self.id,
            Some(Value::Number(id)) => id.to_string() == self.id,
            _ => false,
        };
        let is_own = |name: &str, own: Option<Value>| {
            let held = line.get(name).filter(|value| !value.is_null());
            own.is_none() || own.as_ref() == held
        };
        let names_grader = line.get("grader").is_some_and(|value| !value.is_null());
        let is_for_it = is_own("grader", self.grader.clone().map(Value::from))
            || (self.is_only_grader && !names_grader);
        // Whoever tries samples once may have said that it is of the first trial.
        let is_first = || line.get("trial").is_none_or(|trial| trial.is_null() || *trial == 0);
        let is_of_trial =
            self.trial.map_or_else(is_first, |_| is_own("trial", self.trial.map(Value::from)));
        is_id && is_for_it && is_own("model", self.model.clone().map(Value::from)) && is_of_trial
    }

    /// Whether it is of the same person. Lines that name nobody are of one person, who is unknown.
    fn is_by(&self, line: &Map<String, Value>) -> bool {
        line.get("who").and_then(person) == self.person()
    }

    /// The person, where the name is known.
    fn person(&self) -> Option<String> {
        person(&self.who.clone().map_or(Value::Null, Value::from))
    }

    /// Scores and passes of several people cannot be combined into one label.
    fn check_kind(&self, line: &Map<String, Value>) -> Result<(), String> {
        let submission = line.get("submission_digest").and_then(Value::as_str);
        let is_of_same = submission.is_none() || submission == self.submission.as_deref();
        let (Some(new), Some(held)) = (&self.label, line.get("label")) else { return Ok(()) };
        let names = |name: &str| line.get(name).is_some_and(|value| !value.is_null());
        let is_of_more = (self.grader.is_none() && names("grader"))
            || (self.model.is_none() && names("model"))
            || (self.trial.is_none() && names("trial"));
        if is_of_more || !is_of_same || new.is_number() == held.is_number() {
            return Ok(());
        }
        let who = line.get("who").and_then(person).unwrap_or_else(|| UNKNOWN.to_owned());
        let (theirs, yours) = if held.is_number() {
            ("a score", "a score too")
        } else {
            ("pass or fail", "pass or fail too")
        };
        Err(format!("`{}` gave this answer {theirs}: give {yours}", clipped(&who)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LabelNote, NewLabel, undone};

    /// The text of the file with a label.
    fn edited(text: &str, label: &NewLabel) -> Result<String, String> {
        super::edited(text, label).map(|edit| edit.text)
    }

    fn label(id: &str, label: Option<serde_json::Value>) -> NewLabel {
        NewLabel { id: id.to_owned(), label, at: "now".to_owned(), ..NewLabel::default() }
    }

    #[test]
    fn a_label_takes_the_place_of_the_one_before_it_and_of_no_other() {
        let file = "{\"id\":\"b\",\"label\":true}\n\nnot json\n{\"id\":7,\"grader\":\"g\",\"label\":0.5,\"note\":\"x\"}\n";
        let of_grader = NewLabel { grader: Some("g".to_owned()), ..label("7", None) };
        let of_trial = NewLabel { trial: Some(1), ..label("b", Some(json!(true))) };
        for (given, expected) in [
            (
                label("b", Some(json!(false))),
                "not json\n{\"id\":\"b\",\"label\":false,\"at\":\"now\"}\n{\"id\":7,\"grader\":\"g\",\"label\":0.5,\"note\":\"x\"}\n",
            ),
            (of_grader, "not json\n{\"id\":\"b\",\"label\":true}\n"),
            (
                of_trial,
                "not json\n{\"id\":\"b\",\"label\":true}\n{\"id\":\"b\",\"trial\":1,\"label\":true,\"at\":\"now\"}\n{\"id\":7,\"grader\":\"g\",\"label\":0.5,\"note\":\"x\"}\n",
            ),
            (
                label("c", None),
                "not json\n{\"id\":\"b\",\"label\":true}\n{\"id\":7,\"grader\":\"g\",\"label\":0.5,\"note\":\"x\"}\n",
            ),
        ] {
            assert_eq!(edited(file, &given).as_deref(), Ok(expected), "{given:?}");
        }
    }

    #[test]
    fn each_person_has_a_line_and_one_label_for_any_submission() {
        let of = |who: &str, submission: &str, label| NewLabel {
            submission: Some(submission.to_owned()),
            who: Some(who.to_owned()),
            ..self::label("a", label)
        };
        let line = |who: &str, submission: &str, label: bool| {
            format!(
                "{{\"id\":\"a\",\"submission_digest\":\"{submission}\",\"label\":{label},\"who\":\"{who}\",\"at\":\"now\"}}\n"
            )
        };
        let mut text = String::new();
        for (given, expected) in [
            (of("ann", "1", Some(json!(true))), line("ann", "1", true)),
            (of("bob", "1", Some(json!(false))), line("bob", "1", false) + &line("ann", "1", true)),
            // Another answer: what Ann said of the first is replaced.
            (of("ann", "2", Some(json!(true))), line("bob", "1", false) + &line("ann", "2", true)),
            (of("bob", "2", None), line("ann", "2", true)),
        ] {
            text = edited(&text, &given).unwrap();
            assert_eq!(text, expected);
        }
    }

    /// What names nobody is of one person, and nobody but that one replaces or removes it.
    #[test]
    fn lines_without_a_name_are_of_the_unknown_person() {
        let nobody = "{\"id\":\"a\",\"label\":false}\n";
        let unknown = "{\"id\":\"a\",\"label\":false,\"who\":\"unknown\"}\n";
        let of = |who: Option<&str>, label| NewLabel {
            who: who.map(str::to_owned),
            ..self::label("a", label)
        };
        let yes = Some(json!(true));
        let ann = "{\"id\":\"a\",\"label\":true,\"who\":\"ann\",\"at\":\"now\"}\n";
        for held in [nobody, unknown] {
            let given = edited(held, &of(Some("ann"), yes.clone())).unwrap();
            assert_eq!(given, format!("{held}{ann}"));
            assert_eq!(edited(&given, &of(Some("ann"), None)).as_deref(), Ok(held));
            for own in [None, Some("unknown"), Some("")] {
                let given = edited(held, &of(own, yes.clone()));
                assert_eq!(given.as_deref(), Ok("{\"id\":\"a\",\"label\":true,\"at\":\"now\"}\n"));
                assert_eq!(edited(held, &of(own, None)).as_deref(), Ok(""));
            }
        }
    }

    /// A label of all graders or trials is of each of them: it replaces what the same person said of one.
    #[test]
    fn a_label_of_more_replaces_those_of_less_and_not_the_other_way_round() {
        let file = concat!(
            "{\"id\":\"a\",\"grader\":\"g\",\"trial\":0,\"label\":false,\"who\":\"ann\"}\n",
            "{\"id\":\"a\",\"grader\":\"g\",\"trial\":0,\"label\":false,\"who\":\"bob\"}\n",
            "{\"id\":\"a\",\"grader\":\"h\",\"label\":false,\"who\":\"ann\"}\n",
            "{\"id\":\"a\",\"grader\":\"h\",\"trial\":2,\"label\":false,\"who\":\"ann\"}\n",
            "{\"id\":\"a\",\"label\":false,\"who\":\"ann\"}\n",
        );
        let of = |grader: Option<&str>, trial: Option<u32>| NewLabel {
            who: Some("ann".to_owned()),
            grader: grader.map(str::to_owned),
            trial,
            ..self::label("a", None)
        };
        let left = |given: &NewLabel| edited(file, given).unwrap().lines().count();
        assert_eq!(left(&of(Some("g"), None)), 4);
        assert_eq!(left(&of(Some("g"), Some(0))), 4);
        assert_eq!(left(&of(Some("g"), Some(1))), 5);
        assert_eq!(left(&of(None, None)), 2);
        // Where there is one grader a line that names none is for it.
        assert_eq!(left(&NewLabel { is_only_grader: true, ..of(Some("g"), None) }), 3);
    }

    #[test]
    fn a_byte_order_mark_is_not_kept() {
        let given =
            edited("\u{feff}{\"id\":\"b\",\"label\":true}\n", &label("a", Some(json!(true))));
        let expected =
            "{\"id\":\"a\",\"label\":true,\"at\":\"now\"}\n{\"id\":\"b\",\"label\":true}\n";
        assert_eq!(given.as_deref(), Ok(expected));
    }

    #[test]
    fn people_do_not_mix_scores_and_passes_of_one_answer() {
        let held = "{\"id\":\"a\",\"submission_digest\":\"1\",\"label\":4,\"who\":\"ann\"}\n";
        let of = |submission: &str, label| NewLabel {
            submission: Some(submission.to_owned()),
            who: Some("bob".to_owned()),
            ..self::label("a", Some(label))
        };
        for (given, expected) in [
            (of("1", json!(true)), Some("`ann` gave this answer a score: give a score too")),
            (of("1", json!(5)), None),
            (of("2", json!(true)), None),
        ] {
            assert_eq!(edited(held, &given).err().as_deref(), expected, "{given:?}");
        }
    }

    #[test]
    fn what_is_said_beside_a_label_stays_until_it_is_replaced() {
        let beside = |comment: Option<&str>, category: Option<&str>, pass: bool| NewLabel {
            note: LabelNote { comment: comment.map(Box::from), category: category.map(Box::from) },
            ..label("a", Some(json!(pass)))
        };
        let mut text = String::new();
        for (given, expected) in [
            (
                beside(Some("no period"), Some("facts"), false),
                r#""category":"facts","comment":"no period""#,
            ),
            (beside(None, None, true), r#""category":"facts","comment":"no period""#),
            (beside(Some(""), Some("tone"), false), r#""category":"tone"}"#),
        ] {
            text = edited(&text, &given).unwrap();
            assert!(text.contains(expected), "{text}");
        }
        assert_eq!(edited(&text, &label("a", None)).as_deref(), Ok(""));
    }

    #[test]
    fn a_label_is_taken_back_unless_it_was_changed_since() {
        let before = "{\"id\":\"a\",\"label\":false}\n{\"id\":\"b\",\"label\":true}\n";
        for given in
            [label("a", Some(json!(true))), label("a", None), label("c", Some(json!(true)))]
        {
            let edit = super::edited(before, &given).unwrap();
            assert_ne!(edit.text, before);
            assert_eq!(undone(&edit.text, &edit.change).as_deref(), Ok(before), "{given:?}");
        }
        let edit = super::edited(before, &label("a", Some(json!(true)))).unwrap();
        let again = edited(
            &edit.text,
            &NewLabel { at: "later".to_owned(), ..label("a", Some(json!(true))) },
        );
        assert!(undone(&again.unwrap(), &edit.change).is_err());
    }
}
