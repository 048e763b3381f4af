//! A variable of the environment that a program sees beside those that all see.

/// A variable that a suite names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable {
    pub name: String,
    /// Whether its value is a secret: then it is in no key, and taken out of whatever a program says.
    pub is_secret: bool,
}

impl Variable {
    /// The variable of this name, a secret if its name says so.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), is_secret: is_secret(name) }
    }

    /// Whether the name alone says what it is.
    pub fn is_plainly_named(&self) -> bool {
        self.is_secret == is_secret(&self.name)
    }
}

/// Whether a variable holds a secret by its name, which must not leave a doubt: a value that decides what a program gives
/// and is in no key makes results stale.
pub fn is_secret(name: &str) -> bool {
    const NAMES: [&str; 7] =
        ["API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS"];
    let name = name.to_ascii_uppercase();
    let ends = |end: &&str| {
        name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    NAMES.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn secrets_are_known_by_names_that_leave_no_doubt() {
        for (name, expected) in [
            ("OPENAI_API_KEY", true),
            ("API_KEY", true),
            ("github_token", true),
            ("TOKEN", true),
            ("DB_PASSWORD", true),
            ("CLIENT_SECRET", true),
            ("GOOGLE_CREDENTIALS", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("DEPLOY_PRIVATE_KEY", true),
            ("TOKEN_LIMIT", false),
            ("MYTOKEN", false),
            ("KEY_COLUMN", false),
            ("SORT_KEY", false),
            ("AUTH_MODE", false),
            ("COOKIE_POLICY", false),
            ("DB_PASS", false),
            ("AUTHOR", false),
            ("MODE", false),
            ("LANG", false),
            ("", false),
        ] {
            assert_eq!(is_secret(name), expected, "{name}");
        }
    }
}
