//! What an unquoted YAML scalar is: nothing, true or false, a number, or text.
//!
//! These are the words of YAML 1.2 (core schema), not of YAML 1.1: `yes`, `on` and `010` are text here.
//! Readers of fields that want a truth value or a number accept them there, and a name may be `no`.

/// What an unquoted scalar is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// Empty, `~` or `null`.
    Null,
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// Any other number; infinite for `.inf` and `1e999`, NaN for `.nan`.
    Float(f64),
    /// Anything else.
    Text,
}

pub fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        _ => number(text),
    }
}

fn number(text: &str) -> Scalar {
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) if text.starts_with('-') => (-1, rest),
        Some(rest) => (1, rest),
        None => (1, text),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF") {
        return Scalar::Float(f64::from(sign) * f64::INFINITY);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(rest) = digits.strip_prefix(prefix).filter(|rest| !rest.starts_with(['-', '+']))
        {
            let value = i64::from_str_radix(rest, radix).ok();
            return value.map_or(Scalar::Text, |value| Scalar::Int(i64::from(sign) * value));
        }
    }
    if !digits.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()) {
        return Scalar::Text;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        if digits.len() > 1 && digits.starts_with('0') {
            return Scalar::Text;
        }
        let whole = text.parse().map(Scalar::Int);
        return whole.or_else(|_| text.parse().map(Scalar::Float)).unwrap_or(Scalar::Text);
    }
    if digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return text.parse().map_or(Scalar::Text, Scalar::Float);
    }
    Scalar::Text
}

#[cfg(test)]
mod tests {
    use super::{Scalar, resolve};

    #[test]
    fn scalars_resolve_by_the_core_schema() {
        for (text, expected) in [
            ("", Scalar::Null),
            ("~", Scalar::Null),
            ("null", Scalar::Null),
            ("nUll", Scalar::Text),
            ("true", Scalar::Bool(true)),
            ("FALSE", Scalar::Bool(false)),
            ("yes", Scalar::Text),
            ("5", Scalar::Int(5)),
            ("+5", Scalar::Int(5)),
            ("-5", Scalar::Int(-5)),
            ("1_000", Scalar::Text),
            ("0", Scalar::Int(0)),
            ("-0", Scalar::Int(0)),
            ("007", Scalar::Text),
            ("0x1f", Scalar::Int(31)),
            ("0o17", Scalar::Int(15)),
            ("0x-1", Scalar::Text),
            ("0xzz", Scalar::Text),
            ("9223372036854775807", Scalar::Int(i64::MAX)),
            ("9223372036854775808", Scalar::Float(9_223_372_036_854_775_808.0)),
            ("1.5", Scalar::Float(1.5)),
            (".5", Scalar::Float(0.5)),
            ("5.", Scalar::Float(5.0)),
            ("1e-3", Scalar::Float(0.001)),
            ("-1E3", Scalar::Float(-1000.0)),
            ("1e999", Scalar::Float(f64::INFINITY)),
            ("-.inf", Scalar::Float(f64::NEG_INFINITY)),
            ("inf", Scalar::Text),
            ("1.2.3", Scalar::Text),
            ("...", Scalar::Text),
            ("-", Scalar::Text),
            ("12:30", Scalar::Text),
            ("2020-01-01", Scalar::Text),
            ("..5", Scalar::Text),
            ("1e", Scalar::Text),
            ("--5", Scalar::Text),
        ] {
            assert_eq!(resolve(text), expected, "{text:?}");
        }
        assert!(matches!(resolve(".nan"), Scalar::Float(value) if value.is_nan()));
    }
}
