//! A comparison from the runs to its text, whichever records they hold.

use super::capture::{self, CaptureComparison};
use super::run_file::RunFormat;
use super::settings::ComparisonSettings;
use super::statistics::Bootstrap;
use super::trials::{self, TrialsComparison};
use super::{ComparedRun, Matchup, Matchups, RunRank};
use crate::json::{to_json, to_pretty_json};
use evalrs_eval::program::reply::RunRanking;

/// How the runs that have a prompt are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// By several properties, each with its weight.
    Weighted,
    /// By scores, and with intervals.
    Statistical,
    /// By a program of the user.
    Custom,
}

impl Strategy {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "weighted" => Some(Self::Weighted),
            "statistical" => Some(Self::Statistical),
            "custom" => Some(Self::Custom),
            _ => None,
        }
    }
}

/// The ranks of every prompt that is compared, by a strategy that needs no program; none of any by one that does.
pub(crate) fn ranks(
    matchups: &Matchups<'_>,
    format: RunFormat,
    strategy: Strategy,
    settings: &ComparisonSettings,
) -> Vec<Vec<RunRank>> {
    let rank = |matchup: &Matchup<'_>| match (format, strategy) {
        (_, Strategy::Custom) => Vec::new(),
        (RunFormat::Capture, Strategy::Weighted) => {
            capture::rank_weighted(matchup, settings.capture)
        }
        (RunFormat::Capture, Strategy::Statistical) => capture::rank_statistical(matchup),
        (RunFormat::Trials, Strategy::Weighted) => trials::rank_weighted(matchup, settings.trials),
        (RunFormat::Trials, Strategy::Statistical) => {
            trials::rank_statistical(matchup, settings.bootstrap)
        }
    };
    matchups.compared.iter().map(rank).collect()
}

/// The input of a comparison grader for a prompt: compact JSON.
pub(crate) fn grader_input(
    matchup: &Matchup<'_>,
    runs: &[ComparedRun],
    format: RunFormat,
) -> String {
    to_json(&match format {
        RunFormat::Capture => capture::grader_input(matchup, runs),
        RunFormat::Trials => trials::grader_input(matchup, runs),
    })
}

/// The ranks in what a comparison grader gave for a prompt. It may leave runs out, but names none that do not have it.
pub(crate) fn ranks_of(
    rankings: &[RunRanking],
    matchup: &Matchup<'_>,
    runs: &[ComparedRun],
) -> Result<Vec<RunRank>, String> {
    let contestants = || matchup.contestants.iter().map(|one| one.run);
    let rank = |(at, ranking): (usize, &RunRanking)| {
        let run = contestants().find(|run| runs[*run].label == ranking.run).ok_or_else(|| {
            let known: Vec<&str> = contestants().map(|run| runs[run].label.as_str()).collect();
            format!(
                "Invalid comparison result: `rankings[{at}].run` is `{}`, which is not one of the runs {}",
                ranking.run,
                known.join(", ")
            )
        })?;
        Ok(RunRank { run, rank: ranking.rank, score: ranking.score })
    };
    rankings.iter().enumerate().map(rank).collect()
}

#[derive(Clone, Debug)]
pub(crate) enum Comparison {
    Capture(CaptureComparison),
    Trials(TrialsComparison),
}

impl Comparison {
    /// The comparison by these ranks, one list for each prompt that is compared, with intervals on request.
    pub(crate) fn of(
        runs: &[ComparedRun],
        ranks: &[Vec<RunRank>],
        format: RunFormat,
        intervals: Option<Bootstrap>,
        generated_at: &str,
    ) -> Self {
        match format {
            RunFormat::Capture => {
                Self::Capture(capture::compare(runs, ranks, intervals, generated_at))
            }
            RunFormat::Trials => {
                Self::Trials(trials::compare(runs, ranks, intervals, generated_at))
            }
        }
    }

    pub(crate) fn json(&self) -> String {
        match self {
            Self::Capture(comparison) => to_pretty_json(comparison),
            Self::Trials(comparison) => to_pretty_json(comparison),
        }
    }

    pub(crate) fn markdown(&self) -> String {
        match self {
            Self::Capture(comparison) => capture::markdown(comparison),
            Self::Trials(comparison) => trials::markdown(comparison),
        }
    }
}
