//! Where a suite says what of each program, for problems that are found later.

use crate::findings::Findings;
use evalrs_base::diagnostic::Place;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_eval::program::UncallablePart;
use evalrs_model::spec::ProgramSpec;

/// Where a suite says what of a program. Kept beside the spec, so that moving a line does not change the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramPlaces<P = Place> {
    /// Where its file is named.
    pub file: P,
    /// Where its runtime is set.
    pub runtime: Option<P>,
    /// The place of each of its inputs, as [`ProgramSpec::inputs`] has it.
    pub inputs: Vec<(String, P)>,
    /// Where the folder is named that it runs in.
    pub cwd: Option<P>,
}

impl ProgramPlaces {
    /// Where a part is set; where the program is named, if the suite does not set it.
    pub fn of(&self, part: &UncallablePart) -> &Place {
        let said = match part {
            UncallablePart::File => None,
            UncallablePart::Runtime => self.runtime.as_ref(),
            UncallablePart::Cwd => self.cwd.as_ref(),
            UncallablePart::Inputs(input) => {
                let mut inputs = self.inputs.iter();
                let found =
                    inputs.find(|(known, _)| input.as_ref().is_none_or(|input| input == known));
                found.map(|(_, place)| place)
            }
        };
        said.unwrap_or(&self.file)
    }
}

/// A program and the same places, before all that is secret is known.
pub(crate) type ProgramSpans = (ProgramSpec, ProgramPlaces<SourceSpan>);

impl ProgramPlaces<SourceSpan> {
    /// The places. Called only when everything is read, so that all secrets are masked.
    pub(crate) fn places(self, findings: &Findings) -> ProgramPlaces {
        let place = |span| findings.place(span);
        let inputs = self.inputs.into_iter().map(|(input, span)| (input, place(span)));
        ProgramPlaces {
            file: place(self.file),
            runtime: self.runtime.map(place),
            inputs: inputs.collect(),
            cwd: self.cwd.map(place),
        }
    }
}
