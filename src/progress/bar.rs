//! A progress bar: for people at a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Event, Progress};
use crate::report::text::{cut, sanitize};

/// Draws a bar on standard error.
#[derive(Debug)]
pub struct Bar {
    drawn: ProgressBar,
    total: u64,
    cached: u64,
    under_way: u64,
    failed: u64,
    tokens: u64,
    last_failure: String,
}

impl Default for Bar {
    fn default() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(
            "{bar:30} {pos}/{len} judgments  {per_sec}  {elapsed} elapsed, {eta} left  {msg}",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            drawn: bar,
            total: 0,
            cached: 0,
            under_way: 0,
            failed: 0,
            tokens: 0,
            last_failure: String::new(),
        }
    }
}

impl Bar {
    fn message(&self) -> String {
        let mut message =
            format!("{} cached, {} under way, {} tokens", self.cached, self.under_way, self.tokens);
        if self.failed > 0 {
            let failure = cut(&sanitize(&self.last_failure), 60);
            message = format!("{message}, {} failed: {failure}", self.failed);
        }
        message
    }
}

impl Progress for Bar {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Planned(graders) => self.total = graders.iter().map(|(_, total)| total).sum(),
            Event::Cached(cached) => {
                self.cached = *cached;
                self.drawn.set_length(self.total.saturating_sub(*cached));
                self.drawn.set_message(self.message());
            }
            Event::Asked => {
                self.under_way += 1;
                // Redrawn while nothing lands, so that a slow judge does not look like a stuck program.
                self.drawn.enable_steady_tick(Duration::from_millis(200));
                self.drawn.set_message(self.message());
            }
            Event::Landed { failure, tokens } => {
                self.under_way = self.under_way.saturating_sub(1);
                self.tokens += tokens.input + tokens.output;
                if let Some(message) = failure {
                    self.failed += 1;
                    self.last_failure.clone_from(message);
                }
                self.drawn.set_message(self.message());
                self.drawn.inc(1);
            }
            Event::Finished => self.drawn.finish_and_clear(),
        }
    }
}
