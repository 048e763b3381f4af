//! What the engine does and how long each step takes, for those who look into evalrs itself: `EVALRS_LOG`, or `-vvv`.
//!
//! The steps are spans: `load`, `plan`, `look_up`, `execute`, `apply`. Each says counts and kinds, never what a user, a
//! judge or the environment said. Other crates could tell headers, so that only spans of ours are let through.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use evalrs_system::System;

/// How the names of our crates begin: `evalrs_engine`, which `EVALRS_LOG` may also call `evalrs::engine`.
const CRATES: &str = "evalrs";

/// Begins to write spans to standard error, as they end, if the environment or `verbosity` requests it. An error says
/// what `EVALRS_LOG` could be.
pub fn start_log(verbosity: u8, system: &dyn System) -> Result<(), String> {
    let environment = system.environment();
    let directives = environment.get("EVALRS_LOG").map(String::as_str).unwrap_or_default();
    let Some(targets) = log_targets(directives, verbosity)? else { return Ok(()) };
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE);
    // A process has one log: where there is one already, it stays.
    let _ = tracing_subscriber::registry().with(layer).with(targets).try_init();
    Ok(())
}

/// The spans that are written: none by default.
fn log_targets(directives: &str, verbosity: u8) -> Result<Option<Targets>, String> {
    if directives.trim().is_empty() {
        return Ok((verbosity > 2).then(|| Targets::new().with_target(CRATES, LevelFilter::DEBUG)));
    }
    let asked: Targets = directives.replace("evalrs::", "evalrs_").parse().map_err(|_| {
        format!("`EVALRS_LOG` is not a level like `debug`, nor a list like `evalrs::engine=trace`: `{directives}`")
    })?;
    let all = asked.default_level().unwrap_or(LevelFilter::OFF);
    let some =
        asked.iter().filter(|(target, _)| *target == CRATES || target.starts_with("evalrs_"));
    Ok(Some(Targets::new().with_target(CRATES, all).with_targets(some)))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::log_targets;

    #[test]
    fn only_spans_of_our_crates_are_written() {
        for (directives, verbosity, written) in [
            ("", 2, None),
            ("", 3, Some([true, true, false])),
            ("off", 3, Some([false, false, false])),
            ("debug", 0, Some([true, true, false])),
            ("evalrs::engine=debug", 0, Some([false, true, false])),
            ("reqwest=trace,hyper=trace", 0, Some([false, false, false])),
        ] {
            let targets = log_targets(directives, verbosity).unwrap();
            let is_written = targets.map(|targets| {
                ["evalrs_store", "evalrs_engine::session", "reqwest::connect"]
                    .map(|target| targets.would_enable(target, &Level::DEBUG))
            });
            assert_eq!(is_written, written, "{directives:?} and {verbosity}");
        }
        assert!(log_targets("evalrs=loud", 0).is_err());
    }
}
