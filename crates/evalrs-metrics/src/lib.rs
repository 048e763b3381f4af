//! From grades to what they come to.

pub mod calibration;
pub mod diff;
pub mod explain;
pub mod gate;
pub mod history;
pub mod letta_results;
pub mod metric;
pub mod reason;
pub mod results;
pub mod rollup;
pub mod settings;
