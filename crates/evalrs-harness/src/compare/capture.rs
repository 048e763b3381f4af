//! Runs with one result a prompt: quality, latency and reliability of each, and who won what.

use serde::Serialize;
use serde_json::{Value, json};

use super::statistics::{Bootstrap, Interval, LatencyStats, mean};
use super::{
    ComparedRun, Matchup, Matchups, PairwiseWins, RunRank, label, of_each, pairwise, ranked,
    winner, write_pairwise, write_table,
};
use crate::lines::{JsonRecord, members_of};
use crate::words::{fixed, has_tool_errors, percent, text_of};
use evalrs_base::ordered_map::OrderedMap;

/// The weights of the weighted strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CaptureWeights {
    pub quality: f64,
    pub latency: f64,
    pub reliability: f64,
}

impl Default for CaptureWeights {
    fn default() -> Self {
        Self { quality: 0.5, latency: 0.3, reliability: 0.2 }
    }
}

/// The milliseconds of a result that does not say how long it took.
const UNTIMED: f64 = 10_000.0;

fn score(record: &JsonRecord) -> Option<f64> {
    record.get("score")?.get("score")?.as_f64()
}

fn has_passed(record: &JsonRecord) -> bool {
    record.get("score").and_then(|score| score.get("pass")) == Some(&Value::Bool(true))
}

fn duration(record: &JsonRecord) -> Option<f64> {
    record.get("timing")?.get("total")?.as_f64()
}

fn errors(record: &JsonRecord) -> impl Iterator<Item = &Value> {
    record.get("errors").and_then(Value::as_array).into_iter().flatten()
}

fn has_timed_out(record: &JsonRecord) -> bool {
    let says =
        |error: &Value| error.as_str().is_some_and(|text| text.to_lowercase().contains("timeout"));
    let is_marked = record.get("metadata").and_then(|metadata| metadata.get("timedOut"));
    is_marked == Some(&Value::Bool(true)) || errors(record).any(says)
}

/// Ranks by quality, latency and reliability together.
pub(crate) fn rank_weighted(matchup: &Matchup<'_>, weights: CaptureWeights) -> Vec<RunRank> {
    let total = |record: &JsonRecord| {
        let quality = score(record).unwrap_or(0.0);
        let latency = 1.0 / (1.0 + duration(record).unwrap_or(UNTIMED) / 1_000.0);
        let reliability = if has_tool_errors(record) { 0.0 } else { 1.0 };
        quality * weights.quality + latency * weights.latency + reliability * weights.reliability
    };
    ranked(matchup.contestants.iter().map(|one| (one.run, total(one.record))).collect())
}

/// Ranks by score alone: a prompt has one sample of each run.
pub(crate) fn rank_statistical(matchup: &Matchup<'_>) -> Vec<RunRank> {
    let contestants = matchup.contestants.iter();
    ranked(contestants.map(|one| (one.run, score(one.record).unwrap_or(0.0))).collect())
}

/// The input of a custom comparison grader.
pub(crate) fn grader_input(matchup: &Matchup<'_>, runs: &[ComparedRun]) -> Value {
    let contestants = matchup.contestants.iter().map(|one| {
        let mut input = members_of(one.record, &["output", "trajectory", "score"]);
        let duration = duration(one.record);
        input.extend(duration.map(|duration| ("duration".to_owned(), json!(duration))));
        input.insert("toolErrors".to_owned(), json!(has_tool_errors(one.record)));
        (label(runs, one.run), Value::Object(input))
    });
    let contestants: JsonRecord = contestants.collect();
    let first = matchup.contestants.first().map(|one| one.record);
    let mut input = first
        .map(|record| members_of(record, &["id", "input", "hint", "metadata"]))
        .unwrap_or_default();
    input.insert("runs".to_owned(), json!(contestants));
    Value::Object(input)
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaptureComparison {
    meta: CaptureMeta,
    quality: OrderedMap<RunQuality>,
    performance: OrderedMap<RunPerformance>,
    reliability: OrderedMap<RunReliability>,
    trajectory_info: OrderedMap<TrajectoryInfo>,
    head_to_head: HeadToHead,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CaptureMeta {
    generated_at: String,
    runs: Vec<String>,
    prompt_count: usize,
    prompts_with_all_runs: usize,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunQuality {
    r#type: &'static str,
    avg_score: f64,
    pass_rate: f64,
    pass_count: usize,
    fail_count: usize,
    score_distribution: OrderedMap<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_intervals: Option<QualityIntervals>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct QualityIntervals {
    avg_score: Interval,
    pass_rate: Interval,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunPerformance {
    latency: LatencyStats,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_response: Option<LatencyStats>,
    total_duration: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_intervals: Option<LatencyInterval>,
}

/// The interval of the mean latency.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LatencyInterval {
    pub(super) latency_mean: Interval,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunReliability {
    r#type: &'static str,
    tool_errors: usize,
    tool_error_rate: f64,
    timeouts: usize,
    timeout_rate: f64,
    completion_rate: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrajectoryInfo {
    richness: String,
    avg_step_count: f64,
}

#[derive(Clone, Debug, Serialize)]
struct HeadToHead {
    prompts: Vec<ComparedPrompt>,
    pairwise: Vec<PairwiseWins>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedPrompt {
    id: String,
    winner: Option<String>,
    scores: OrderedMap<f64>,
    latencies: OrderedMap<Option<f64>>,
    had_errors: OrderedMap<bool>,
}

/// Compares runs by the ranks of each prompt that is compared. Intervals are only made where they are asked for.
pub(crate) fn compare(
    runs: &[ComparedRun],
    ranks: &[Vec<RunRank>],
    intervals: Option<Bootstrap>,
    generated_at: &str,
) -> CaptureComparison {
    let matchups = Matchups::of(runs);
    let winners: Vec<Option<usize>> = ranks.iter().map(|ranks| winner(ranks)).collect();
    let prompts = matchups.compared.iter().zip(ranks);
    let prompts = prompts.map(|(matchup, ranks)| compared_prompt(matchup, ranks, runs)).collect();
    CaptureComparison {
        meta: CaptureMeta {
            generated_at: generated_at.to_owned(),
            runs: runs.iter().map(|run| run.label.clone()).collect(),
            prompt_count: matchups.prompts,
            prompts_with_all_runs: ranks.iter().filter(|ranks| ranks.len() == runs.len()).count(),
        },
        quality: of_each(runs, |records| quality(records, intervals)),
        performance: of_each(runs, |records| performance(records, intervals)),
        reliability: of_each(runs, reliability),
        trajectory_info: of_each(runs, trajectory_info),
        head_to_head: HeadToHead { prompts, pairwise: pairwise(runs, &winners) },
    }
}

fn compared_prompt(
    matchup: &Matchup<'_>,
    ranks: &[RunRank],
    runs: &[ComparedRun],
) -> ComparedPrompt {
    let scores = ranks.iter().map(|rank| (label(runs, rank.run), rank.score));
    ComparedPrompt {
        id: matchup.id.to_owned(),
        winner: winner(ranks).map(|run| label(runs, run)),
        scores: OrderedMap(scores.collect()),
        latencies: matchup.of_each(runs, duration),
        had_errors: matchup.of_each(runs, has_tool_errors),
    }
}

fn quality(records: &[JsonRecord], intervals: Option<Bootstrap>) -> RunQuality {
    // What is not graded has failed.
    let scores: Vec<f64> = records.iter().map(|record| score(record).unwrap_or(0.0)).collect();
    let passes: Vec<f64> =
        records.iter().map(|record| f64::from(u8::from(has_passed(record)))).collect();
    let pass_count = records.iter().filter(|record| has_passed(record)).count();
    let names = ["0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0"];
    let mut distribution = OrderedMap(names.map(|name| (name.to_owned(), 0)).to_vec());
    for score in &scores {
        let at = [0.2, 0.4, 0.6, 0.8].iter().filter(|bound| score >= *bound).count();
        distribution.0[at].1 += 1;
    }
    RunQuality {
        r#type: "run",
        avg_score: mean(&scores),
        pass_rate: mean(&passes),
        pass_count,
        fail_count: records.len() - pass_count,
        score_distribution: distribution,
        confidence_intervals: intervals.map(|bootstrap| QualityIntervals {
            avg_score: bootstrap.interval(&scores),
            pass_rate: bootstrap.interval(&passes),
        }),
    }
}

fn performance(records: &[JsonRecord], intervals: Option<Bootstrap>) -> RunPerformance {
    let durations: Vec<f64> = records.iter().filter_map(duration).collect();
    let first = |record: &JsonRecord| record.get("timing")?.get("firstResponse")?.as_f64();
    let first: Vec<f64> = records.iter().filter_map(first).collect();
    RunPerformance {
        latency: LatencyStats::of(&durations),
        first_response: (!first.is_empty()).then(|| LatencyStats::of(&first)),
        total_duration: durations.iter().sum(),
        confidence_intervals: intervals
            .map(|bootstrap| LatencyInterval { latency_mean: bootstrap.interval(&durations) }),
    }
}

fn reliability(records: &[JsonRecord]) -> RunReliability {
    let count = |of: fn(&JsonRecord) -> bool| records.iter().filter(|record| of(record)).count();
    let rate = |count: usize, of_none: f64| {
        if records.is_empty() { of_none } else { count as f64 / records.len() as f64 }
    };
    let is_complete = |record: &JsonRecord| {
        !text_of(record, "output").is_empty() && errors(record).next().is_none()
    };
    let tool_errors = count(has_tool_errors);
    let timeouts = count(has_timed_out);
    RunReliability {
        r#type: "run",
        tool_errors,
        tool_error_rate: rate(tool_errors, 0.0),
        timeouts,
        timeout_rate: rate(timeouts, 0.0),
        completion_rate: rate(count(is_complete), 1.0),
    }
}

fn trajectory_info(records: &[JsonRecord]) -> TrajectoryInfo {
    let steps: Vec<&[Value]> = records
        .iter()
        .map(|record| {
            record.get("trajectory").and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
        })
        .collect();
    let named = records.iter().find_map(|record| {
        let name = record.get("metadata")?.get("trajectoryRichness")?.as_str()?;
        ["full", "messages-only", "minimal"].contains(&name).then(|| name.to_owned())
    });
    let counts: Vec<f64> = steps.iter().map(|steps| steps.len() as f64).collect();
    TrajectoryInfo {
        richness: named.unwrap_or_else(|| richness(steps.iter().copied().flatten()).to_owned()),
        avg_step_count: mean(&counts),
    }
}

/// How much the steps of a trajectory tell.
pub(crate) fn richness<'a>(steps: impl Iterator<Item = &'a Value>) -> &'static str {
    let mut richness = "minimal";
    for step in steps {
        match step["type"].as_str() {
            Some("thought" | "tool_call" | "plan") => return "full",
            Some("message") => richness = "messages-only",
            _ => {}
        }
    }
    richness
}

pub(crate) fn markdown(comparison: &CaptureComparison) -> String {
    let CaptureMeta { generated_at, runs, prompt_count, prompts_with_all_runs } = &comparison.meta;
    let mut text = format!(
        "# Comparison Report\n\nGenerated: {generated_at}\nRuns: {}\n\
         Prompts: {prompt_count} total, {prompts_with_all_runs} with all runs\n\n## Quality\n\n",
        runs.join(", ")
    );
    let qualities = &comparison.quality.0;
    let has_intervals = qualities.iter().any(|(_, one)| one.confidence_intervals.is_some());
    let with_intervals = |head: &[&'static str], after: &[&str]| -> Vec<&'static str> {
        let interval = |name: &&str| (has_intervals && after.contains(name)).then_some("95% CI");
        head.iter().flat_map(|name| [Some(*name), interval(name)]).flatten().collect()
    };
    let head = with_intervals(
        &["Run", "Avg Score", "Pass Rate", "Pass", "Fail"],
        &["Avg Score", "Pass Rate"],
    );
    write_table(&mut text, &head, qualities.iter().map(|(label, one)| quality_row(label, one)));
    text.push_str("## Performance\n\n");
    let head =
        with_intervals(&["Run", "P50 (ms)", "P90 (ms)", "P99 (ms)", "Mean (ms)"], &["Mean (ms)"]);
    let rows = comparison.performance.0.iter().map(|(label, one)| performance_row(label, one));
    write_table(&mut text, &head, rows);
    text.push_str("## Reliability\n\n");
    let rows = comparison.reliability.0.iter().map(|(label, one)| {
        vec![
            label.clone(),
            one.tool_errors.to_string(),
            percent(one.tool_error_rate),
            percent(one.completion_rate),
        ]
    });
    write_table(&mut text, &["Run", "Tool Errors", "Error Rate", "Completion Rate"], rows);
    write_pairwise(&mut text, "## Head-to-Head\n\n", &comparison.head_to_head.pairwise);
    text.truncate(text.trim_end().len());
    text
}

fn quality_row(label: &str, quality: &RunQuality) -> Vec<String> {
    let intervals = quality.confidence_intervals.as_ref();
    let mut row = vec![label.to_owned(), fixed(quality.avg_score, 3)];
    row.extend(intervals.map(|intervals| intervals.avg_score.shown(3)));
    row.push(percent(quality.pass_rate));
    row.extend(intervals.map(|intervals| intervals.pass_rate.shown(3)));
    row.extend([quality.pass_count.to_string(), quality.fail_count.to_string()]);
    row
}

fn performance_row(label: &str, performance: &RunPerformance) -> Vec<String> {
    let LatencyStats { p50, p90, p99, mean, .. } = performance.latency;
    let mut row = vec![label.to_owned()];
    row.extend([p50, p90, p99, mean].map(|value| fixed(value, 0)));
    row.extend(performance.confidence_intervals.as_ref().map(|one| one.latency_mean.shown(0)));
    row
}
