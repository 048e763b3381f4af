//! A text that mostly stands in a row, and then takes no memory of its own.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::chunk::Records;

/// The shortest text that is looked for in its row, in bytes: shorter ones take about as much as a place in the row.
const LEAST_PART: usize = 48;

/// A text: its own, or a part of the records that it comes from.
#[derive(Clone)]
pub enum RecordText {
    /// Its own.
    Own(Box<str>),
    /// Bytes of the text of a chunk.
    Part {
        /// The records of the chunk.
        records: Arc<Records>,
        /// The first byte.
        from: u32,
        /// How many bytes.
        length: u32,
    },
}

impl RecordText {
    /// The same text, as a part of record `at` of the records if it stands there as it is: JSON has other characters in
    /// place of line breaks and quotes.
    #[must_use]
    pub(crate) fn within(self, records: &Arc<Records>, at: usize) -> Self {
        let part = |text: &str| {
            let from = (text.len() >= LEAST_PART).then(|| records.find(at, text)).flatten()?;
            let length = u32::try_from(text.len()).ok()?;
            Some(Self::Part { records: Arc::clone(records), from, length })
        };
        part(&self).unwrap_or(self)
    }
}

impl Deref for RecordText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Part { records, from, length } => records.part(*from, *length),
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

    use super::RecordText;
    use crate::pipeline::dataset::chunk::Records;
    use crate::pipeline::dataset::join::Joined;
    use crate::pipeline::dataset::split::RecordStart;

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
        let joined: Vec<Joined<'_>> = rows
            .iter()
            .map(|row| Joined {
                row: row.as_str().into(),
                recorded: "".into(),
                start: RecordStart::default(),
            })
            .collect();
        let records = Arc::new(Records::own(0, &joined));
        let is_part = |text: &str, at: usize| {
            let found = RecordText::from(text).within(&records, at);
            assert_eq!(&*found, text);
            matches!(found, RecordText::Part { .. })
        };
        assert!(is_part(long, 0) && is_part(&texts[3], 3));
        assert!(!is_part(&broken, 1), "the row has other characters");
        assert!(!is_part("short", 2), "it is not worth it");
        assert!(!is_part(long, 3), "it stands in another record");
        // Its beginning stands there before it does, again and again.
        let zeros = "0".repeat(100);
        assert!(is_part(&zeros, 4) && is_part(&format!("{zeros}1"), 4));
        assert_eq!(RecordText::from(long).within(&records, 0), RecordText::from(long));
    }
}
