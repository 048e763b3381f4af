//! What a server's reply says about asking again: when, and whether at all. Pure.
//!
//! Servers agree on neither names nor units, so every time is read the same way: a number is seconds or, where it
//! is too large for that, a moment since 1970; anything else is a length with units (`6m0s`), RFC 3339 or the
//! date of HTTP. Nothing a server sends makes this panic, and no wait passes ten minutes.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use evalrs_eval::judge::provider;

/// The longest wait a server may ask for.
const MOST_ASKED: Duration = Duration::from_mins(10);
/// The longest wait for a budget to fill again where the server has refused nothing yet: many servers give the
/// moment it is full, and take the next request long before.
const MOST_UNASKED: Duration = Duration::from_mins(1);
/// Numbers above are moments since 1970 (this one is in 2001), not lengths.
const FIRST_MOMENT: f64 = 1e9;
/// Numbers above are moments in milliseconds.
const FIRST_MILLISECOND: f64 = 1e12;

/// The three forms of a date in HTTP; the last two are obsolete, but to be read.
const HTTP_DATES: [&str; 3] =
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pause {
    /// How long the server requests to wait, at most ten minutes.
    pub retry_after: Option<Duration>,
    /// A budget is used up: how long until it is filled again, more than nothing and at most ten minutes.
    pub exhausted: Option<Duration>,
    /// Whether the server says that another attempt may succeed, where it says so.
    pub should_retry: Option<bool>,
}

impl Pause {
    /// The same, with the pause in the body of the reply if its headers have none.
    #[must_use]
    pub(crate) fn or_after(self, delay: Option<Duration>) -> Self {
        let delay = delay.map(|delay| delay.min(MOST_ASKED));
        Self { retry_after: self.retry_after.or(delay), ..self }
    }

    /// How long nothing should be sent. Where the server names a time for this very request, that one counts.
    pub(crate) fn length(&self, was_refused: bool) -> Option<Duration> {
        let most = if was_refused { MOST_ASKED } else { MOST_UNASKED };
        self.retry_after.or(self.exhausted.map(|exhausted| exhausted.min(most)))
    }
}

/// Reads the headers of a reply that came at `now_unix`, in seconds since 1970.
pub(crate) fn pause(headers: &dyn Fn(&str) -> Option<String>, now_unix: f64) -> Pause {
    let header = |name: &str| headers(name).map(|text| text.trim().to_owned());
    let milliseconds = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    let retry_after = milliseconds
        .and_then(|milliseconds| length(milliseconds / 1000.0))
        .or_else(|| until(&header("retry-after")?, now_unix));
    let should_retry = header("x-should-retry").and_then(|text| match text.as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    });
    let exhausted = provider::rate_limit_headers().filter_map(|(remaining, reset)| {
        let is_empty = header(remaining)?.parse::<f64>() == Ok(0.0);
        until(&header(reset)?, now_unix).filter(|wait| is_empty && !wait.is_zero())
    });
    Pause { retry_after, exhausted: exhausted.max(), should_retry }
}

/// How long until the moment a header names; nothing for a moment that has passed.
fn until(text: &str, now_unix: f64) -> Option<Duration> {
    let remaining = |moment: f64| length((moment - now_unix).max(0.0));
    if let Ok(number) = text.parse::<f64>() {
        return match number {
            _ if number >= FIRST_MILLISECOND => remaining(number / 1000.0),
            _ if number >= FIRST_MOMENT => remaining(number),
            _ => length(number),
        };
    }
    if let Some(seconds) = with_units(text) {
        return length(seconds);
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return remaining(moment.as_duration().as_secs_f64());
    }
    let date = HTTP_DATES.iter().find_map(|format| DateTime::strptime(format, text).ok())?;
    let moment = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    remaining(moment.as_duration().as_secs_f64())
}

/// Seconds as a length, cut to what a server may ask for; none if they are negative or no number.
fn length(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(MOST_ASKED.as_secs_f64())))
}

/// The seconds of a length with units, such as `1h2m3.5s` or `20ms`.
fn with_units(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let factor = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * factor;
        rest = after;
    }
    (!text.is_empty()).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MOST_ASKED, Pause, pause};
    use evalrs_eval::judge::provider::rate_limit_headers;

    /// 2026-01-01T00:00:00Z.
    const NOW: f64 = 1_767_225_600.0;

    fn read(headers: &[(&str, &str)]) -> Pause {
        let find = |name: &str| {
            headers.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        pause(&find, NOW)
    }

    #[expect(clippy::unnecessary_wraps, reason = "what is read is there or not")]
    fn ms(milliseconds: u64) -> Option<Duration> {
        Some(Duration::from_millis(milliseconds))
    }

    #[test]
    fn times_are_read_however_they_are_written() {
        for (text, expected) in [
            ("0", ms(0)),
            ("1.5", ms(1500)),
            (" 12 ", ms(12_000)),
            ("1s", ms(1000)),
            ("6m0s", ms(360_000)),
            ("20ms", ms(20)),
            ("2m59.5s", ms(179_500)),
            ("1h2m3.5s", ms(600_000)),
            ("1d2h", ms(600_000)),
            ("250µs", Some(Duration::from_micros(250))),
            ("1767225607", ms(7000)),
            ("1767225607250", ms(7250)),
            ("1767225000", ms(0)),
            ("2026-01-01T00:00:30Z", ms(30_000)),
            ("2026-01-01T01:00:01.250+01:00", ms(1250)),
            ("2025-12-31T23:59:59Z", ms(0)),
            ("Thu, 01 Jan 2026 00:01:40 GMT", ms(100_000)),
            ("Wed, 31 Dec 2025 00:00:00 GMT", ms(0)),
            ("Thursday, 01-Jan-26 00:01:40 GMT", ms(100_000)),
            ("Thu Jan  1 00:01:40 2026", ms(100_000)),
            ("1e300", ms(600_000)),
            ("999999999", ms(600_000)),
            ("99999999999999999999999999h", ms(600_000)),
            ("inf", ms(600_000)),
            ("9999-12-30T00:00:00Z", ms(600_000)),
            ("-3", None),
            ("-1e300", None),
            ("NaN", None),
            ("-inf", None),
            ("soon", None),
            ("", None),
            ("s", None),
            ("5.5.5s", None),
            ("5 s", None),
            ("1x", None),
            ("é1s", None),
            ("1\u{301}s", None),
        ] {
            assert_eq!(read(&[("retry-after", text)]).retry_after, expected, "{text}");
        }
    }

    #[test]
    fn milliseconds_come_first_if_they_are_any() {
        for (milliseconds, expected) in [
            ("250", ms(250)),
            ("0.5", Some(Duration::from_micros(500))),
            ("1e300", ms(600_000)),
            ("-1", ms(9000)),
            ("NaN", ms(9000)),
            ("1s", ms(9000)),
        ] {
            let headers = [("retry-after", "9"), ("retry-after-ms", milliseconds)];
            assert_eq!(read(&headers).retry_after, expected, "{milliseconds}");
        }
    }

    #[test]
    fn a_budget_that_is_used_up_is_waited_for() {
        for (remaining, reset) in rate_limit_headers() {
            for (left, expected) in
                [("0", ms(2000)), ("0.0", ms(2000)), ("1", None), ("-1", None), ("many", None)]
            {
                let read = read(&[(remaining, left), (reset, "2s")]);
                assert_eq!((read.exhausted, read.retry_after), (expected, None), "{remaining}");
            }
            assert_eq!(read(&[(remaining, "0")]).exhausted, None);
            assert_eq!(read(&[(remaining, "0"), (reset, "0s")]).exhausted, None);
        }
        let longest = read(&[
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "20ms"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "3s"),
            ("anthropic-ratelimit-requests-remaining", "7"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:09Z"),
        ]);
        assert_eq!(longest.exhausted, ms(3000));
    }

    #[test]
    fn what_a_refusal_asks_for_counts_most() {
        let retry_after = ms(5);
        let exhausted = Some(MOST_ASKED);
        for (pause, refused, expected) in [
            (Pause { retry_after, exhausted, ..Pause::default() }, true, ms(5)),
            (Pause { exhausted, ..Pause::default() }, true, ms(600_000)),
            (Pause { exhausted, ..Pause::default() }, false, ms(60_000)),
            (Pause { retry_after, ..Pause::default() }, false, ms(5)),
            (Pause::default(), true, None),
        ] {
            assert_eq!(pause.length(refused), expected, "{pause:?} {refused}");
        }
    }

    #[test]
    fn headers_come_before_the_body_and_both_have_a_bound() {
        let header = Pause { retry_after: ms(5), ..Pause::default() };
        for (pause, delay, expected) in [
            (header, ms(7), ms(5)),
            (Pause::default(), ms(7), ms(7)),
            (Pause::default(), ms(u64::MAX), ms(600_000)),
            (Pause::default(), None, None),
        ] {
            assert_eq!(pause.or_after(delay).retry_after, expected);
        }
    }

    #[test]
    fn a_server_may_say_whether_another_attempt_has_a_point() {
        for (text, expected) in
            [("true", Some(true)), ("false", Some(false)), (" true ", Some(true)), ("1", None)]
        {
            assert_eq!(read(&[("x-should-retry", text)]).should_retry, expected, "{text}");
        }
        assert_eq!(read(&[]), Pause::default());
    }
}
