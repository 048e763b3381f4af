//! Plain lines: for pipes and CI. One at the start, one at each tenth, one at the end, one for each thing that is
//! waited for, and one where nothing was written for half a minute.

use std::io::Write;

use evalrs_base::text::{count, sanitize};
use evalrs_engine::progress::{Event, Progress};

#[derive(Debug)]
pub(crate) struct PlainProgress<W> {
    out: W,
    total: u64,
    noun: &'static str,
    cached: u64,
    landed: u64,
    failed: u64,
    under_way: u64,
    /// Whether calls were left to another process, which has its line once.
    was_shared: bool,
    /// Nothing was written since the last tick.
    is_quiet: bool,
}

impl<W: Write> PlainProgress<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            total: 0,
            noun: "judgment",
            cached: 0,
            landed: 0,
            failed: 0,
            under_way: 0,
            was_shared: false,
            is_quiet: false,
        }
    }

    /// A stream that is gone is not a reason to stop grading.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
        self.is_quiet = false;
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
                        "{}: {} cached, {} to make",
                        count(self.total, self.noun),
                        self.cached,
                        self.to_ask()
                    ));
                }
            }
            Event::Shared { found, waiting } => {
                self.cached += found;
                if *waiting > 0 && !self.was_shared {
                    self.was_shared = true;
                    self.line("  another process makes some of these calls");
                }
            }
            Event::Waiting { what, is_new: true, .. } => {
                self.line(&format!("  {}", sanitize(what)));
            }
            Event::Line(line) => self.line(&format!("  {}", sanitize(line))),
            Event::Tick if self.is_quiet && self.under_way > 0 => {
                let Self { landed, failed, under_way, .. } = *self;
                let to_ask = self.to_ask();
                self.line(&format!(
                    "  {landed}/{to_ask} done, {failed} failed, {under_way} in flight"
                ));
            }
            Event::Tick => self.is_quiet = true,
            Event::Asked => self.under_way += 1,
            Event::Waiting { .. } | Event::Going { .. } | Event::Agent { .. } | Event::Finished => {
            }
            Event::Landed { failure, .. } => {
                self.landed += 1;
                self.under_way = self.under_way.saturating_sub(1);
                if let Some(message) = failure {
                    self.failed += 1;
                    if self.failed <= 3 {
                        self.line(&format!("  failed: {}", sanitize(message)));
                    }
                }
                let landed = self.landed;
                let to_ask = self.to_ask().max(1);
                if landed * 10 / to_ask != (landed - 1) * 10 / to_ask {
                    self.line(&format!("  {landed}/{to_ask} done, {} failed", self.failed));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PlainProgress;
    use evalrs_engine::progress::{Event, Progress};
    use evalrs_model::outcome::Usage;

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
1 judgment: 0 cached, 1 to make
  waiting 1 s
  failed: 500: ::error::gone
  1/1 done, 1 failed
";
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }

    #[test]
    fn a_line_is_written_where_nothing_was_for_a_while() {
        let mut shown = Vec::new();
        let mut plain = PlainProgress::new(&mut shown);
        let totals = vec![("quality".to_owned(), 20)];
        plain.event(&Event::Planned { totals, noun: "judgment" });
        plain.event(&Event::Cached(0));
        plain.event(&Event::Asked);
        plain.event(&Event::Asked);
        plain.event(&Event::Tick);
        plain.event(&Event::Tick);
        plain.event(&Event::Tick);
        plain.event(&Event::Landed { failure: None, usage: Usage::default() });
        plain.event(&Event::Tick);
        plain.event(&Event::Landed { failure: None, usage: Usage::default() });
        plain.event(&Event::Tick);
        plain.event(&Event::Tick);
        let expected = "\
20 judgments: 0 cached, 20 to make
  0/20 done, 0 failed, 2 in flight
  1/20 done, 0 failed, 1 in flight
  2/20 done, 0 failed
";
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }
}
