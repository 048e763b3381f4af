//! Patterns of JavaScript as patterns of Python that match the same, where there is one.

/// White space as JavaScript has it.
const SPACE: &str = r"\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";
/// What `.` matches in JavaScript.
const ANY: &str = r"[^\n\r\u2028\u2029]";

/// The pattern of Python that matches what `pattern` does in JavaScript without flags; none where that is not certain.
pub(super) fn python_pattern(pattern: &str) -> Option<String> {
    let mut translated = String::from("(?a)");
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    let mut class_is_empty = false;
    while let Some(char) = chars.next() {
        let was_empty = std::mem::replace(&mut class_is_empty, false);
        match char {
            '\\' => translated.push_str(&escape(chars.next()?, in_class, &mut chars)?),
            '[' if in_class => translated.push_str("\\["),
            '[' => {
                in_class = true;
                class_is_empty = true;
                translated.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    translated.push('^');
                }
            }
            // `[]` and `[^]` mean nothing and everything in JavaScript.
            ']' if in_class && was_empty => return None,
            ']' if in_class => {
                in_class = false;
                translated.push(']');
            }
            '&' | '|' | '~' if in_class => {
                translated.push('\\');
                translated.push(char);
            }
            _ if in_class => translated.push(char),
            '.' => translated.push_str(ANY),
            '$' => translated.push_str("\\Z"),
            '(' if chars.peek() == Some(&'?') => translated.push_str(&group(&mut chars)?),
            // What repeats, and what is a brace that stands for itself, is not the same in both.
            '{' if !is_count(&chars.clone().collect::<String>()) => translated.push_str("\\{"),
            '}' => translated.push('}'),
            '+' if translated.ends_with(['+', '*', '?', '}']) && !translated.ends_with("\\}") => {
                return None;
            }
            char => translated.push(char),
        }
    }
    (!in_class).then_some(translated)
}

/// Whether what follows a brace is `2}`, `2,}` or `2,3}`.
fn is_count(rest: &str) -> bool {
    let Some((count, _)) = rest.split_once('}') else { return false };
    let (least, most) = count.split_once(',').unwrap_or((count, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && is_number(least) && is_number(most)
}

fn escape(
    char: char,
    in_class: bool,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Option<String> {
    Some(match char {
        's' if in_class => SPACE.to_owned(),
        's' => format!("[{SPACE}]"),
        'S' if !in_class => format!("[^{SPACE}]"),
        'b' | 'B' | '1'..='9' if !in_class => format!("\\{char}"),
        'd' | 'D' | 'w' | 'W' | 'n' | 'r' | 't' | 'f' | 'v' => format!("\\{char}"),
        'u' | 'x' => {
            let length = if char == 'u' { 4 } else { 2 };
            let digits: String = chars.clone().take(length).collect();
            let is_hex =
                digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_hex {
                return None;
            }
            chars.nth(length - 1);
            format!("\\{char}{digits}")
        }
        _ if !char.is_alphanumeric() && char.is_ascii() => format!("\\{char}"),
        _ => return None,
    })
}

/// The text behind `(` up to where the group's own pattern begins.
fn group(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let rest: String = chars.clone().take(40).collect();
    for open in ["?:", "?=", "?!"] {
        if rest.starts_with(open) {
            chars.nth(open.len() - 1);
            return Some(format!("({open}"));
        }
    }
    let name = rest.strip_prefix("?<").filter(|name| !name.starts_with(['=', '!']))?;
    let name = name.split_once('>')?.0;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    chars.nth(name.len() + 2);
    is_name.then(|| format!("(?P<{name}>"))
}

#[cfg(test)]
mod tests {
    use super::python_pattern;

    #[test]
    fn patterns_match_what_they_do_in_javascript() {
        for (pattern, matching, others) in [
            ("^\\d+$", vec!["12"], vec!["12\n", "١٢", "a"]),
            ("a.c", vec!["abc"], vec!["a\nc", "a\u{2028}c"]),
            ("\\bhello\\s+world\\b", vec!["hello\u{a0}world"], vec!["helloworld"]),
            ("[\\s]x", vec!["\u{feff}x"], vec!["yx"]),
            ("(?<year>\\d{4})-(?:0[1-9]|1[0-2])", vec!["2024-12"], vec!["2024-13"]),
            ("(?=.*a)(?!.*b)", vec!["a"], vec!["ab"]),
            ("\\{\"a\": [{]", vec!["{\"a\": {"], vec!["a"]),
            ("^\\w+$", vec!["abc_1"], vec!["é"]),
            ("caf\\u00e9", vec!["café"], vec!["cafe"]),
            ("a{2}b{x", vec!["aab{x"], vec!["abb"]),
            ("[a|b&&c]", vec!["|"], vec!["d"]),
            ("\\/path\\-x", vec!["/path-x"], vec!["path"]),
        ] {
            let python = python_pattern(pattern).unwrap();
            let regex = python_re::Regex::new(&python).unwrap();
            for text in matching {
                assert!(regex.is_match(text).unwrap(), "{pattern} as {python} on {text:?}");
            }
            for text in others {
                assert!(!regex.is_match(text).unwrap(), "{pattern} as {python} on {text:?}");
            }
        }
        for pattern in ["(?i)x", "[]a", "\\p{L}", "(?<=a)b", "\\k<a>", "a++", "[a", "\\", "[\\S]"] {
            assert_eq!(python_pattern(pattern), None, "{pattern}");
        }
    }
}
