//! Plain lines: for pipes and CI. One at the start, one at each tenth, one at the end, and one for each thing that is
//! waited for.

use std::io::Write;

use crate::base::text::{count, sanitize};
use crate::engine::progress::{Event, Progress};

/// Writes lines to a stream.
#[derive(Debug)]
pub(crate) struct PlainProgress<W> {
    out: W,
    total: u64,
    noun: &'static str,
    cached: u64,
    landed: u64,
    failed: u64,
}

impl<W: Write> PlainProgress<W> {
    /// A display on `out`.
    pub(crate) fn new(out: W) -> Self {
        Self { out, total: 0, noun: "judgment", cached: 0, landed: 0, failed: 0 }
    }

    /// A stream that is gone is not a reason to stop grading.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    fn to_ask(&self) -> u64 {
        self.total.saturating_sub(self.cached)
    }
}

impl<W: Write> Progress for PlainProgress<W> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Planned { totals, noun } => {
                self.total = totals.iter().map(|(_, total)| total).sum();
                self.noun = noun;
            }
            Event::Cached(cached) => {
                self.cached = *cached;
                if self.to_ask() > 0 {
                    self.line(&format!(
                        "{}: {} cached, {} to ask",
                        count(self.total, self.noun),
                        self.cached,
                        self.to_ask()
                    ));
                }
            }
            Event::Waiting { what, is_new: true, .. } => {
                self.line(&format!("  {}", sanitize(what)));
            }
            Event::Line(line) => self.line(&format!("  {}", sanitize(line))),
            Event::Asked
            | Event::Waiting { .. }
            | Event::Going { .. }
            | Event::Agent { .. }
            | Event::Finished => {}
            Event::Landed { failure, .. } => {
                self.landed += 1;
                if let Some(message) = failure {
                    self.failed += 1;
                    if self.failed <= 3 {
                        self.line(&format!("  failed: {}", sanitize(message)));
                    }
                }
                let landed = self.landed;
                let to_ask = self.to_ask().max(1);
                if landed * 10 / to_ask != (landed - 1) * 10 / to_ask {
                    self.line(&format!("  {landed}/{to_ask} asked, {} failed", self.failed));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PlainProgress;
    use crate::engine::progress::{Event, Progress};
    use crate::pipeline::outcome::Usage;

    #[test]
    fn what_a_server_says_stays_on_one_line_and_commands_no_terminal() {
        let mut shown = Vec::new();
        let mut plain = PlainProgress::new(&mut shown);
        let totals = vec![("quality".to_owned(), 1)];
        plain.event(&Event::Planned { totals, noun: "judgment" });
        plain.event(&Event::Cached(0));
        for is_new in [true, false] {
            let what = "waiting\n1 s\u{1b}[2J".to_owned();
            plain.event(&Event::Waiting { endpoint: 0, what, is_new });
        }
        plain.event(&Event::Going { endpoint: 0 });
        let failure = Some("500:\n::error::gone\u{1b}[2J".to_owned());
        plain.event(&Event::Landed { failure, usage: Usage::default() });
        let expected = "\
1 judgment: 0 cached, 1 to ask
  waiting 1 s
  failed: 500: ::error::gone
  1/1 asked, 1 failed
";
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }
}
