//! Which run of its sample a row or a recording is of: the trial and the model that it names.

use super::fields::RowFields;
use evalrs_base::diagnostic::clipped;

/// What a row, or a recording, says of the run it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunIdentity {
    /// The repetition, from 0.
    pub trial: Option<u32>,
    /// The model.
    pub model: Option<String>,
}

impl RunIdentity {
    /// What the fields say. A value of a wrong type is another's problem.
    pub fn of(fields: &RowFields<'_>) -> Self {
        let trial = fields.value("trial").ok().flatten();
        let trial = trial.and_then(|trial| u32::try_from(trial.as_u64()?).ok());
        Self { trial, model: fields.text("model").ok().flatten() }
    }

    /// How well a recording of the run `other` matches this row.
    pub fn fit(&self, other: &Self) -> Compatibility {
        let trial = compatibility(self.trial.as_ref(), other.trial.as_ref());
        trial.min(compatibility(self.model.as_ref(), other.model.as_ref()))
    }

    /// How much it says.
    pub fn said(&self) -> usize {
        usize::from(self.trial.is_some()) + usize::from(self.model.is_some())
    }

    /// The sample `name` in this run, for messages.
    pub fn named(&self, name: &str) -> String {
        let trial = self.trial.map(|trial| format!("trial {trial}"));
        let model = self.model.as_ref().map(|model| format!("model `{}`", clipped(model)));
        let said: Vec<String> = trial.into_iter().chain(model).collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) };
        format!("`{}`{said}", clipped(name))
    }
}

/// How a recording fits a row of its sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compatibility {
    /// It is of another trial or model.
    No,
    /// It does not say what the row says.
    Perhaps,
    /// It matches the row exactly.
    Yes,
}

fn compatibility<T: PartialEq>(row: Option<&T>, recording: Option<&T>) -> Compatibility {
    match (row, recording) {
        (Some(row), Some(recording)) if row != recording => Compatibility::No,
        (Some(_), None) => Compatibility::Perhaps,
        _ => Compatibility::Yes,
    }
}
