//! Flags that limit what is asked at once, and in all.

use clap::Args;

use super::dollars;

/// How much is asked at once, and in all. It comes before what the suite and `evalrs.toml` say.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// Maximum number of actions in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent: Option<u32>,
    /// Maximum number of conversations of the target in flight [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent_targets: Option<u32>,
    /// Stops after N actions (exit code 3).
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Stops before more than this many US dollars are spent (exit code 3).
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Stops using an endpoint after N consecutive identical failures, or one of its models after N consecutive replies
    /// without a verdict (exit code 3) [default: 10].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_identical_failures: Option<u32>,
}
