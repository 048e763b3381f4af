//! The keys of writers: Ed25519 (RFC 8032), as text.

use std::fmt;
use std::str::FromStr;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// How public keys begin.
const PUBLIC: &str = "ed25519:";
/// How secret keys begin.
const SECRET: &str = "evalrs-key:";
/// The bytes of a key of either kind.
const BYTES: usize = 32;

/// What a writer is known by: `ed25519:` and 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; BYTES]);

impl FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix(PUBLIC).and_then(bytes);
        digits.map(Self).ok_or_else(|| format!("expected `{PUBLIC}` and 64 hex digits"))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", hex(&self.0))
    }
}

impl PublicKey {
    /// Whether this key signed the message.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

/// What a writer signs with. It is never shown, but by [`WriterKey::generate`].
pub struct WriterKey(Ed25519KeyPair);

impl fmt::Debug for WriterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriterKey({})", self.public())
    }
}

impl WriterKey {
    /// A new key, and the text of its secret half. An error where the system has no random numbers.
    pub fn generate() -> Result<(Self, String), String> {
        let mut seed = [0; BYTES];
        let filled = SystemRandom::new().fill(&mut seed);
        filled.map_err(|_| "the system has no random numbers".to_owned())?;
        let text = format!("{SECRET}{}", hex(&seed));
        Ok((Self::read(&text)?, text))
    }

    /// The key with this text.
    pub fn read(text: &str) -> Result<Self, String> {
        // A file may be what `cache key new` has printed.
        let word = text.split_whitespace().find_map(|word| word.strip_prefix(SECRET));
        let seed: Option<[u8; BYTES]> = word.and_then(bytes);
        let pair = seed.and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok());
        pair.map(Self).ok_or_else(|| format!("it is not `{SECRET}` and 64 hex digits"))
    }

    /// What others know it by.
    pub fn public(&self) -> PublicKey {
        let mut public = [0; BYTES];
        public.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(public)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of hex digits in lower case, if they are so many.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{PublicKey, WriterKey};

    #[test]
    fn keys_are_read_as_they_are_written() {
        let (key, text) = WriterKey::generate().unwrap();
        let again = WriterKey::read(&format!("{text}\n")).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        assert!(!format!("{key:?}").contains(&text[12..]));
        let (other, _) = WriterKey::generate().unwrap();
        assert_ne!(other.public(), key.public());
        let signature = key.sign(b"message");
        assert!(key.public().has_signed(b"message", &signature));
        assert!(!key.public().has_signed(b"massage", &signature));
        assert!(!other.public().has_signed(b"message", &signature));
        assert!(!key.public().has_signed(b"message", &signature[1..]));
        for text in ["", "ed25519:", "ed25519:00", &"ed25519:".to_owned().repeat(9), &text] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
        // The test vector 1 of RFC 8032.
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let known = WriterKey::read(&format!("evalrs-key:{seed}")).unwrap();
        let public = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(known.public().to_string(), public);
    }
}
