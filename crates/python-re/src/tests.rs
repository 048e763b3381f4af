//! Patterns and texts with what Python 3.11's `re` answers to them.

use super::{Captures, Regex, RegexProblem};

/// A pattern, a text, and the answer of `re.search`: the bytes of each group, `-` for a group that took no
/// part, `none` without a match, `error` if the pattern is refused. Computed with Python 3.11.
type Case = (&'static str, &'static str, &'static str);

fn answer(pattern: &str, text: &str) -> String {
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(RegexProblem::Syntax { .. }) => return "error".to_owned(),
        Err(other) => return other.to_string(),
    };
    let found = regex.captures_at(text, 0);
    assert_eq!(regex.is_match(text), found.as_ref().map(Option::is_some).map_err(Clone::clone));
    match found {
        Ok(found) => found.map_or("none".to_owned(), |found| show(&found)),
        Err(problem) => problem.to_string(),
    }
}

fn show(found: &Captures) -> String {
    let show = |range: &Option<std::ops::Range<usize>>| {
        range.as_ref().map_or("-".to_owned(), |range| format!("{range:?}"))
    };
    found.groups.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn check(cases: &[Case]) {
    for (pattern, text, expected) in cases {
        assert_eq!(answer(pattern, text), *expected, "{pattern:?} in {text:?}");
    }
}

#[test]
fn places_are_those_of_python() {
    check(PLACES);
}

#[test]
fn classes_are_those_of_python() {
    check(CLASSES);
}

#[test]
fn names_are_those_of_python() {
    check(NAMES);
}

#[test]
fn case_are_those_of_python() {
    check(CASE);
}

#[test]
fn groups_are_those_of_python() {
    check(GROUPS);
}

#[test]
fn look_are_those_of_python() {
    check(LOOK);
}

#[test]
fn braces_are_those_of_python() {
    check(BRACES);
}

#[test]
fn escapes_are_those_of_python() {
    check(ESCAPES);
}

#[test]
fn verbose_are_those_of_python() {
    check(VERBOSE);
}

#[test]
fn refused_are_those_of_python() {
    check(REFUSED);
}

#[test]
fn groups_have_names_and_numbers() {
    let regex = Regex::new("(?P<a>x)(?:y)(?P<b>z)?(w)").unwrap();
    assert_eq!(regex.group_count(), 3);
    assert_eq!(regex.group_index("a"), Some(1));
    assert_eq!(regex.group_index("b"), Some(2));
    assert_eq!(regex.group_index("c"), None);
}

#[test]
fn a_search_from_the_middle_sees_the_whole_text() {
    // Python: `re.compile(pattern).search(text, position)`.
    for (pattern, text, start, expected) in [
        (r"\d", "1a2", 1, "2..3"),
        (r"^a", "aa", 1, "none"),
        (r"(?<=a)a", "aa", 1, "1..2"),
        (r"\ba", "aa", 1, "none"),
        (r"$", "a\n", 2, "2..2"),
        (r"$", "a\n", 1, "1..1"),
        (r"a", "a", 2, "none"),
        (r"", "é", 1, "none"),
        (r"(?m)^b", "a\nb", 2, "2..3"),
    ] {
        let found = Regex::new(pattern).unwrap().captures_at(text, start).unwrap();
        let found = found.map_or("none".to_owned(), |found| show(&found));
        assert_eq!(found, expected, "{pattern:?} in {text:?} from {start}");
    }
}

#[test]
fn no_pattern_takes_forever() {
    const LIMIT: &str = "the pattern took too many steps (more than 5000000)";
    const LARGE: &str = "the pattern is too large";
    let deep = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    for (pattern, text, expected) in [
        ("(a+)+$", "a".repeat(5000) + "!", "none"),
        ("(a|a)*b", "a".repeat(5000), "none"),
        ("(?:a?){30}a{30}", "a".repeat(30), "0..30"),
        (r"foo(?=bar)", "z".repeat(1 << 20), "none"),
        (r"(?=(a+))(?:a|a)*b\1", "a".repeat(100), LIMIT),
        ("(?:a{1000}){1000}", "a".to_owned(), LARGE),
        ("(?=b)(?:a{1000}){1000}", "a".to_owned(), LARGE),
        ("a{4294967295}", "a".to_owned(), LARGE),
        (&deep(101), "a".to_owned(), LARGE),
        (&"a".repeat(1 << 17), "a".to_owned(), LARGE),
    ] {
        let start = &pattern[..pattern.len().min(40)];
        assert_eq!(answer(pattern, &text), expected, "{start:?}");
    }
    assert!(Regex::new(&deep(99)).is_ok());
}

#[test]
fn problems_say_what_and_where() {
    for (pattern, expected) in [
        ("a(b", "the group is not closed at position 1"),
        ("é[a", "the set is not closed at position 1"),
        (r"a\p{L}", r"unknown escape `\p` at position 1"),
        ("a**", "a repetition is repeated at position 2"),
        ("a)", "`)` closes nothing at position 1"),
        ("ab\\", "the pattern ends with a backslash at position 2"),
        (
            "((?(1)a|b))",
            "the pattern uses something that is not supported: a condition on a group that is still open",
        ),
    ] {
        assert_eq!(Regex::new(pattern).err().map(|e| e.to_string()).as_deref(), Some(expected));
    }
}

const PLACES: &[Case] = &[
    ("a$", "a\n", "0..1"),
    ("a$", "a\n\n", "none"),
    ("a$", "ba", "1..2"),
    ("^a$", "a\n", "0..1"),
    ("(a$|b)c?", "a\n", "0..1 0..1"),
    (r"(?:a$)\n", "a\n", "0..2"),
    (r"a$\n", "a\n", "0..2"),
    (r"(a$)(\n?)", "a\n", "0..2 0..1 1..2"),
    ("$", "\n", "0..0"),
    ("$", "a\n\n", "2..2"),
    ("^$", "", "0..0"),
    ("^$", "\n", "0..0"),
    (".*$", "ab\n", "0..2"),
    ("(?s).*$", "ab\n", "0..3"),
    (r"a\Z", "a\n", "none"),
    (r"a\Z", "a", "0..1"),
    (r"\Aa", "ba", "none"),
    (r"\Aa", "ab", "0..1"),
    ("(?m)^b", "a\nb", "2..3"),
    ("(?m)a$", "a\nb", "0..1"),
    ("(?m)^$", "a\n", "2..2"),
    (r"(?m)a\Z", "a\nb", "none"),
    (r"(?m)\Ab", "a\nb", "none"),
    ("^b", "a\nb", "none"),
    ("(?:a$)*b?", "a\n", "0..1"),
    ("(?:^a|b$)+", "ab\n", "0..2"),
    (r"\ba\b", "-a-", "1..2"),
    (r"\ba\b", "éa", "none"),
    (r"\ba", "\u{301}a", "2..3"),
    (r"a\b", "a\u{301}", "0..1"),
    (r"\b", "Ⓐ", "none"),
    (r"\b", "\u{200d}", "none"),
    (r"\b", "²", "0..0"),
    (r"\b", "‿", "none"),
    (r"\B", "", "none"),
    (r"\B", "a", "none"),
    (r"\B", "ab", "1..1"),
    (r"\B", "-", "0..0"),
    (r"\b", "", "none"),
    (r"(?a)\bb", "éb", "2..3"),
    (r"(?a)\Bé", "éé", "0..2"),
    (r"(?a:\b)b", "éb", "2..3"),
    (r"\bfoo\b.*$", "a foo bar\n", "2..9"),
    (r"(\w+)$", "x yz\n", "2..4 2..4"),
    ("x*$", "a\n", "1..1"),
];

const NAMES: &[Case] = &[
    (r"\N{EM DASH}", "a — b", "2..5"),
    (r"[\N{EN DASH}-\N{EM DASH}]+", "a –— b", "2..8"),
    (r"\N{em dash}", "—", "0..3"),
    (r"\N{EMDASH}", "—", "error"),
    (r"\N{EM_DASH}", "—", "error"),
    (r"\N{LINE FEED}", "\n", "0..1"),
    (r"\N{NBSP}", "\u{a0}", "0..2"),
    (r"\N{HANGUL SYLLABLE GAG}", "각", "0..3"),
    (r"\N{CJK UNIFIED IDEOGRAPH-4E00}", "一", "0..3"),
    (r"\N{}", "x", "error"),
    (r"\N", "x", "error"),
    (r"\N{EM DASH", "x", "error"),
    (r"[\N{DIGIT ONE}-3]", "2", "0..1"),
    (r"\N{LATIN SMALL LETTER A WITH MACRON AND GRAVE}", "x", "error"),
    (r"\N{BELL}", "🔔", "0..4"),
    (r"\N{HYPHEN-MINUS}{2}", "--", "0..2"),
    (r"\N{ EM DASH}", "—", "error"),
    (r"\N{HANGUL JUNGSEONG O-E}", "ᆀ", "0..3"),
    (r"(?i)\N{LATIN SMALL LETTER A}", "A", "0..1"),
];

const CLASSES: &[Case] = &[
    (r"\d+", "٣4x", "0..3"),
    (r"(?a)\d+", "٣4x", "2..3"),
    (r"\d", "²", "none"),
    (r"\w+", "²½Ⅷ", "0..7"),
    (r"\w+", "é_1-", "0..4"),
    (r"(?a)\w+", "éa_1", "2..5"),
    (r"\w", "\u{301}", "none"),
    (r"\w", "‿", "none"),
    (r"\w", "Ⓐ", "none"),
    (r"\W", "Ⓐ", "0..3"),
    (r"\w+", "中文字", "0..9"),
    (r"\s+", "\u{1c}\u{1d}\u{1e}\u{1f}", "0..4"),
    (r"\s", "\u{85}", "0..2"),
    (r"\s", "\u{200b}", "none"),
    (r"\S", "\u{1f}", "none"),
    (r"(?a)\s", "\u{1c}", "none"),
    (r"(?a)\s", "\u{b}", "0..1"),
    (r"(?a)\S", "\u{a0}", "0..2"),
    (r"[\d\s]+", "4 ٣", "0..4"),
    (r"[^\d\s]+", "4 a", "2..3"),
    (r"[^\W\d_]+", "1_ab", "2..4"),
    (r"[\D]", "٣", "none"),
    (".", "\n", "none"),
    (".+", "a\rb", "0..3"),
    (".", "\u{2028}", "0..3"),
    ("(?s).", "\n", "0..1"),
    ("(?s:.).", "\n\n", "none"),
    ("[]a]+", "a]b", "0..2"),
    ("[^]a]", "a]b", "2..3"),
    ("[a-]+", "-a", "0..2"),
    ("[-a]+", "-a", "0..2"),
    (r"[a\-z]+", "b-", "1..2"),
    ("[[a]+", "[a", "0..2"),
    ("[[:alpha:]]", "a]", "0..2"),
    ("[[:alpha:]]", ":]", "0..2"),
    ("[a&&b]+", "&", "0..1"),
    ("[+--]+", "-", "0..1"),
    ("[a~~b]+", "~", "0..1"),
    ("[a||b]+", "|", "0..1"),
    (r"[\]\\]+", "\\]", "0..2"),
    (r"[\b]", "\u{8}", "0..1"),
    (r"[\x41-\u0043]+", "ABCD", "0..3"),
    (r"[\101]", "A", "0..1"),
    (r"[\0]", "\u{0}", "0..1"),
    ("[.*+?{}()|^$]+", "a.*+?{}()|^$", "1..12"),
    ("[#-%]+", "a#$%", "1..4"),
    (r"[\n-\r]+", "\r\n", "0..2"),
    (r"[^\n]+", "\nab", "1..3"),
    ("[^a]", "\n", "0..1"),
    (r"[\w-]+", "a-b c", "0..3"),
    ("[é-ü]+", "aéü", "1..5"),
    (r"[\ud800-\udfff]", "a", "none"),
    (r"[^\ud800-\udfff]", "a", "0..1"),
    (r"\ud800", "a", "none"),
];

const CASE: &[Case] = &[
    ("(?i)ABC", "aBc", "0..3"),
    ("(?i:a)b", "Ab", "0..2"),
    ("(?i:a)b", "AB", "none"),
    ("(?i)k", "\u{212a}", "0..3"),
    ("(?ai)k", "\u{212a}", "none"),
    ("(?i)s", "\u{17f}", "0..2"),
    ("(?i)\u{17f}", "S", "0..1"),
    ("(?i)i", "İ", "0..2"),
    ("(?i)i", "ı", "0..2"),
    ("(?i)ı", "I", "0..1"),
    ("(?i)İ", "i", "0..1"),
    ("(?i)[h-j]", "ı", "0..2"),
    ("(?i)[^i]", "İ", "none"),
    ("(?ai)i", "İ", "none"),
    ("(?i)σ", "ς", "0..2"),
    ("(?i)Σ", "ς", "0..2"),
    ("(?i)ß", "ẞ", "0..3"),
    ("(?i)ss", "ß", "none"),
    ("(?i)[a-z]+", "ABC\u{17f}", "0..5"),
    ("(?ai)[a-z]+", "ABC\u{17f}", "0..3"),
    ("(?ai)[^k]", "\u{4b}", "none"),
    ("(?i)é", "É", "0..2"),
    ("(?ai)é", "É", "none"),
    ("(?i)(?-i:a)b", "AB", "none"),
    ("(?i)(?-i:a)b", "aB", "0..2"),
    (r"(?i)\x41", "a", "0..1"),
    (r"(?i)(a)\1", "aA", "0..2 0..1"),
    (r"(a)(?i:\1)", "aA", "0..2 0..1"),
    (r"(a)\1", "aA", "none"),
    ("(?i)µ", "μ", "0..2"),
    ("(?i)Ω", "ω", "0..2"),
    ("(?i)[_-a]", "B", "none"),
];

const GROUPS: &[Case] = &[
    ("(a)(b)?", "a", "0..1 0..1 -"),
    ("(?P<x>a)(?P=x)", "aa", "0..2 0..1"),
    ("(?P<x>a)(?P<y>b)?", "ab", "0..2 0..1 1..2"),
    ("(a)|(b)", "b", "0..1 - 0..1"),
    ("(?:a|b)+", "abc", "0..2"),
    ("(a|ab)(c|bcd)(d*)", "abcd", "0..4 0..1 1..4 4..4"),
    (r"(a)\1{2}", "aaa", "0..3 0..1"),
    (r"(a)\1", "ab", "none"),
    (r"(a)?\1b", "b", "none"),
    (r"(a)(?:\1)0", "aa0", "0..3 0..1"),
    (r"(a)(b)\2", "abb", "0..3 0..1 1..2"),
    (r"(a)\100", "a@", "0..2 0..1"),
    (r"(a)[\1]", "a\u{1}", "0..2 0..1"),
    ("(?P<é>a)", "a", "0..1 0..1"),
    ("(a(?P<b>b(c)))", "abc", "0..3 0..3 1..3 2..3"),
    ("(a)(?#note)(b)", "ab", "0..2 0..1 1..2"),
    ("a(?#x)*", "aaa", "0..3"),
    ("()", "a", "0..0 0..0"),
    ("(|a)+", "aa", "0..0 0..0"),
    ("(?:(a)|b)*", "ab", "0..2 0..1"),
    ("((a)|(b))*", "ab", "0..2 1..2 0..1 1..2"),
    ("", "a", "0..0"),
    ("|a", "a", "0..0"),
    ("a||b", "b", "0..0"),
    ("()*", "a", "0..0 0..0"),
    ("(?:)*", "a", "0..0"),
    ("(a){0}b", "ab", "1..2 -"),
    ("(?>a+)b", "aab", "0..3"),
    ("(?>a|ab)c", "abc", "none"),
    ("a++a", "aaa", "none"),
    ("a++b", "aab", "0..3"),
    ("(?:ab)?+a", "ab", "none"),
    ("a{1,2}+a", "aa", "none"),
    ("(?:a|ab)++c", "abc", "none"),
    ("(a)?(?(1)b|c)", "ab", "0..2 0..1"),
    ("^(a)?(?(1)b|c)$", "c", "0..1 -"),
    ("(?P<q>\")?a(?(q)\")", "\"a\"", "0..3 0..1"),
    ("^(?P<q>\")?a(?(q)\")$", "\"a", "none"),
    ("(a)?(?(1)b)", "b", "0..0 -"),
];

const LOOK: &[Case] = &[
    ("(a+?)*(?=)", "aaa", "0..3 2..3"),
    ("(a{2,}?)*(?!c)b", "aaaab", "0..5 2..4"),
    ("(?=ab)a", "cab", "1..2"),
    ("a(?!b)", "abac", "2..3"),
    ("(?<=a)b", "bab", "2..3"),
    ("(?<!a)b", "abcb", "3..4"),
    ("(?<=é)b", "éb", "2..3"),
    (r"(?<=\d{3})x", "12x123x", "6..7"),
    ("(?<=a|b)c", "bc", "1..2"),
    ("(?<=^)a", "a", "0..1"),
    ("(?=a$)a", "a\n", "0..1"),
    ("(?!a$).", "a\n", "none"),
    (r"(?=(a))\1", "a", "0..1 0..1"),
    ("(?!(a))b", "b", "0..1 -"),
    ("(?=a)*b", "b", "0..1"),
    ("(?:(?=a)){2}a", "a", "0..1"),
    (r"(?<=(a))b\1", "aba", "1..3 0..1"),
    (r"(?=.*\d)(?=.*[a-z]).{4,}", "ab1c", "0..4"),
    ("^(?!.*foo).*$", "a foo\n", "none"),
    ("^(?!.*foo).*$", "a bar\n", "0..5"),
    (r"(?<!\w)cat(?!\w)", "a cat.", "2..5"),
    (r"(?<=\s)\S+$", "ab cd\n", "3..5"),
    (r"(?<=\b)a", "-a", "1..2"),
    ("(?<=(?i:A))b", "ab", "1..2"),
    (r"(?<!\n)$", "a\n", "1..1"),
    ("(?<=a{2})b", "aab", "2..3"),
];

const BRACES: &[Case] = &[
    ("a{2}", "aaa", "0..2"),
    ("a{2,}", "aaaa", "0..4"),
    ("a{,2}", "aaa", "0..2"),
    ("a{,}", "aaa", "0..3"),
    ("a{1,2}?", "aa", "0..1"),
    ("a{", "a{", "0..2"),
    ("a{}", "a{}", "0..3"),
    ("a{1", "a{1", "0..3"),
    ("a{1,", "a{1,", "0..4"),
    ("a{b}", "a{b}", "0..4"),
    ("a{ 1}", "a{ 1}", "0..5"),
    ("a{1, 2}", "a{1, 2}", "0..7"),
    ("{a", "{a", "0..2"),
    ("{1a", "{1a", "0..3"),
    ("a}", "a}", "0..2"),
    ("a{-1}", "a{-1}", "0..5"),
    ("x{0}y", "xy", "1..2"),
    ("\\{\"a\": \\d+\\}", "{\"a\": 12}", "0..9"),
    ("{\"a\": (\\d+)}", "{\"a\": 12}", "0..9 6..8"),
    ("a{,2}b", "aab", "0..3"),
    ("a{0,0}b", "ab", "1..2"),
    ("a{02}", "aa", "0..2"),
    ("(?:a{2}){2}", "aaaa", "0..4"),
    ("a]", "a]", "0..2"),
];

const ESCAPES: &[Case] = &[
    (r"\x41\u0042\U00000043", "ABC", "0..3"),
    (r"\0", "\u{0}", "0..1"),
    (r"\07", "\u{7}", "0..1"),
    (r"\018", "\u{1}8", "0..2"),
    (r"\101", "A", "0..1"),
    (r"\377", "ÿ", "0..2"),
    (r"\a\f\n\r\t\v", "\u{7}\u{c}\n\r\t\u{b}", "0..6"),
    (r"\.\*\-\_\ \@\#", ".*-_ @#", "0..7"),
    (r"\é", "é", "0..2"),
    ("\\\"\\'", "\"'", "0..2"),
    (r"\/", "/", "0..1"),
    (r"\<\>", "<>", "0..2"),
    (r"\&\~\%", "&~%", "0..3"),
    (r"\U0001F600", "😀", "0..4"),
    ("a\nb", "a\nb", "0..3"),
    ("\t", "\t", "0..1"),
];

const VERBOSE: &[Case] = &[
    ("(?x) a b # c\n c", "abc", "0..3"),
    (r"(?x) a \  b", "a b", "0..3"),
    ("(?x)[ a]+", " a", "0..2"),
    ("(?x)a +", "aaa", "0..3"),
    ("(?x: a b )c", "abc", "0..3"),
    ("(?x: a b ) c", "abc", "none"),
    (r"(?x)a\#b", "a#b", "0..3"),
    ("(?x)(?-x: a)", "a", "none"),
    ("(?x)(?-x: a)", " a", "0..2"),
    ("(?x)a|#b\nb", "b", "0..1"),
    ("(?xi) A", "a", "0..1"),
    ("(?i)(?m)^A", "b\na", "2..3"),
    ("(?#c)(?i)A", "a", "0..1"),
    ("(?x)a{1, 2}", "a{1,2}", "0..6"),
];

const REFUSED: &[Case] = &[
    ("(", "", "error"),
    (")", "", "error"),
    ("a)", "", "error"),
    ("[", "", "error"),
    ("[]", "", "error"),
    ("[^]", "", "error"),
    ("[a", "", "error"),
    ("[a-", "", "error"),
    ("[z-a]", "", "error"),
    (r"[\w-a]", "", "error"),
    (r"[a-\d]", "", "error"),
    ("*", "", "error"),
    ("+a", "", "error"),
    ("?", "", "error"),
    ("a|*", "", "error"),
    ("(*)", "", "error"),
    ("^*", "", "error"),
    ("$+", "", "error"),
    (r"\b*", "", "error"),
    ("a**", "", "error"),
    ("a*+*", "", "error"),
    ("a*?+", "", "error"),
    ("a+?*", "", "error"),
    ("a???", "", "error"),
    ("a{1}{2}", "", "error"),
    ("{2}", "", "error"),
    ("a{2,1}", "", "error"),
    ("[a--b]", "", "error"),
    (r"(a)\10", "", "error"),
    ("(?P<a>x)(?P<a>y)", "", "error"),
    ("(?P<1>a)", "", "error"),
    ("(?P<a b>c)", "", "error"),
    ("(?P<>a)", "", "error"),
    ("(?P=n)", "", "error"),
    ("(?P<n>(?P=n))", "", "error"),
    ("(?P>n)", "", "error"),
    ("(?P", "", "error"),
    ("(?<n>a)", "", "error"),
    ("(?a", "", "error"),
    ("(?i", "", "error"),
    ("(?z)", "", "error"),
    ("(?i-", "", "error"),
    ("(?i-i:a)", "", "error"),
    ("(?-a:b)", "", "error"),
    ("(?au)a", "", "error"),
    ("(?L)a", "", "error"),
    ("a(?i)", "", "error"),
    ("(a(?i))", "", "error"),
    ("a|(?i)b", "", "error"),
    ("(?", "", "error"),
    ("(?#a", "", "error"),
    ("(?:a", "", "error"),
    ("(?=a", "", "error"),
    ("(?(1)a|b)", "", "error"),
    ("(a)(?(2)b)", "", "error"),
    ("(a)(?(1)b|c|d)", "", "error"),
    ("(?(0)a)", "", "error"),
    ("(?(x)a)", "", "error"),
    ("(a)(?(1", "", "error"),
    (r"\1", "", "error"),
    (r"(a\1)", "", "error"),
    (r"(a)\2", "", "error"),
    ("(?<=a+)b", "", "error"),
    ("(?<=a|bc)d", "", "error"),
    ("(?<!a?)b", "", "error"),
    (r"(?<=(a)\1)b", "", "error"),
    (r"\p{L}", "", "error"),
    (r"\P{L}", "", "error"),
    (r"\h", "", "error"),
    (r"\R", "", "error"),
    (r"\K", "", "error"),
    (r"\G", "", "error"),
    (r"\z", "", "error"),
    (r"\Q", "", "error"),
    (r"\e", "", "error"),
    (r"\c", "", "error"),
    (r"\y", "", "error"),
    (r"\X", "", "error"),
    (r"\x4", "", "error"),
    (r"\xg1", "", "error"),
    (r"\u123", "", "error"),
    (r"\U1234567", "", "error"),
    (r"\U00110000", "", "error"),
    (r"[\u12]", "", "error"),
    (r"\400", "", "error"),
    (r"[\400]", "", "error"),
    (r"[\8]", "", "error"),
    (r"[\A]", "", "error"),
    (r"[\Z]", "", "error"),
    (r"[\B]", "", "error"),
    (r"[\q]", "", "error"),
    (r"\8", "", "error"),
    (r"\", "", "error"),
    (r"[\", "", "error"),
    (r"[a\]", "", "error"),
    ("(?P<n", "", "error"),
    ("(?P=n", "", "error"),
    ("(?>a", "", "error"),
    ("(?i:a", "", "error"),
];
