//! When to ask again after a transport failure, and how long to wait. Pure.

use std::time::Duration;

use evalrs_model::outcome::FailureKind;

/// The first delay; it doubles with every attempt.
const BASE: Duration = Duration::from_millis(500);
/// The longest delay of our own choosing.
const MOST: Duration = Duration::from_mins(1);

/// The class of a reply's status; none if it is a success.
pub(crate) fn classify(status: u16) -> Option<FailureKind> {
    match status {
        200..=299 => None,
        401 | 403 | 407 => Some(FailureKind::Unauthorized),
        402 => Some(FailureKind::NoCredit),
        // 451 names the law of a place.
        404 | 405 | 410 | 451 => Some(FailureKind::NotFound),
        420 | 429 => Some(FailureKind::RateLimited),
        // These speak of the request itself. Everything else passes or says nothing of it: a redirection that leads nowhere,
        // 421, 423, 424, 425 and 499, and what a gateway made up.
        400 | 406 | 411..=417 | 422 | 428 | 431 => Some(FailureKind::BadRequest),
        _ => Some(FailureKind::Server),
    }
}

/// Whether another attempt may succeed: by the server's word, else by the kind of failure.
pub(crate) fn is_retryable(kind: FailureKind, should_retry: Option<bool>) -> bool {
    should_retry.unwrap_or(kind.policy().retried)
}

/// How long to wait before attempt `attempt` (from 1): the delay of the server, else exponential back-off with full
/// jitter (`jitter` in 0..1; Brooker, "Exponential Backoff And Jitter", 2015). A server that asks for no time at all
/// names none: otherwise every attempt would be used up at once.
pub(crate) fn delay(attempt: u32, asked: Option<Duration>, jitter: f64) -> Duration {
    asked.filter(|asked| !asked.is_zero()).unwrap_or_else(|| {
        let most = BASE.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(MOST);
        most.mul_f64(jitter.clamp(0.0, 1.0))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{classify, delay, is_retryable};

    #[test]
    fn statuses_are_classified_and_some_retried() {
        for (status, retried, kept) in [
            (304, true, false),
            (400, false, true),
            (401, false, false),
            (402, false, false),
            (403, false, false),
            (404, false, false),
            (407, false, false),
            (408, true, false),
            (409, true, false),
            (410, false, false),
            (413, false, true),
            (420, true, false),
            (421, true, false),
            (422, false, true),
            (423, true, false),
            (424, true, false),
            (425, true, false),
            (431, false, true),
            (451, false, false),
            (499, true, false),
            (429, true, false),
            (500, true, false),
            (503, true, false),
            (529, true, false),
        ] {
            let kind = classify(status).expect("a failure");
            let is_retryable = |said| is_retryable(kind, said);
            assert_eq!((is_retryable(None), kind.policy().stored), (retried, kept), "{status}");
            assert!(is_retryable(Some(true)) && !is_retryable(Some(false)), "{status}");
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
        assert_eq!(delay(9, Some(ms(1)), 1.0), ms(1));
        assert_eq!(delay(2, Some(Duration::ZERO), 0.5), ms(500), "no time is none that is named");
    }
}
