//! Secrets in URLs: what of an address is in no key and in no message.

/// The names of parameters that are secrets.
const SECRET_PARAMETERS: [&str; 10] = [
    "key",
    "apikey",
    "sig",
    "auth",
    "authorization",
    "code",
    "pass",
    "passwd",
    "subscription_key",
    "access_key",
];
/// The same, also where something and a `_` stands before them.
const SECRET_ENDINGS: [&str; 7] =
    ["api_key", "token", "secret", "password", "credential", "credentials", "signature"];

/// Whether the name of a parameter says beyond doubt that it holds a secret: what is taken for one is in no key.
fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let ends = |ending: &str| {
        name.strip_suffix(ending).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    SECRET_PARAMETERS.contains(&name.as_str()) || SECRET_ENDINGS.iter().any(|ending| ends(ending))
}

/// The parameters of a URL whose names say that they hold a secret: name, value.
pub fn secret_parameters(url: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters =
        query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
    parameters.filter(|(name, _)| is_secret_parameter(name))
}

/// What a value in a URL means: `%2B` is a plus. What is no such sign stays as it is.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = behind.get(..2).filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(b'%');
                rest = behind;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A URL without its secrets, for keys are written to disk: the name and password before its host, and parameters that
/// hold a secret by their names.
pub fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host_start = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
    let rest = &rest[host_start..];
    let secrets: Vec<&str> = secret_parameters(rest).map(|(name, _)| name).collect();
    let Some((path, query)) = rest.split_once('?').filter(|_| !secrets.is_empty()) else {
        return format!("{scheme}://{rest}");
    };
    let is_open =
        |parameter: &&str| !secrets.contains(&parameter.split('=').next().unwrap_or_default());
    let open: Vec<&str> = query.split('&').filter(is_open).collect();
    let mark = if open.is_empty() { "" } else { "?" };
    format!("{scheme}://{path}{mark}{}", open.join("&"))
}

#[cfg(test)]
mod tests {
    use super::{percent_decoded, without_secrets};

    #[test]
    fn values_are_decoded_as_far_as_they_are_encoded() {
        for (text, expected) in
            [("a%2Bb%3d", "a+b="), ("100%", "100%"), ("%+1%é%zz", "%+1%é%zz"), ("%C3%A9", "é")]
        {
            assert_eq!(percent_decoded(text), expected);
        }
    }

    #[test]
    fn parameters_are_secret_by_an_unmistakable_name() {
        for (query, expected) in [
            ("?decoder=a", "?decoder=a"),
            ("?design=a&monkey=b&keyboard=c&passage=d&author=e&encode=f", ""),
            ("?key=a", "-"),
            ("?KEY=a&x=1", "?x=1"),
            ("?api-key=a&api-version=2", "?api-version=2"),
            ("?sv=1&sig=a", "?sv=1"),
            ("?access_token=a&X-Amz-Signature=b&X-Amz-Credential=c&code=d&subscription-key=e", "-"),
        ] {
            let expected = match expected {
                "" => query,
                "-" => "",
                expected => expected,
            };
            let url = |query: &str| format!("https://judge.example/v1{query}");
            assert_eq!(without_secrets(&url(query)), url(expected), "{query}");
        }
    }
}
