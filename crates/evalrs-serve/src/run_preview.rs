//! What an evaluation would call, and what that would cost. Nothing is called.

use std::collections::BTreeMap;
use std::io::sink;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::answer::ApiError;
use super::grade_in_suite::load;
use super::served::{ServedSuite, ServedWorkspace};
use evalrs_base::price::Cost;
use evalrs_engine::inspect::forecast::{Bill, forecast};
use evalrs_engine::inspect::preview::preview;
use evalrs_engine::resolve::settings::Settings;
use evalrs_graph::inputs::Overrides;
use evalrs_system::os::OsSystem;
use evalrs_system::overlay::OverlaySystem;
use evalrs_use_cases::args::EvaluateArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::open::{new_session, overrides, refresh};

/// What an evaluation would call.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct RunPreview {
    /// Judgments and other calls, cached ones too.
    total: u64,
    /// Those that are in the cache.
    cached: u64,
    /// Those that would be called.
    to_ask: u64,
    /// Tokens that would be sent, an estimate.
    input_tokens: u64,
    /// Tokens that would be received, an estimate.
    output_tokens: u64,
    /// US dollars, an estimate; null where the price of a model is not known.
    cost: Option<f64>,
    /// The models whose price is not known.
    unpriced: Vec<String>,
    /// What may be wrong with the suite, as `evalrs validate --json` says.
    #[schema(value_type = Vec<Object>)]
    problems: Value,
}

/// What the evaluation of `suite` would call, where these files say something else.
pub(super) fn preview_run(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    args: &EvaluateArgs,
    files: BTreeMap<String, String>,
) -> Result<RunPreview, ApiError> {
    let surroundings = served.context(&suite.path)?;
    let system = OverlaySystem::new(&OsSystem, files);
    let over = Overrides { labels: args.labels.clone(), ..overrides(&args.select) };
    let mut session = new_session(&suite.path, &surroundings, over);
    let problems = load(&mut session, &system)?;
    let mut nowhere = [sink(), sink()];
    let mut console = Console::silent(&system, &mut nowhere);
    let store = surroundings.store(&mut console).map_err(ApiError::failed)?;
    let settings = Settings { refresh: refresh(&args.refresh), ..Settings::default() };
    let preview = preview(&mut session, store.as_ref(), &system, &settings);
    let expected = forecast(&session, &preview, &surroundings.prices());
    let bill = expected.graders.iter().fold(Bill::default(), |sum, bill| sum.and(*bill));
    let cached = preview.tallies.iter().map(|(_, tally)| tally.cached).sum();
    let to_ask = preview.to_ask.len() as u64;
    Ok(RunPreview {
        total: preview.tallies.iter().map(|(_, tally)| tally.total).sum(),
        cached,
        to_ask,
        input_tokens: bill.input,
        output_tokens: bill.output,
        cost: bill.cost.map(Cost::dollars),
        unpriced: expected.unpriced,
        problems: json!(problems),
    })
}
