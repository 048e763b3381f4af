//! The file that `evalrs calibrate --suite` writes, and whether what it says is still of the graders as they are.
//!
//! A calibration is of a rubric, a model and settings, by their digests: the same that runs are compared by over time. What
//! else the suite says, and how it is written, is none of it. The file is of one form, so that the same findings are the same
//! bytes, and two who calibrate at once write the same.

use serde::{Deserialize, Serialize};

use super::history::GraderDigests;
use super::results::calibration::{GraderCalibration, ReportedCalibration};
use super::results::{ReportHeader, Summary};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::json_syntax::slip;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::enumerated;
use evalrs_model::spec::CalibrationBounds;

/// The version of the file.
const CALIBRATION_FORMAT: u32 = 1;

/// What was found of the graders of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationFile {
    /// The version of this shape.
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// Its path from the root of the workspace; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The required agreement where the suite sets none.
    #[serde(default, skip_serializing_if = "CalibrationBounds::is_empty")]
    pub bounds: CalibrationBounds,
    /// Grader → what was found, sorted.
    pub graders: OrderedMap<CalibratedGrader>,
}

/// What was found of a grader, and of which.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibratedGrader {
    /// What was found.
    pub calibration: GraderCalibration,
    /// Of which rubric, model and settings.
    pub digests: GraderDigests,
}

impl CalibrationFile {
    /// What an evaluation found of all graders with labels.
    pub fn of(
        header: &ReportHeader,
        summary: &Summary,
        path: String,
        bounds: CalibrationBounds,
    ) -> Self {
        let found = header.graders().filter_map(|(name, settings)| {
            let agreement = summary.label_agreement.get(name).filter(|found| found.n > 0)?;
            let calibration = GraderCalibration::of(agreement, summary.held_out.get(name).copied());
            let digests = GraderDigests::of(settings);
            Some((name.to_owned(), CalibratedGrader { calibration, digests }))
        });
        let mut graders = OrderedMap(found.collect::<Vec<_>>());
        graders.0.sort_by(|left, right| left.0.cmp(&right.0));
        let suite = summary.suite.clone();
        Self { format: CALIBRATION_FORMAT, suite, path, bounds, graders }
    }

    /// Reads the file at `path`; `suite` is the file of the suite, for the likely fix.
    pub fn read(path: &str, text: &str, suite: &str) -> Result<Self, Diagnostic> {
        let hint = format!("rewrite it with `evalrs calibrate --suite {suite}`, or remove it");
        let wrong = |place: Place, why: &str| {
            let message = format!("the calibration cannot be read: {why}");
            Diagnostic::error(place, message).hint(hint.clone())
        };
        if let Some(at) = text.find("<<<<<<<") {
            let place = Place::in_text(path, text, at..at + 7);
            return Err(wrong(place, "it contains both sides of a merge"));
        }
        let file: Self = serde_json::from_str(text).map_err(|error| {
            let slip = slip(text, &error);
            wrong(Place::in_text(path, text, slip.span), &slip.message)
        })?;
        if file.format > CALIBRATION_FORMAT {
            let why = format!("it has format {}, which a later version wrote", file.format);
            return Err(wrong(Place::file(path), &why));
        }
        Ok(file)
    }

    /// It as it is written.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// What it says of the graders as they are now, in their order; `bounds` are those of the suite.
    pub fn reported(
        &self,
        header: &ReportHeader,
        bounds: CalibrationBounds,
    ) -> OrderedMap<ReportedCalibration> {
        let bounds = bounds.or(self.bounds);
        let reported = header.graders().filter_map(|(name, settings)| {
            let found = self.graders.get(name)?;
            let stale = found.digests.changed(&GraderDigests::of(settings));
            let calibration = found.calibration.clone();
            let below = calibration.below(bounds);
            Some((name.to_owned(), ReportedCalibration { calibration, stale, below }))
        });
        OrderedMap(reported.collect())
    }
}

/// Why judges may not be relied on, a sentence each: those never compared with human labels, those changed since, and those
/// whose agreement is below the bound.
pub fn uncalibrated(
    judges: &[&str],
    calibrations: &OrderedMap<ReportedCalibration>,
) -> Vec<String> {
    let why = judges.iter().filter_map(|name| match calibrations.get(name) {
        None => Some(format!("`{name}` was never compared with human labels")),
        Some(found) if !found.stale.is_empty() => Some(format!(
            "the comparison of `{name}` with human labels is stale: {}",
            changed_parts(&found.stale)
        )),
        Some(found) if !found.below.is_empty() => Some(format!(
            "the agreement of `{name}` with human labels is too low: {}",
            found.below.join(", ")
        )),
        Some(_) => None,
    });
    why.collect()
}

/// What changed, in words.
pub fn changed_parts(stale: &[String]) -> String {
    format!("{} changed", enumerated(stale, "and"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CalibratedGrader, CalibrationFile, changed_parts, uncalibrated};
    use crate::history::GraderDigests;
    use crate::results::calibration::GraderCalibration;
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_model::spec::CalibrationBounds;

    fn settings() -> serde_json::Map<String, serde_json::Value> {
        let settings = json!({"name": "q", "pass_threshold": 0.5, "prompt": "Kind?", "model": "m", "judges": [{"model": "m", "temperature": 0}]});
        settings.as_object().cloned().unwrap_or_default()
    }

    fn file() -> CalibrationFile {
        let calibration =
            GraderCalibration { n: 12, agreement: Some(0.75), ..GraderCalibration::default() };
        let found = CalibratedGrader { calibration, digests: GraderDigests::of(&settings()) };
        let graders = OrderedMap(vec![("q".to_owned(), found)]);
        let bounds = CalibrationBounds::default();
        CalibrationFile {
            format: 1,
            suite: "s".to_owned(),
            bounds,
            graders,
            ..CalibrationFile::default()
        }
    }

    #[test]
    fn what_differs_makes_a_calibration_stale() {
        let same: fn(&mut serde_json::Map<String, serde_json::Value>) = |_| {};
        for (edit, stale) in [
            (same, &[][..]),
            (|of| of["prompt"] = json!("So kind?"), &["rubric"]),
            (|of| of["judges"][0]["model"] = json!("n"), &["model"]),
            (|of| of["judges"][0]["temperature"] = json!(1), &["settings"]),
            (|of| of["pass_threshold"] = json!(0.6), &["settings"]),
            (
                |of| {
                    of["prompt"] = json!("So kind?");
                    of["model"] = json!("n");
                },
                &["rubric", "model"],
            ),
        ] {
            let mut now = settings();
            edit(&mut now);
            let header = json!({"format": 1, "suite": "s", "settings": {"graders": [now]}});
            let header = serde_json::from_value(header).unwrap();
            let reported = file().reported(&header, CalibrationBounds::default());
            assert_eq!(reported.get("q").unwrap().stale, stale);
            let why = uncalibrated(&["q"], &reported);
            assert_eq!(why.is_empty(), stale.is_empty(), "{why:?}");
        }
        let never = ["`r` was never compared with human labels"];
        assert_eq!(uncalibrated(&["r"], &OrderedMap::default()), never);
        assert_eq!(changed_parts(&["rubric".to_owned()]), "rubric changed");
        assert_eq!(
            changed_parts(&["model".to_owned(), "settings".to_owned()]),
            "model and settings changed"
        );
    }

    #[test]
    fn bounds_are_reached_or_said() {
        let header = json!({"format": 1, "suite": "s", "settings": {"graders": [settings()]}});
        let header = serde_json::from_value(header).unwrap();
        let bounds = |min_kappa, min_agreement| CalibrationBounds { min_kappa, min_agreement };
        let nothing = bounds(None, None);
        let q = "the agreement of `q` with human labels is too low: ";
        for (of_suite, of_file, expected) in [
            (nothing, nothing, ""),
            (bounds(None, Some(0.75)), nothing, ""),
            (bounds(None, Some(0.8)), nothing, "agreement 75.0% is below 80.0%"),
            (nothing, bounds(None, Some(0.8)), "agreement 75.0% is below 80.0%"),
            (bounds(None, Some(0.7)), bounds(None, Some(0.8)), ""),
            (bounds(Some(0.4), None), nothing, "kappa is not defined, and must be at least 0.40"),
        ] {
            let file = CalibrationFile { bounds: of_file, ..file() };
            let doubts = uncalibrated(&["q"], &file.reported(&header, of_suite));
            assert_eq!(
                doubts.join(""),
                if expected.is_empty() { String::new() } else { format!("{q}{expected}") }
            );
        }
    }

    #[test]
    fn a_file_is_read_back_or_says_where_it_is_broken() {
        let text = file().text();
        assert_eq!(CalibrationFile::read("c.json", &text, "s.yaml"), Ok(file()));
        for (text, place, message) in [
            ("{\"format\": 1,}".to_owned(), "c.json:1:14", "a comma before the closing bracket"),
            (text.replace("12", "\"x\""), "c.json:7:16", "invalid type"),
            (format!("<<<<<<< ours\n{text}"), "c.json:1:1", "both sides of a merge"),
            (text.replace("\"format\": 1", "\"format\": 2"), "c.json", "later version"),
        ] {
            let problem = CalibrationFile::read("c.json", &text, "s.yaml").unwrap_err();
            assert_eq!(problem.place.as_ref().unwrap().to_string(), place, "{}", problem.message);
            assert!(problem.message.contains(message), "{}", problem.message);
            assert!(problem.hint.unwrap().contains("evalrs calibrate --suite s.yaml"));
        }
    }
}
