//! The requests and tokens of one endpoint within the last minute. Pure: time is passed in.
//!
//! The figures of a minute hold in every window of a minute, wherever it begins, because every request is
//! remembered until it is a minute old; a bucket that refills steadily would let its whole burst and the refill
//! through in the first minute. So that a minute's worth is not sent at its start, a sixth of it (of tokens: and
//! what one request adds) is the most of any ten seconds.

use std::collections::VecDeque;
use std::time::Duration;

use evalrs_base::text::count;

/// The spans that are watched, and the part of a minute's figures each may hold.
const SPANS: [(Duration, u64); 2] = [(Duration::from_mins(1), 1), (Duration::from_secs(10), 6)];

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Why {
    /// The server requested to wait, with this status.
    #[error("the server's {0} sets this delay")]
    Asked(u16),
    /// The server reported with an answer that its budget is used up.
    #[error("the server's rate limit is used up")]
    Exhausted,
    /// The configured requests a minute.
    #[error("limit of {} a minute", count(*.0, "request"))]
    Requests(u32),
    /// The configured tokens a minute.
    #[error("limit of {} a minute", count(*.0, "token"))]
    Tokens(u64),
}

#[derive(Debug)]
pub(crate) struct Window {
    requests: Option<u32>,
    tokens: Option<u64>,
    entries: VecDeque<WindowEntry>,
    /// The number of the first entry.
    first: u64,
    spans: [WindowSpan; SPANS.len()],
}

#[derive(Clone, Copy, Debug)]
struct WindowEntry {
    at: Duration,
    tokens: u64,
}

/// One span that ends now.
#[derive(Clone, Copy, Debug, Default)]
struct WindowSpan {
    /// The number of the first entry in it.
    from: u64,
    /// The tokens of the entries in it.
    tokens: u64,
}

impl Window {
    /// A window of this much a minute, at least 1; none is unlimited.
    pub(super) fn new(requests: Option<u32>, tokens: Option<u64>) -> Self {
        let mut window = Self {
            requests: None,
            tokens: None,
            entries: VecDeque::new(),
            first: 0,
            spans: <[WindowSpan; SPANS.len()]>::default(),
        };
        window.set(requests, tokens);
        window
    }

    pub(super) fn set(&mut self, requests: Option<u32>, tokens: Option<u64>) {
        self.requests = requests.map(|most| most.max(1));
        self.tokens = tokens.map(|most| most.max(1));
    }

    /// The earliest moment, not before `now`, at which a request of this many tokens fits, and the obstacle until
    /// then. One that is larger than a whole figure fits where nothing else is.
    pub(crate) fn fits_at(&mut self, now: Duration, tokens: u64) -> Option<(Duration, Why)> {
        self.forget(now);
        let mut latest = None;
        for at in 0..SPANS.len() {
            for found in [self.request_fits(at), self.tokens_fit(at, tokens)] {
                latest = later(latest, found);
            }
        }
        latest
    }

    /// Takes in a request of this many tokens. Returns its number, for `correct`.
    pub(super) fn add(&mut self, now: Duration, tokens: u64) -> u64 {
        self.forget(now);
        let number = self.end();
        // What was sent without a figure does not count against a later one: keeping it would cost more than it helps.
        if self.requests.is_none() && self.tokens.is_none() {
            return number;
        }
        self.entries.push_back(WindowEntry { at: now, tokens });
        for span in &mut self.spans {
            span.tokens = span.tokens.saturating_add(tokens);
        }
        number
    }

    /// Puts what request `number` really used in the place of what was estimated.
    pub(crate) fn correct(&mut self, number: u64, tokens: u64) {
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) else { return };
        let before = std::mem::replace(&mut entry.tokens, tokens);
        for span in self.spans.iter_mut().filter(|span| span.from <= number) {
            span.tokens = span.tokens.saturating_sub(before).saturating_add(tokens);
        }
    }

    /// The number of the next entry.
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    fn entry(&self, number: u64) -> Option<WindowEntry> {
        self.entries.get(usize::try_from(number.checked_sub(self.first)?).ok()?).copied()
    }

    fn forget(&mut self, now: Duration) {
        for (at, (length, _)) in SPANS.iter().enumerate() {
            while let Some(entry) = self.entry(self.spans[at].from)
                && entry.at.saturating_add(*length) <= now
            {
                self.spans[at].from += 1;
                self.spans[at].tokens = self.spans[at].tokens.saturating_sub(entry.tokens);
            }
        }
        while self.first < self.spans[0].from && self.entries.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// When one more request fits into span `at`, if not now.
    fn request_fits(&self, at: usize) -> Option<(Duration, Why)> {
        let (length, part) = SPANS[at];
        let figure = self.requests?;
        let most = u64::from(figure).div_ceil(part);
        let leaving =
            self.end().checked_sub(most).filter(|number| *number >= self.spans[at].from)?;
        let moment = self.entry(leaving)?.at.saturating_add(length);
        Some((moment, Why::Requests(figure)))
    }

    /// When this many tokens fit into span `at`, if not now. A part of the minute takes one request over its
    /// share, else what remains of each share would be lost.
    fn tokens_fit(&self, at: usize, tokens: u64) -> Option<(Duration, Why)> {
        let (length, part) = SPANS[at];
        let figure = self.tokens?;
        let wanted = if part == 1 { tokens } else { 1 };
        let most_held = figure.div_ceil(part).checked_sub(wanted);
        let WindowSpan { from, tokens: mut held } = self.spans[at];
        let mut moment = None;
        for number in from..self.end() {
            if most_held.is_some_and(|most| held <= most) {
                break;
            }
            let entry = self.entry(number)?;
            held = held.saturating_sub(entry.tokens);
            moment = Some((entry.at.saturating_add(length), Why::Tokens(figure)));
        }
        moment
    }
}

pub(super) fn later(
    left: Option<(Duration, Why)>,
    right: Option<(Duration, Why)>,
) -> Option<(Duration, Why)> {
    match (left, right) {
        (Some(left), Some(right)) if right.0 > left.0 => Some(right),
        (left, right) => left.or(right),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Why, Window};

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Sends requests of these sizes, each as early as it fits; returns the seconds they were sent at.
    fn sent(mut window: Window, sizes: &[u64]) -> Vec<u64> {
        let mut now = Duration::ZERO;
        let mut sent = Vec::new();
        for size in sizes {
            while let Some((moment, _)) = window.fits_at(now, *size) {
                assert!(moment > now, "a wait that does not end");
                now = moment;
            }
            window.add(now, *size);
            sent.push(now.as_secs());
        }
        sent
    }

    #[test]
    fn requests_are_spread_over_the_minute() {
        for (figure, count, expected) in [
            (1, 3, vec![0, 60, 120]),
            (2, 4, vec![0, 10, 60, 70]),
            (7, 9, vec![0, 0, 10, 10, 20, 20, 30, 60, 60]),
            (12, 5, vec![0, 0, 10, 10, 20]),
            (0, 2, vec![0, 60]),
        ] {
            let window = Window::new(Some(figure), None);
            assert_eq!(sent(window, &vec![1; count]), expected, "{figure}");
        }
    }

    #[test]
    fn tokens_are_spread_over_the_minute_and_no_request_is_stuck() {
        for (figure, sizes, expected) in [
            (6000, vec![1000; 8], vec![0, 10, 20, 30, 40, 50, 60, 70]),
            (10_000, vec![1000; 11], vec![0, 0, 10, 10, 20, 20, 30, 30, 40, 40, 60]),
            (10_000, vec![4000; 4], vec![0, 10, 60, 70]),
            (100, vec![1000, 1, 1000], vec![0, 60, 120]),
            (100, vec![1, 101, 1], vec![0, 60, 120]),
            (100, vec![0, 0, 100], vec![0, 0, 0]),
            (1, vec![u64::MAX, u64::MAX], vec![0, 60]),
        ] {
            assert_eq!(sent(Window::new(None, Some(figure)), &sizes), expected, "{figure}");
        }
    }

    #[test]
    fn without_figures_everything_fits_and_nothing_is_kept() {
        let mut window = Window::new(None, None);
        for _ in 0..1000 {
            assert_eq!(window.fits_at(s(0), u64::MAX), None);
            window.add(s(0), u64::MAX);
        }
        assert!(window.entries.is_empty());
    }

    #[test]
    fn what_was_really_used_counts() {
        let mut window = Window::new(Some(1000), Some(600));
        let first = window.add(s(0), 600);
        let until = |moment| Some((moment, Why::Tokens(600)));
        assert_eq!(window.fits_at(s(1), 100), until(s(60)));
        window.correct(first, 99);
        assert_eq!(window.fits_at(s(1), 100), None);
        window.correct(first, 100);
        assert_eq!(window.fits_at(s(1), 100), until(s(10)));
        let second = window.add(s(10), 500);
        assert_eq!(window.fits_at(s(59), 1), until(s(60)));
        assert_eq!(window.fits_at(s(60), 101), until(s(70)));
        // The first is forgotten by now, and was never there.
        window.correct(first, u64::MAX);
        window.correct(second + 7, u64::MAX);
        assert_eq!(window.fits_at(s(60), 100), None);
    }

    /// Every window of a minute, each beginning with a request, holds no more than the figures.
    #[test]
    fn no_minute_holds_more_than_its_figures() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..60 {
            let requests = random.u32(1..40);
            let tokens = random.u64(50..2000);
            let mut window = Window::new(Some(requests), Some(tokens));
            let mut now = Duration::ZERO;
            let mut sent = Vec::new();
            for _ in 0..200 {
                now += Duration::from_millis(random.u64(0..3000));
                let estimate = random.u64(1..400);
                while let Some((moment, _)) = window.fits_at(now, estimate) {
                    assert!(
                        moment > now && moment <= now + s(60),
                        "{round}: {moment:?} at {now:?}"
                    );
                    now = moment;
                }
                let number = window.add(now, estimate);
                let used = random.u64(0..=estimate);
                window.correct(number, used);
                sent.push((now, estimate, used));
            }
            for (at, (from, ..)) in sent.iter().enumerate() {
                let inside: Vec<_> =
                    sent[at..].iter().take_while(|(moment, ..)| *moment < *from + s(60)).collect();
                let used: u64 = inside.iter().map(|(.., used)| used).sum();
                assert!(inside.len() <= requests as usize, "{round}: {} requests", inside.len());
                let alone = inside.len() == 1;
                assert!(alone || used <= tokens, "{round}: {used} of {tokens} tokens");
            }
            let minutes = now.as_secs_f64() / 60.0;
            assert!(minutes < 200.0, "{round}: it took {minutes} minutes");
        }
    }
}
