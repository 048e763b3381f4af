//! The values of each result of a run: a grader's, a human label, a field of the row. Metrics of suites and
//! `evalrs agree` name them alike.

use serde::{Deserialize, Serialize};

/// A value for each result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Series {
    /// Where it comes from.
    pub source: SeriesSource,
    /// Of which model; of all if absent.
    pub model: Option<String>,
}

/// Where the values of a series come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SeriesSource {
    /// What a grader says.
    Grader(String, GraderValue),
    /// Human labels of what a grader grades.
    Labels(String),
    /// What a field of the row holds: a dotted path.
    Field(String),
}

/// What of a grade is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GraderValue {
    /// The score; where classes are compared, of a grader without a scale of its own, whether it passes.
    #[default]
    Any,
    /// The score.
    Score,
    /// Whether it passes.
    Pass,
    /// The text that was graded.
    Submission,
}

/// What results are put into groups by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dimension {
    /// Each tag: a result may be of several.
    Tags,
    /// The model.
    Model,
    /// The sample, of which there may be trials.
    Sample,
    /// What a field of the row holds: a dotted path.
    Field(String),
}

/// Why a text names no series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesMistake {
    /// The grader does not exist.
    Unknown(String),
    /// `labels`, and nothing says of which grader.
    UnclearLabels,
    /// `model.NAME`, and nothing says what of that model.
    UnclearModel,
}

impl Series {
    /// Reads `GRADER`, `GRADER.score`, `GRADER.pass`, `GRADER.submission`, `labels`, `labels.GRADER`, `row.PATH` or
    /// `model.NAME`; what is not of the row also with `@MODEL` behind it. `of` is what it is compared with: `labels` are those of its
    /// grader, `model.NAME` says the same of another model.
    pub fn read(text: &str, graders: &[&str], of: Option<&Self>) -> Result<Self, SeriesMistake> {
        Self::without_model(text, graders, of).or_else(|of_all| {
            let (text, model) = text.rsplit_once('@').ok_or(of_all.clone())?;
            let series = Self::without_model(text, graders, of).map_err(|_| of_all)?;
            Ok(Self { model: Some(model.to_owned()), ..series })
        })
    }

    fn without_model(
        text: &str,
        graders: &[&str],
        of: Option<&Self>,
    ) -> Result<Self, SeriesMistake> {
        if graders.contains(&text) {
            let source = SeriesSource::Grader(text.to_owned(), GraderValue::Any);
            return Ok(Self { source, model: None });
        }
        if let Some(model) = text.strip_prefix("model.") {
            let of = of.ok_or(SeriesMistake::UnclearModel)?;
            return Ok(Self { source: of.source.clone(), model: Some(model.to_owned()) });
        }
        if text == "labels" {
            let grader = of.and_then(Self::grader).ok_or(SeriesMistake::UnclearLabels)?;
            return Ok(Self { source: SeriesSource::Labels(grader.to_owned()), model: None });
        }
        SeriesSource::read(text, graders).map(|source| Self { source, model: None })
    }

    /// The grader that it is of.
    pub fn grader(&self) -> Option<&str> {
        match &self.source {
            SeriesSource::Grader(name, _) | SeriesSource::Labels(name) => Some(name),
            SeriesSource::Field(_) => None,
        }
    }
}

impl SeriesSource {
    /// The part behind a point: part of a grade, labels of a grader, a path.
    fn read(text: &str, graders: &[&str]) -> Result<Self, SeriesMistake> {
        const VALUES: [(&str, GraderValue); 3] = [
            (".score", GraderValue::Score),
            (".pass", GraderValue::Pass),
            (".submission", GraderValue::Submission),
        ];
        let valued = VALUES.iter().find_map(|(ending, value)| {
            let name = text.strip_suffix(ending)?;
            graders.contains(&name).then_some((name, *value))
        });
        if let Some((name, value)) = valued {
            return Ok(Self::Grader(name.to_owned(), value));
        }
        if let Some(path) = text.strip_prefix("row.").filter(|path| !path.is_empty()) {
            return Ok(Self::Field(path.to_owned()));
        }
        match text.strip_prefix("labels.") {
            Some(name) if graders.contains(&name) => Ok(Self::Labels(name.to_owned())),
            Some(name) => Err(SeriesMistake::Unknown(name.to_owned())),
            None => Err(SeriesMistake::Unknown(text.to_owned())),
        }
    }
}

impl Dimension {
    /// Reads `tags`, `model`, `sample` or a path, which may begin with `row.`.
    pub fn read(text: &str) -> Self {
        match text {
            "tags" | "tag" => Self::Tags,
            "model" | "models" => Self::Model,
            "sample" => Self::Sample,
            path => Self::Field(path.strip_prefix("row.").unwrap_or(path).to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GraderValue, Series, SeriesMistake, SeriesSource};

    #[test]
    fn series_are_named_or_it_is_said_what_is_not_known() {
        let graders = ["quality", "a@b", "row.x"];
        let of = Series {
            source: SeriesSource::Grader("quality".to_owned(), GraderValue::Pass),
            model: None,
        };
        let grader = |name: &str, value| SeriesSource::Grader(name.to_owned(), value);
        let labels = SeriesSource::Labels("quality".to_owned());
        let field = |path: &str| SeriesSource::Field(path.to_owned());
        for (text, source, model) in [
            ("quality", grader("quality", GraderValue::Any), None),
            ("quality.score", grader("quality", GraderValue::Score), None),
            ("quality.pass@small", grader("quality", GraderValue::Pass), Some("small")),
            ("a@b", grader("a@b", GraderValue::Any), None),
            ("a@b@small", grader("a@b", GraderValue::Any), Some("small")),
            ("row.x", grader("row.x", GraderValue::Any), None),
            ("row.y.z", field("y.z"), None),
            ("row.y@large", field("y@large"), None),
            ("labels", labels.clone(), None),
            ("labels.quality@small", labels.clone(), Some("small")),
            ("model.large", grader("quality", GraderValue::Pass), Some("large")),
        ] {
            let expected = Series { source, model: model.map(str::to_owned) };
            assert_eq!(Series::read(text, &graders, Some(&of)), Ok(expected), "{text}");
        }
        let unknown = |name: &str| SeriesMistake::Unknown(name.to_owned());
        for (text, mistake) in [
            ("qualty", unknown("qualty")),
            ("qualty@small", unknown("qualty@small")),
            ("labels.nobody", unknown("nobody")),
            ("row.", unknown("row.")),
            ("labels", SeriesMistake::UnclearLabels),
            ("model.large", SeriesMistake::UnclearModel),
        ] {
            assert_eq!(Series::read(text, &graders, None), Err(mistake), "{text}");
        }
    }
}
