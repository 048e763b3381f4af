//! Keys of actions: content addresses that an action's ingredients are hashed to.
//!
//! The key is one walk over an action's ingredients: [`Ingredients`] has an implementation that hashes
//! and one that explains, so what `explain` shows can never drift from what is hashed. A change in what an
//! ingredient means must raise `KEY_VERSION`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// The domain of every key, with [`KEY_VERSION`] at its end.
pub const KEY_CONTEXT: &str = "evalrs action v3";

/// Raised when keys change their meaning.
pub const KEY_VERSION: u32 = 3;

/// The longest ingredient that is kept as it is, in characters; longer ones are kept as digest and preview.
const PREVIEW: usize = 200;

/// The domain of the keys before those.
const SUPERSEDED_CONTEXT: &str = "evalrs action v2";

/// The keys of which version are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyVersion {
    /// Those of this version of evalrs.
    Current,
    /// Those of the version before: what is stored under them is not replayed.
    Superseded,
}

impl KeyVersion {
    /// The version with this number, if its keys can be made.
    pub(crate) fn numbered(number: u32) -> Option<Self> {
        match number {
            KEY_VERSION => Some(Self::Current),
            2 => Some(Self::Superseded),
            _ => None,
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

/// The key of what `walk` visits.
pub fn hashed(walk: impl FnOnce(&mut dyn Ingredients)) -> ActionKey {
    KeyHasher::of(KeyVersion::Current).key_of(walk)
}

/// The key of what `walk` visits in the version before.
pub fn hashed_before(walk: impl FnOnce(&mut dyn Ingredients)) -> ActionKey {
    KeyHasher::of(KeyVersion::Superseded).key_of(walk)
}

/// What `walk` visits, for people.
pub fn explained(walk: impl FnOnce(&mut dyn Ingredients)) -> Vec<Ingredient> {
    let mut explanation = IngredientList(Vec::new());
    walk(&mut explanation);
    explanation.0
}

/// The whole texts of those ingredients that hold the beginning of one, by name.
pub fn long_texts(walk: impl FnOnce(&mut dyn Ingredients)) -> Vec<(&'static str, String)> {
    let mut long = LongTexts(Vec::new());
    walk(&mut long);
    long.0
}

/// A key of which most ingredients are known: what many actions have in common is put into bytes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTemplate {
    open: Vec<OpenIngredient>,
    /// What is hashed after the last of them.
    rest: Vec<u8>,
}

/// An ingredient that each key has its own of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenIngredient {
    /// What is hashed before it.
    before: Vec<u8>,
    name: &'static str,
}

impl KeyTemplate {
    /// The keys of what `walk` visits, but for the ingredients with the names in `open`.
    pub fn new(open: &[&str], walk: impl FnOnce(&mut dyn Ingredients)) -> Self {
        let mut recorder =
            TemplateRecorder { wanted: open, open: Vec::new(), fields: KeyFields(Vec::new()) };
        walk(&mut recorder);
        Self { open: recorder.open, rest: recorder.fields.0 }
    }

    /// The key for which `fill` visits each of the open ingredients, in the order of the walk.
    pub fn key(&self, fill: &dyn Fn(&'static str, &mut dyn Ingredients)) -> ActionKey {
        let mut hasher = KeyHasher::of(KeyVersion::Current);
        for OpenIngredient { before, name } in &self.open {
            hasher.0.put(before);
            fill(name, &mut hasher);
        }
        hasher.0.put(&self.rest);
        hasher.finish()
    }
}

/// Writes down a walk for a [`KeyTemplate`].
struct TemplateRecorder<'a> {
    wanted: &'a [&'a str],
    open: Vec<OpenIngredient>,
    fields: KeyFields<Vec<u8>>,
}

impl TemplateRecorder<'_> {
    /// Leaves an ingredient open, if it is one of those.
    fn leave_open(&mut self, name: &'static str) -> bool {
        let is_open = self.wanted.contains(&name);
        if is_open {
            let before = std::mem::take(&mut self.fields.0);
            self.open.push(OpenIngredient { before, name });
        }
        is_open
    }
}

impl Ingredients for TemplateRecorder<'_> {
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>) {
        if !self.leave_open(name) {
            self.fields.text_or_absent(name, value);
        }
    }

    fn number_or_absent(&mut self, name: &'static str, value: Option<f64>) {
        if !self.leave_open(name) {
            self.fields.number_or_absent(name, value);
        }
    }
}

/// Takes the bytes of a key.
trait KeySink {
    fn put(&mut self, bytes: &[u8]);
}

impl KeySink for blake3::Hasher {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

impl KeySink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// The ingredients of a key as bytes.
struct KeyFields<S>(S);

type KeyHasher = KeyFields<blake3::Hasher>;

impl KeyHasher {
    fn of(version: KeyVersion) -> Self {
        let context = match version {
            KeyVersion::Current => KEY_CONTEXT,
            KeyVersion::Superseded => SUPERSEDED_CONTEXT,
        };
        Self(blake3::Hasher::new_derive_key(context))
    }

    fn key_of(mut self, walk: impl FnOnce(&mut dyn Ingredients)) -> ActionKey {
        walk(&mut self);
        self.finish()
    }

    fn finish(&self) -> ActionKey {
        ActionKey(*self.0.finalize().as_bytes())
    }
}

impl<S: KeySink> KeyFields<S> {
    /// Tag, name and value, each with its length before it: no two walks have the same bytes.
    fn field(&mut self, tag: u8, name: &str, value: &[u8]) {
        self.0.put(&[tag]);
        self.0.put(&(name.len() as u64).to_le_bytes());
        self.0.put(name.as_bytes());
        self.0.put(&(value.len() as u64).to_le_bytes());
        self.0.put(value);
    }

    fn absent(&mut self, name: &str) {
        self.field(0, name, &[]);
    }

    fn text(&mut self, name: &str, text: &str) {
        match end_of_preview(text) {
            None => self.field(1, name, text.as_bytes()),
            Some(_) => self.digest(name, &blake3::hash(text.as_bytes())),
        }
    }

    fn digest(&mut self, name: &str, digest: &blake3::Hash) {
        self.field(3, name, digest.as_bytes());
    }

    fn number(&mut self, name: &str, number: f64) {
        // Both zeros are one number.
        self.field(2, name, &(number + 0.0).to_bits().to_le_bytes());
    }
}

impl<S: KeySink> Ingredients for KeyFields<S> {
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>) {
        match value {
            None => self.absent(name),
            Some(text) => Self::text(self, name, text),
        }
    }

    fn number_or_absent(&mut self, name: &'static str, value: Option<f64>) {
        match value {
            None => self.absent(name),
            Some(number) => Self::number(self, name, number),
        }
    }
}

/// Where the preview of a text ends, if the text is longer.
fn end_of_preview(text: &str) -> Option<usize> {
    text.char_indices().nth(PREVIEW).map(|(at, _)| at)
}

/// The key that is made of these ingredients, as they are kept beside an outcome. None if they are no such
/// ingredients.
pub fn key_of(ingredients: &[Ingredient], version: KeyVersion) -> Option<ActionKey> {
    let mut hasher = KeyHasher::of(version);
    for Ingredient { name, preview, digest, number } in ingredients {
        match (preview, digest) {
            (None, _) => hasher.absent(name),
            (Some(_), Some(digest)) => {
                hasher.digest(name, &blake3::Hash::from_hex(digest).ok()?);
            }
            (Some(text), None) if *number => hasher.number(name, text.parse().ok()?),
            (Some(text), None) if end_of_preview(text).is_none() => hasher.text(name, text),
            (Some(_), None) => return None,
        }
    }
    (!ingredients.is_empty()).then(|| hasher.finish())
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
    /// Whether the text denotes a number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub number: bool,
}

struct IngredientList(Vec<Ingredient>);

impl Ingredients for IngredientList {
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>) {
        let end = value.and_then(end_of_preview);
        let digest = end.and(value).map(|text| blake3::hash(text.as_bytes()).to_hex().to_string());
        let preview = value.map(|text| text[..end.unwrap_or(text.len())].to_owned());
        self.0.push(Ingredient { name: name.to_owned(), preview, digest, number: false });
    }

    fn number_or_absent(&mut self, name: &'static str, value: Option<f64>) {
        let preview = value.map(|number| (number + 0.0).to_string());
        self.0.push(Ingredient { name: name.to_owned(), preview, digest: None, number: true });
    }
}

/// The texts of which an ingredient holds the beginning alone.
struct LongTexts(Vec<(&'static str, String)>);

impl Ingredients for LongTexts {
    fn text_or_absent(&mut self, name: &'static str, value: Option<&str>) {
        let long = value.filter(|text| end_of_preview(text).is_some());
        self.0.extend(long.map(|text| (name, text.to_owned())));
    }

    fn number_or_absent(&mut self, _name: &'static str, _value: Option<f64>) {}
}

/// The content address of an action: a blake3 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActionKey(pub [u8; 32]);

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Ingredients, KeyTemplate, hashed};

    #[test]
    fn a_template_that_is_filled_has_the_key_of_the_whole_walk() {
        let long = "x".repeat(300);
        let walk = |a: Option<&str>, b: f64, to: &mut dyn Ingredients| {
            to.text("first", &long);
            to.text_or_absent("a", a);
            to.number("n", -0.0);
            to.number("b", b);
            to.text_or_absent("last", None);
        };
        for open in [&["a", "b"][..], &["first"], &["last"], &["first", "a", "n", "b", "last"], &[]]
        {
            let template = KeyTemplate::new(open, |to| walk(None, 7.0, to));
            for (a, b) in [(None, 0.0), (Some(""), 1.0), (Some(&*long), -1.5)] {
                // What is not open is as in the template.
                let kept_a = if open.contains(&"a") { a } else { None };
                let kept_b = if open.contains(&"b") { b } else { 7.0 };
                let key = template.key(&|name, to| match name {
                    "first" => to.text(name, &long),
                    "a" => to.text_or_absent(name, a),
                    "n" => to.number(name, 0.0),
                    "b" => to.number(name, b),
                    _ => to.text_or_absent(name, None),
                });
                assert_eq!(key, hashed(|to| walk(kept_a, kept_b, to)), "{open:?} {a:?} {b}");
            }
        }
    }

    #[test]
    fn absent_empty_zero_and_text_of_a_number_are_four_things() {
        let walks: [fn(&mut dyn Ingredients); 6] = [
            |to| to.text_or_absent("x", None),
            |to| to.text("x", ""),
            |to| to.text("x", "0"),
            |to| to.number("x", 0.0),
            |to| to.text("x", "\0\0\0\0\0\0\0\0"),
            |to| to.text("y", ""),
        ];
        let keys: BTreeSet<_> = walks.map(|walk| hashed(walk)).into_iter().collect();
        assert_eq!(keys.len(), walks.len());
    }
}
