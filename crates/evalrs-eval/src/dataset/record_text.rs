//! A text that is mostly part of a row, and then takes no memory of its own.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::records::{Records, TextPart};

/// The shortest text that is looked for in its row, in bytes: shorter ones take about as much as a place in the row.
const LEAST_PART: usize = 48;

/// A text: its own, or a part of the records that it comes from.
#[derive(Clone)]
pub enum RecordText {
    /// Its own.
    Own(Arc<str>),
    /// A part of one of the records of a chunk.
    Part {
        /// The records of the chunk.
        records: Arc<Records>,
        /// Which of them.
        at: usize,
        /// Where in it.
        part: TextPart,
    },
}

/// A text as queries keep it: its own, or a place in its record. It keeps no record in memory, and says the same as
/// another only where the text and its place are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldText {
    /// Its own.
    Own(Arc<str>),
    /// A part of its record.
    Part(TextPart),
}

impl HeldText {
    /// The same text, as a part of record `at` if it is there unescaped: JSON escapes line breaks and quotes.
    pub fn of(text: &RecordText, records: &Records, at: usize) -> Self {
        let part = || {
            let from = (text.len() >= LEAST_PART).then(|| records.find(at, text)).flatten()?;
            let length = u32::try_from(text.len()).ok()?;
            Some(Self::Part(TextPart { from, length, digest: xxh3_64(text.as_bytes()) }))
        };
        part().unwrap_or_else(|| Self::own(text))
    }

    /// The same text, wherever it comes from.
    pub fn own(text: &RecordText) -> Self {
        match text {
            RecordText::Own(text) => Self::Own(Arc::clone(text)),
            RecordText::Part { .. } => Self::Own((**text).into()),
        }
    }

    /// The text, where `records` has the record that it is of as number `at`.
    pub fn within(&self, records: &Arc<Records>, at: usize) -> RecordText {
        match self {
            Self::Own(text) => RecordText::Own(Arc::clone(text)),
            Self::Part(part) => RecordText::Part { records: Arc::clone(records), at, part: *part },
        }
    }
}

impl Deref for RecordText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Part { records, at, part } => records.part(*at, *part),
        }
    }
}

impl PartialEq for RecordText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for RecordText {}

impl fmt::Debug for RecordText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for RecordText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl From<String> for RecordText {
    fn from(text: String) -> Self {
        Self::Own(text.into())
    }
}

impl From<&str> for RecordText {
    fn from(text: &str) -> Self {
        Self::Own(text.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{HeldText, RecordText};
    use crate::dataset::chunk::Records;
    use crate::dataset::join::JoinedRow;
    use crate::dataset::split::RecordStart;

    #[test]
    fn a_text_is_a_part_of_its_own_record_if_it_stands_there() {
        let long = "an answer that is long enough to be looked for in its row";
        let broken = format!("{long}\nand more of it");
        let texts = [
            long.to_owned(),
            broken.clone(),
            "short".to_owned(),
            "x".repeat(80),
            format!("{}1", "0".repeat(1000)),
        ];
        let rows: Vec<String> =
            texts.iter().map(|text| serde_json::json!({ "output": text }).to_string()).collect();
        let joined: Vec<JoinedRow<'_>> = rows
            .iter()
            .map(|row| JoinedRow {
                row: row.as_str().into(),
                recorded: "".into(),
                start: RecordStart::default(),
            })
            .collect();
        let records = Arc::new(Records::own(0, &joined));
        let held = |text: &str, at: usize| {
            let held = HeldText::of(&RecordText::from(text), &records, at);
            assert_eq!(&*held.within(&records, at), text);
            held
        };
        let is_part = |text: &str, at: usize| matches!(held(text, at), HeldText::Part(_));
        assert!(is_part(long, 0) && is_part(&texts[3], 3));
        assert!(!is_part(&broken, 1), "the row has other characters");
        assert!(!is_part("short", 2), "it is not worth it");
        assert!(!is_part(long, 3), "it stands in another record");
        // Its beginning stands there before it does, again and again.
        let zeros = "0".repeat(100);
        assert!(is_part(&zeros, 4) && is_part(&format!("{zeros}1"), 4));
        assert_eq!(held(long, 0).within(&records, 0), RecordText::from(long));
    }

    #[test]
    fn another_text_in_the_same_place_is_another() {
        let held = |row: &str, text: &str| {
            let joined =
                JoinedRow { row: row.into(), recorded: "".into(), start: RecordStart::default() };
            HeldText::of(&RecordText::from(text), &Records::own(0, &[joined]), 0)
        };
        let [one, two] = ["a", "b"].map(|end| "x".repeat(80) + end);
        let row = |text: &str, before: &str| format!("{before}{{\"output\": \"{text}\"}}");
        assert_ne!(held(&row(&one, ""), &one), held(&row(&two, ""), &two));
        assert_ne!(held(&row(&one, ""), &one), held(&row(&one, " "), &one));
        assert_eq!(held(&row(&one, ""), &one), held(&row(&one, ""), &one));
    }
}
