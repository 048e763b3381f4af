//! The names of runs, as far as they say something.

/// What the id of a trial ends with.
const TRIAL: &str = "-try";

/// The id of a trial: a run of rubrics that no file has, or of some cases that somebody looks at again. It is never `latest` and
/// never what a run is compared with, and newer trials take its place.
pub fn trial_id(run: &str) -> String {
    format!("{run}{TRIAL}")
}

/// Whether a run is a trial.
pub fn is_trial(id: &str) -> bool {
    id.strip_suffix(TRIAL).is_some_and(is_run_id)
}

/// Whether the name is one that [`super::run_id`] makes.
pub(super) fn is_run_id(name: &str) -> bool {
    const SHAPE: &[u8] = b"00000000T000000-xxxxxx";
    name.len() == SHAPE.len()
        && name.bytes().zip(SHAPE).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            shape => byte == *shape,
        })
}
