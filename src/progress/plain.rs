//! Plain lines: for pipes and CI. One at the start, one at each tenth, one at the end.

use std::io::Write;

use super::{Event, Progress};

/// Writes lines to a stream.
#[derive(Debug)]
pub struct Plain<W> {
    out: W,
    total: u64,
    cached: u64,
    landed: u64,
    failed: u64,
}

impl<W: Write> Plain<W> {
    /// A display on `out`.
    pub fn new(out: W) -> Self {
        Self { out, total: 0, cached: 0, landed: 0, failed: 0 }
    }

    /// A stream that is gone is no reason to stop grading.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    fn to_ask(&self) -> u64 {
        self.total.saturating_sub(self.cached)
    }
}

impl<W: Write> Progress for Plain<W> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Planned(graders) => self.total = graders.iter().map(|(_, total)| total).sum(),
            Event::Cached(cached) => {
                self.cached = *cached;
                if self.to_ask() > 0 {
                    self.line(&format!(
                        "{} judgments: {} cached, {} to ask",
                        self.total,
                        self.cached,
                        self.to_ask()
                    ));
                }
            }
            Event::Asked | Event::Finished => {}
            Event::Landed { failure, .. } => {
                self.landed += 1;
                if let Some(message) = failure {
                    self.failed += 1;
                    if self.failed <= 3 {
                        self.line(&format!("  failed: {message}"));
                    }
                }
                let (landed, to_ask) = (self.landed, self.to_ask().max(1));
                if landed * 10 / to_ask != (landed - 1) * 10 / to_ask {
                    self.line(&format!("  {landed}/{to_ask} asked, {} failed", self.failed));
                }
            }
        }
    }
}
