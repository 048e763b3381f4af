//! A progress bar: for people at a terminal.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};

use evalrs_base::text::{count, cut, sanitize};
use evalrs_engine::progress::{Event, Progress};
use evalrs_model::outcome::Usage;

/// The columns of one part of the message.
const MAX_COLUMNS: usize = 70;

/// The most conversations of the target that have a line of their own.
const MAX_AGENTS: usize = 8;

/// Shows a bar on standard error, and above it a line for each conversation of the target.
#[derive(Debug)]
pub(crate) struct RunBar {
    all: MultiProgress,
    drawn: ProgressBar,
    /// Who the target talks with → the line.
    agents: BTreeMap<String, ProgressBar>,
    total: u64,
    cached: u64,
    under_way: u64,
    /// Calls that other processes make.
    elsewhere: usize,
    failed: u64,
    used: Usage,
    last_failure: String,
    /// Endpoint → what holds it back.
    waits: BTreeMap<usize, String>,
}

impl Default for RunBar {
    fn default() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let bar = all.add(ProgressBar::no_length());
        let style = ProgressStyle::with_template(
            "{bar:20} {pos}/{len} {prefix}  {elapsed}{left}  {wide_msg}",
        );
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("left", left));
        Self {
            all,
            drawn: bar,
            agents: BTreeMap::new(),
            total: 0,
            cached: 0,
            under_way: 0,
            elsewhere: 0,
            failed: 0,
            used: Usage::default(),
            last_failure: String::new(),
            waits: BTreeMap::new(),
        }
    }
}

impl RunBar {
    /// Shows the activity of a conversation, and how long it has been running.
    fn show_agent(&mut self, who: &str, doing: Option<&str>) {
        let Some(doing) = doing else {
            if let Some(line) = self.agents.remove(who) {
                line.finish_and_clear();
                self.all.remove(&line);
            }
            return;
        };
        if !self.agents.contains_key(who) && self.agents.len() >= MAX_AGENTS {
            return;
        }
        let line = self.agents.entry(who.to_owned()).or_insert_with(|| {
            let line = self.all.insert_before(&self.drawn, ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("  {elapsed:>4} {prefix}  {wide_msg}");
            line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            line.set_prefix(sanitize(&short(who)));
            line
        });
        line.set_message(sanitize(&short(doing)));
    }

    fn tell(&self) {
        // What matters most comes first, for a narrow terminal cuts the line at its end.
        let mut parts: Vec<String> = self.waits.values().map(|what| short(what)).collect();
        if self.failed > 0 {
            parts.push(format!("{} failed: {}", self.failed, short(&self.last_failure)));
        }
        let Self { under_way, elsewhere, cached, used, .. } = self;
        let elsewhere = match elsewhere {
            0 => String::new(),
            waiting => format!("{waiting} in another process, "),
        };
        let cost = used.cost.map_or_else(String::new, |cost| format!("{cost}, "));
        let tokens = count(used.input + used.output, "token");
        parts.push(format!("{under_way} in flight, {elsewhere}{cached} cached, {cost}{tokens}"));
        self.drawn.set_message(parts.join("; "));
    }
}

fn short(text: &str) -> String {
    cut(text, MAX_COLUMNS)
}

/// Rate and time left: neither is known before something landed.
fn left(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        // A display that takes no text is not a reason to stop grading.
        let _ = write!(out, ", {:.1}/s, {:#} left", state.per_sec(), HumanDuration(state.eta()));
    }
}

impl Progress for RunBar {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Planned { totals, noun } => {
                self.total = totals.iter().map(|(_, total)| total).sum();
                self.drawn.set_prefix(format!("{noun}s"));
            }
            Event::Cached(cached) => {
                self.cached = *cached;
                self.drawn.set_length(self.total.saturating_sub(*cached));
                self.tell();
            }
            Event::Shared { found, waiting } => {
                self.cached += found;
                self.elsewhere = *waiting;
                self.drawn.set_length(self.total.saturating_sub(self.cached));
                self.tell();
            }
            Event::Asked => {
                self.under_way += 1;
                // Redrawn while nothing lands, so that a slow judge does not look like a stuck program.
                self.drawn.enable_steady_tick(Duration::from_millis(200));
                self.tell();
            }
            Event::Landed { failure, usage } => {
                self.under_way = self.under_way.saturating_sub(1);
                self.used = self.used + *usage;
                if let Some(message) = failure {
                    self.failed += 1;
                    self.last_failure.clone_from(message);
                }
                self.tell();
                self.drawn.inc(1);
            }
            Event::Waiting { endpoint, what, .. } => {
                self.waits.insert(*endpoint, what.clone());
                self.tell();
            }
            Event::Going { endpoint } => {
                self.waits.remove(endpoint);
                self.tell();
            }
            Event::Line(line) => self.drawn.println(sanitize(line)),
            Event::Tick => {}
            Event::Agent { who, doing } => self.show_agent(who, doing.as_deref()),
            Event::Finished => {
                self.agents.values().for_each(ProgressBar::finish_and_clear);
                self.drawn.finish_and_clear();
            }
        }
    }
}
