//! Moments, ages and sizes as people write and read them. Pure: what time it is comes as an argument.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use evalrs_use_cases::error::Error;

pub(super) const DAY: i64 = 86_400;

/// A moment (RFC 3339) in seconds of Unix time.
pub(super) fn seconds(moment: &str) -> Option<i64> {
    moment.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

/// The moment that a flag such as `--unused-since` names, in seconds of Unix time: a day in UTC, or an age at `now`.
pub(super) fn since(flag: &str, text: &str, now: i64) -> Result<i64, Error> {
    const UNITS: &[(&str, i64)] = &[("h", 3600), ("d", DAY), ("w", 7 * DAY)];
    let age = || {
        let (number, unit) = split(text);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        now.checked_sub(number.parse::<u32>().ok().map(i64::from)?.checked_mul(*unit)?)
    };
    let day = || {
        let date: Date = text.parse().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
    };
    match age().or_else(day) {
        Some(moment) if moment <= now => Ok(moment),
        Some(_) => Err(Error::plain(
            format!("`{flag} {text}` is in the future"),
            "this would delete everything in the store, even entries used today",
        )),
        None => Err(Error::plain(
            format!("`{flag} {text}` is neither a day nor an age"),
            "write 2026-01-31, 12h, 30d or 2w",
        )),
    }
}

/// The bytes that `--max-size` names.
pub(super) fn size(text: &str) -> Result<u64, Error> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1),
        ("b", 1),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
    ];
    let parsed = || {
        let (number, unit) = split(text);
        let unit = unit.to_ascii_lowercase();
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.parse::<u64>().ok()?.checked_mul(*unit)
    };
    parsed().ok_or_else(|| {
        Error::plain(
            format!("`--max-size {text}` is not a size"),
            "write a whole number with its unit: 500MB, 2GB, 64MiB",
        )
    })
}

/// The digits at the beginning, and what follows them.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// A number of bytes for people, in decimal units.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: &[(&str, u64)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    match UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} B"),
    }
}

pub(super) fn entries(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

#[cfg(test)]
mod tests {
    use super::{bytes, seconds, since, size};

    #[test]
    fn moments_are_days_or_ages() {
        let now = seconds("2026-03-01T12:00:00Z").unwrap();
        let cases = [
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("12h", "2026-03-01T00:00:00Z"),
            ("0d", "2026-03-01T12:00:00Z"),
            ("30d", "2026-01-30T12:00:00Z"),
            ("2w", "2026-02-15T12:00:00Z"),
            ("2026-03-01", "2026-03-01T00:00:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                since("--unused-since", text, now).unwrap(),
                seconds(expected).unwrap(),
                "{text}"
            );
        }
        for text in
            ["", "d", "30", "-1d", "1.5d", "30m", "soon", "2026-02-30", "99999999999d", "³d"]
        {
            let said = since("--unused-since", text, now).unwrap_err().to_string();
            assert!(said.contains("neither a day nor an age"), "{text}: {said}");
        }
        let said = since("--unused-since", "2026-03-02", now).unwrap_err().to_string();
        assert!(said.contains("in the future"), "{said}");
        assert_eq!(seconds("yesterday"), None);
    }

    #[test]
    fn sizes_have_decimal_or_binary_units() {
        let cases = [
            ("0", Some(0)),
            ("1500", Some(1500)),
            ("7 B", Some(7)),
            ("500MB", Some(500_000_000)),
            ("500 mb", Some(500_000_000)),
            ("64MiB", Some(64 << 20)),
            ("2GB", Some(2_000_000_000)),
            ("", None),
            ("MB", None),
            ("1.5GB", None),
            ("-1", None),
            ("5MBs", None),
            ("99999999999999999999", None),
            ("99999999999GiB", None),
        ];
        for (text, expected) in cases {
            assert_eq!(size(text).ok(), expected, "{text}");
        }
        let shown = [0, 999, 1000, 45_100, 1_234_567, 2_000_000_000].map(bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "45.1 kB", "1.2 MB", "2.0 GB"]);
    }
}
