//! JSONPath queries (RFC 9535) that are short and shallow enough to be read: the parser calls itself for each bracket.

use serde_json_path::JsonPath;

/// The longest query, in bytes.
const MAX_BYTES: usize = 4096;

/// How deep brackets may stand in one another.
const MAX_DEPTH: usize = 64;

/// The query that `text` is, or why it is none.
pub fn parse(text: &str) -> Result<JsonPath, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let mut depth: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("its brackets are nested more than {MAX_DEPTH} deep"));
        }
    }
    JsonPath::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn queries_have_limits() {
        let nested = |depth: usize| format!("$[?{}@.a{}]", "(".repeat(depth), ")".repeat(depth));
        let filters = |depth: usize| format!("$[?{}@.a{}]", "@[?".repeat(depth), "]".repeat(depth));
        for good in ["$.a[0]", "$..b[?@.c == '(']", &nested(63), &format!("$.{}", "a".repeat(4094))]
        {
            assert!(parse(good).is_ok(), "{good}");
        }
        let long = format!("$.{}", "a".repeat(4095));
        for (bad, why) in [
            (nested(64), "its brackets are nested more than 64 deep"),
            (filters(64), "its brackets are nested more than 64 deep"),
            (nested(2000), "its brackets are nested more than 64 deep"),
            (nested(100_000), "it has more than 4096 bytes"),
            (long, "it has more than 4096 bytes"),
        ] {
            assert_eq!(parse(&bad).unwrap_err(), why);
        }
        assert!(parse("a b").is_err());
    }
}
