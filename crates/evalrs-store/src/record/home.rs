//! Where the records of runs are.

use evalrs_base::file_path::join;

/// The folder of the records under `home`.
pub fn runs_of(home: &str) -> String {
    join(home, "runs")
}
