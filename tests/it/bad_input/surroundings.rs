//! Broken `evalrs.toml` and `.env`.

use evalrs_system::FileBytes;

use super::case::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let denied = || FileBytes::Unreadable("Permission denied (os error 13)".to_owned());
    let toml = |name, text: &str| case(name).file("evalrs.toml", text);
    let env = |name, text: &str| case(name).file(".env", text);
    vec![
        toml("toml is no TOML", "[run\nmax_calls = 3\n"),
        toml("toml is YAML", "run:\n  max_calls: 3\n"),
        toml("toml with a misspelt table", "[runs]\nmax_calls = 3\n"),
        toml("toml with a misspelt field", "[run]\nmax_cals = 3\ncolor = \"blue\"\n"),
        toml(
            "toml with wrong values",
            "[run]\nmax_calls = \"three\"\nmax_cost = -1\n[cache]\ndir = 5\n",
        ),
        toml("toml key written twice", "[run]\nmax_calls = 3\nmax_calls = 4\n"),
        toml("toml with NUL", "[run]\nmax_calls = \0\n"),
        case("toml in Latin-1").file("evalrs.toml", b"# r\xe9glages\n"),
        case("toml unreadable").fault("evalrs.toml", denied()),
        env("env line without a name", "A=1\n# note\n\nsecret value\n"),
        env("env value with spaces", "A=1\nB=hush hush\n"),
        env("env quote never closed", "A=1\nB=\"hush\nC=2\nD=3\n"),
        env("env with NUL", "A=1\nB=hu\0sh\n"),
        case("env in Latin-1").file(".env", b"A=1\nB=h\xfbsh\n"),
        case("env in UTF-16").file(".env", b"\xff\xfeA\0=\x001\0"),
        case("env unreadable").fault(".env", denied()),
    ]
}
