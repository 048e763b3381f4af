//! The variables that programs see: those that everything needs to run, and those that the suite passes on.
//!
//! Pure. Keys of APIs and whatever else stands in the environment of evalrs stay there unless a suite names them.

use std::collections::BTreeMap;

use crate::Secret;

/// Variables that every program sees: where things are, who runs it, and what runtimes and TLS libraries need to find
/// themselves.
pub(crate) const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "NODE_PATH",
    "DENO_DIR",
    "BUN_INSTALL",
    "SYSTEMROOT",
];

/// Families of such variables: the folders of the desktop's standard.
pub(crate) const FAMILIES_PASSED_ON: &[&str] = &["XDG_"];

/// Variables that have the same value for every program, unless its suite passes them on: what time it is where somebody
/// works, and what language they speak, must decide no grade that is kept.
pub(super) const FIXED: [(&str, &str); 2] =
    [("LANG", if cfg!(target_os = "macos") { "en_US.UTF-8" } else { "C.UTF-8" }), ("TZ", "UTC")];

fn is_passed_on(name: &str) -> bool {
    PASSED_ON.contains(&name) || FAMILIES_PASSED_ON.iter().any(|family| name.starts_with(family))
}

/// The part of an environment that every program sees.
pub(super) fn passed_on(mut all: BTreeMap<String, String>) -> BTreeMap<String, String> {
    all.retain(|name, _| is_passed_on(name));
    all.extend(FIXED.map(|(name, value)| (name.to_owned(), value.to_owned())));
    all
}

/// The whole environment of a program: that which every program sees, and `named`, which the suite passes on. That comes
/// last, so that it wins.
pub(super) fn of<'a>(
    passed_on: &'a BTreeMap<String, String>,
    named: &'a [(String, Secret)],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let always = passed_on.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    always.chain(named.iter().map(|(name, value)| (name.as_str(), value.reveal())))
}

/// The whole environment of a program to which a suite passes `named` on, where evalrs itself has the environment `all`.
pub fn environment_of(
    all: BTreeMap<String, String>,
    named: &[(String, Secret)],
) -> BTreeMap<String, String> {
    let passed_on = passed_on(all);
    of(&passed_on, named).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{FIXED, environment_of};
    use crate::Secret;

    #[test]
    fn programs_see_what_they_need_and_what_the_suite_names() {
        let names = ["PATH", "LC_ALL", "LANG", "TZ", "XDG_CACHE_HOME", "OPENAI_API_KEY", "TERM"];
        let all = names.map(|name| (name.to_owned(), "v".to_owned()));
        let named = |name: &str| (name.to_owned(), Secret::new("own".to_owned()));
        let named = [named("TERM"), named("TZ")];
        let seen = environment_of(BTreeMap::from(all), &named);
        let seen: Vec<(&str, &str)> =
            seen.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let lang = FIXED[0].1;
        let expected = [
            ("LANG", lang),
            ("PATH", "v"),
            ("TERM", "own"),
            ("TZ", "own"),
            ("XDG_CACHE_HOME", "v"),
        ];
        assert_eq!(seen, expected);
    }
}
