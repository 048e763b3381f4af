//! When to ask again after a transport failure, and how long to wait. Pure.

use std::time::Duration;

use crate::outcome::FailureKind;

/// The first delay; it doubles with every attempt.
const BASE: Duration = Duration::from_millis(500);
/// The longest delay of our own choosing.
const MOST: Duration = Duration::from_mins(1);
/// The longest delay a server may ask for.
const MOST_ASKED: Duration = Duration::from_mins(10);

/// The class of a reply's status; none if it is a success.
pub fn classify(status: u16) -> Option<FailureKind> {
    match status {
        200..=299 => None,
        401 | 403 => Some(FailureKind::Unauthorized),
        402 => Some(FailureKind::NoCredit),
        429 => Some(FailureKind::RateLimited),
        // A redirection that leads nowhere says nothing of the request.
        300..=399 | 408 | 409 | 500.. => Some(FailureKind::Server),
        _ => Some(FailureKind::BadRequest),
    }
}

/// Whether another attempt may succeed.
pub fn is_retried(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Timeout
            | FailureKind::Connection
            | FailureKind::RateLimited
            | FailureKind::Server
    )
}

/// How long to wait before attempt `attempt` (from 1): what the server asked for, else exponential back-off with
/// full jitter (`jitter` in 0..1; Brooker, "Exponential Backoff And Jitter", 2015).
pub fn delay(attempt: u32, asked: Option<Duration>, jitter: f64) -> Duration {
    match asked {
        Some(asked) => asked.min(MOST_ASKED),
        None => BASE
            .saturating_mul(1 << attempt.saturating_sub(1).min(16))
            .min(MOST)
            .mul_f64(jitter.clamp(0.0, 1.0)),
    }
}

/// What `Retry-After` (seconds or a date) or `retry-after-ms` asks for; `now` in seconds since 1970.
pub fn asked_delay(
    retry_after_ms: Option<&str>,
    retry_after: Option<&str>,
    now: u64,
) -> Option<Duration> {
    if let Some(milliseconds) = retry_after_ms.and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let text = retry_after?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let at = date.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    Some(Duration::from_secs(at.saturating_sub(now)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{asked_delay, classify, delay, is_retried};

    #[test]
    fn statuses_are_classified_and_some_retried() {
        for (status, retried, kept) in [
            (304, true, false),
            (400, false, true),
            (401, false, false),
            (402, false, false),
            (403, false, false),
            (404, false, true),
            (408, true, false),
            (409, true, false),
            (422, false, true),
            (429, true, false),
            (500, true, false),
            (503, true, false),
            (529, true, false),
        ] {
            let kind = classify(status).expect("a failure");
            assert_eq!((is_retried(kind), kind.is_permanent()), (retried, kept), "{status}");
        }
        assert_eq!(classify(200), None);
    }

    #[test]
    fn the_server_decides_the_delay_else_it_doubles_with_jitter() {
        let ms = Duration::from_millis;
        assert_eq!(delay(1, None, 1.0), ms(500));
        assert_eq!(delay(3, None, 0.5), ms(1000));
        assert_eq!(delay(40, None, 1.0), ms(60_000));
        assert_eq!(delay(9, Some(ms(7)), 1.0), ms(7));
        assert_eq!(delay(1, Some(ms(10_000_000)), 1.0), ms(600_000));
        for (milliseconds, after, expected) in [
            (Some("250"), Some("9"), Some(ms(250))),
            (None, Some("1.5"), Some(ms(1500))),
            (None, Some("Thu, 01 Jan 1970 00:01:40 GMT"), Some(ms(70_000))),
            (None, Some("Thu, 01 Jan 1970 00:00:10 GMT"), Some(ms(0))),
            (None, Some("soon"), None),
            (None, Some("-3"), None),
            (None, None, None),
        ] {
            assert_eq!(
                asked_delay(milliseconds, after, 30),
                expected,
                "{milliseconds:?} {after:?}"
            );
        }
    }
}
