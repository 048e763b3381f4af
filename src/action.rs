//! Actions: effects described completely by data, and the key each is kept under.
//!
//! The key is one walk over an action's ingredients: [`Ingredients`] has an implementation that hashes
//! and one that explains, so what `explain` shows can never drift from what is hashed. A change in what an
//! ingredient means must raise the version in [`KEY_CONTEXT`].

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::judge::JudgeAction;

/// The domain of every key; its version is raised when keys change their meaning.
pub const KEY_CONTEXT: &str = "evalrs action v1";

/// The longest ingredient that is kept as it is, in characters; longer ones are kept as digest and preview.
const PREVIEW: usize = 200;

/// An effect, described completely by data.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A judge is asked.
    Judge(JudgeAction),
}

impl Action {
    /// Its content address.
    pub fn key(&self) -> ActionKey {
        let mut hasher = KeyHasher(blake3::Hasher::new_derive_key(KEY_CONTEXT));
        self.walk(&mut hasher);
        ActionKey(*hasher.0.finalize().as_bytes())
    }

    /// What its key is made of, for people.
    pub fn ingredients(&self) -> Vec<Ingredient> {
        let mut explanation = Explanation(Vec::new());
        self.walk(&mut explanation);
        explanation.0
    }

    fn walk(&self, to: &mut dyn Ingredients) {
        match self {
            Self::Judge(action) => {
                to.text("kind", "judge");
                action.walk(to);
            }
        }
    }
}

/// What walks over an action's ingredients.
pub trait Ingredients {
    /// A text, or its absence.
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>);
    /// A number, or its absence.
    fn number_or_absent(&mut self, name: &'static str, value: Option<f64>);

    /// A text.
    fn text(&mut self, name: &'static str, value: &str) {
        self.text_or_absent(name, Some(value));
    }

    /// A number.
    fn number(&mut self, name: &'static str, value: f64) {
        self.number_or_absent(name, Some(value));
    }
}

struct KeyHasher(blake3::Hasher);

impl KeyHasher {
    /// Tag, name and value, each with its length before it: no two walks have the same bytes.
    fn field(&mut self, tag: u8, name: &str, value: &[u8]) {
        self.0.update(&[tag]);
        self.0.update(&(name.len() as u64).to_le_bytes());
        self.0.update(name.as_bytes());
        self.0.update(&(value.len() as u64).to_le_bytes());
        self.0.update(value);
    }
}

impl Ingredients for KeyHasher {
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>) {
        match value {
            None => self.field(0, name, &[]),
            Some(text) => self.field(1, name, text.as_bytes()),
        }
    }

    fn number_or_absent(&mut self, name: &'static str, value: Option<f64>) {
        match value {
            None => self.field(0, name, &[]),
            // Both zeros are one number.
            Some(number) => self.field(2, name, &(number + 0.0).to_bits().to_le_bytes()),
        }
    }
}

/// One ingredient of a key, as it is shown and kept beside an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingredient {
    /// Its name.
    pub name: String,
    /// The text itself if it is short, else its beginning; null if it is absent.
    pub preview: Option<String>,
    /// The blake3 digest of a text that is longer than its preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

struct Explanation(Vec<Ingredient>);

impl Ingredients for Explanation {
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>) {
        let end = value.and_then(|text| text.char_indices().nth(PREVIEW)).map(|(at, _)| at);
        let digest = end.and(value).map(|text| blake3::hash(text.as_bytes()).to_hex().to_string());
        let preview = value.map(|text| text[..end.unwrap_or(text.len())].to_owned());
        self.0.push(Ingredient { name: name.to_owned(), preview, digest });
    }

    fn number_or_absent(&mut self, name: &'static str, value: Option<f64>) {
        let preview = value.map(|number| number.to_string());
        self.0.push(Ingredient { name: name.to_owned(), preview, digest: None });
    }
}

/// The content address of an action: a blake3 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionKey(pub [u8; 32]);

/// A map by action key.
pub type KeyMap<V> = HashMap<ActionKey, V, BuildHasherDefault<DigestHasher>>;
/// A set of action keys.
pub type KeySet = HashSet<ActionKey, BuildHasherDefault<DigestHasher>>;

/// Hashes a digest by its first bytes: it is random already.
#[derive(Clone, Copy, Debug, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }
}

impl Hash for ActionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut word = [0; 8];
        word.copy_from_slice(&self.0[..8]);
        state.write_u64(u64::from_le_bytes(word));
    }
}

impl ActionKey {
    /// The key written as 64 hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Display for ActionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ActionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActionKey({self})")
    }
}
