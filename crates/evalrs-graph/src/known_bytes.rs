//! What is known of a chunk, as bytes: scores and actions of a fixed width, little-endian, so that they are read where they
//! stand. The rest is written by `postcard`.

use serde::{Deserialize, Serialize, Serializer};

use super::outcomes::ArchivedReply;
use evalrs_base::price::Cost;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{ServiceTier, Usage};

/// The bytes of a score: itself (8), what is known of it (1).
pub(crate) const SCORE: usize = 9;
/// The bytes of an action: its key (32), the digests of its reply (8 and 16), its model (2), what is known of its usage (1), its
/// tier (1), tokens (4 times 4), cost (8).
pub(crate) const ACTION: usize = 84;
/// The bytes of a key, and of the digest of a question.
pub(crate) const DIGEST: usize = 32;

/// The model of a reply that names none.
const NO_MODEL: u16 = u16::MAX;

/// A chunk in the form in which it is written.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChunkParts<'a> {
    pub scope: u128,
    pub needs: Option<u128>,
    pub unlabelled: Option<u128>,
    pub cases: usize,
    /// Who they are, by `postcard`.
    #[serde(borrow, serialize_with = "as_bytes")]
    pub whos: &'a [u8],
    /// The digest of what each asks, one after the other.
    #[serde(borrow, serialize_with = "as_bytes")]
    pub questions: &'a [u8],
    #[serde(borrow)]
    pub grades: Vec<GradeParts<'a>>,
}

/// The grades of a chunk by one grader in the form in which they are written.
#[derive(Serialize, Deserialize)]
pub(crate) struct GradeParts<'a> {
    pub scope: u128,
    pub models: Vec<String>,
    /// One after the other.
    #[serde(borrow, serialize_with = "as_bytes")]
    pub scores: &'a [u8],
    /// One after the other.
    #[serde(borrow, serialize_with = "as_bytes")]
    pub actions: &'a [u8],
}

fn as_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

impl<'a> ChunkParts<'a> {
    /// None if the bytes are of another form.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let parts: Self = postcard::from_bytes(bytes).ok()?;
        let has_all = |grades: &GradeParts<'_>| {
            grades.scores.len() == parts.cases * SCORE
                && grades.actions.len().is_multiple_of(ACTION)
        };
        let is_asked = parts.questions.is_empty() || parts.questions.len() == parts.cases * DIGEST;
        (is_asked && parts.grades.iter().all(has_all)).then_some(parts)
    }

    pub(crate) fn written(&self) -> Vec<u8> {
        // Nothing of it can fail: it is written to memory.
        postcard::to_allocvec(self).unwrap_or_default()
    }
}

/// A score before the threshold decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KnownScore {
    pub score: f64,
    /// Whether it passes, where the grader says so itself.
    pub pass: Option<bool>,
    /// Whether the grader has something to say of the case.
    pub applies: bool,
    /// Whether it may say that there was nothing to grade.
    pub of_nothing: bool,
}

/// An action that a grade rests on, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownReply {
    pub(crate) key: [u8; 32],
    pub(crate) reply: ArchivedReply,
    pub(crate) usage: Option<KnownUsage>,
    /// The place of the model that replied, among those of the grades.
    pub(crate) model: Option<u16>,
}

/// The same as [`Usage`], in few bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KnownUsage {
    /// Input, output, read from a cache, written to one.
    pub tokens: [u32; 4],
    pub cost: Option<u64>,
    pub told: bool,
    pub tier: Option<ServiceTier>,
}

impl KnownUsage {
    /// None of one that has too many tokens for it.
    pub(crate) fn of(usage: Usage) -> Option<Self> {
        let Usage { input, output, cache_read, cache_write, cost, told, tier } = usage;
        let [input, output, read, write] =
            [input, output, cache_read, cache_write].map(|tokens| u32::try_from(tokens).ok());
        let tokens = [input?, output?, read?, write?];
        Some(Self { tokens, cost: cost.map(Cost::nanos), told, tier })
    }

    fn usage(self) -> Usage {
        let Self { tokens, cost, told, tier } = self;
        let [input, output, cache_read, cache_write] = tokens.map(u64::from);
        let cost = cost.map(Cost::from_nanos);
        Usage { input, output, cache_read, cache_write, cost, told, tier }
    }
}

impl KnownReply {
    /// Its key.
    pub fn key(&self) -> ActionKey {
        ActionKey(self.key)
    }

    /// The digests of its reply.
    pub fn reply(&self) -> ArchivedReply {
        self.reply
    }

    /// What it used, if that is known.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.map(KnownUsage::usage)
    }
}

/// What there is of a value that may be absent, or one of two.
const HAS_PASS: u8 = 1;
const PASSES: u8 = 2;
const APPLIES: u8 = 4;
const OF_NOTHING: u8 = 8;

impl KnownScore {
    pub(crate) fn write(self, to: &mut Vec<u8>) {
        let Self { score, pass, applies, of_nothing } = self;
        to.extend_from_slice(&score.to_le_bytes());
        to.push(flags(&[
            (HAS_PASS, pass.is_some()),
            (PASSES, pass == Some(true)),
            (APPLIES, applies),
            (OF_NOTHING, of_nothing),
        ]));
    }

    pub(crate) fn read(bytes: &[u8; SCORE]) -> Self {
        let [score @ .., known] = *bytes;
        let has = |flag: u8| known & flag != 0;
        Self {
            score: f64::from_le_bytes(score),
            pass: has(HAS_PASS).then(|| has(PASSES)),
            applies: has(APPLIES),
            of_nothing: has(OF_NOTHING),
        }
    }
}

const HAS_USAGE: u8 = 1;
const HAS_COST: u8 = 2;
const TOLD: u8 = 4;

/// Tier → its number, from 1; 0 is none.
const TIERS: [ServiceTier; 6] = [
    ServiceTier::Standard,
    ServiceTier::Flex,
    ServiceTier::Priority,
    ServiceTier::Batch,
    ServiceTier::Mixed,
    ServiceTier::Other,
];

impl KnownReply {
    pub(crate) fn write(self, to: &mut Vec<u8>) {
        let Self { key, reply: ArchivedReply { text, whole }, usage, model } = self;
        let unknown = KnownUsage { tokens: [0; 4], cost: None, told: false, tier: None };
        let KnownUsage { tokens, cost, told, tier } = usage.unwrap_or(unknown);
        let tier = tier.and_then(|tier| TIERS.iter().position(|other| *other == tier));
        to.extend_from_slice(&key);
        to.extend_from_slice(&text.to_le_bytes());
        to.extend_from_slice(&whole.to_le_bytes());
        to.extend_from_slice(&model.unwrap_or(NO_MODEL).to_le_bytes());
        to.push(flags(&[(HAS_USAGE, usage.is_some()), (HAS_COST, cost.is_some()), (TOLD, told)]));
        to.push(tier.map_or(0, |at| at as u8 + 1));
        for count in tokens {
            to.extend_from_slice(&count.to_le_bytes());
        }
        to.extend_from_slice(&cost.unwrap_or_default().to_le_bytes());
    }

    pub(crate) fn read(bytes: &[u8; ACTION]) -> Self {
        let mut rest = &bytes[..];
        let key = take(&mut rest);
        let text = u64::from_le_bytes(take(&mut rest));
        let whole = u128::from_le_bytes(take(&mut rest));
        let model = u16::from_le_bytes(take(&mut rest));
        let [known, tier] = take(&mut rest);
        let tokens = [(); 4].map(|()| u32::from_le_bytes(take(&mut rest)));
        let cost = u64::from_le_bytes(take(&mut rest));
        let has = |flag: u8| known & flag != 0;
        let usage = KnownUsage {
            tokens,
            cost: has(HAS_COST).then_some(cost),
            told: has(TOLD),
            tier: usize::from(tier).checked_sub(1).and_then(|at| TIERS.get(at).copied()),
        };
        Self {
            key,
            reply: ArchivedReply { text, whole },
            usage: has(HAS_USAGE).then_some(usage),
            model: (model != NO_MODEL).then_some(model),
        }
    }

    pub(crate) fn read_key(bytes: &[u8; ACTION]) -> ActionKey {
        ActionKey(take(&mut &bytes[..]))
    }
}

/// The next bytes of an action: there are as many as [`ACTION`] says.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let Some((first, others)) = rest.split_first_chunk() else { return [0; N] };
    *rest = others;
    *first
}

fn flags(all: &[(u8, bool)]) -> u8 {
    all.iter().filter(|(_, is_set)| *is_set).fold(0, |set, (flag, _)| set | flag)
}

#[cfg(test)]
mod tests {
    use super::{ACTION, KnownReply, KnownScore, KnownUsage, SCORE, TIERS};
    use crate::outcomes::ArchivedReply;

    #[test]
    fn a_score_is_read_as_it_was_written() {
        for pass in [None, Some(false), Some(true)] {
            for [applies, of_nothing] in [[false, false], [true, false], [false, true]] {
                let score = KnownScore { score: 0.1, pass, applies, of_nothing };
                let mut bytes = Vec::new();
                score.write(&mut bytes);
                let bytes: [u8; SCORE] = bytes.try_into().unwrap();
                assert_eq!(KnownScore::read(&bytes), score);
            }
        }
    }

    #[test]
    fn an_action_is_read_as_it_was_written() {
        let reply = ArchivedReply { text: u64::MAX - 1, whole: u128::MAX - 2 };
        let least = KnownReply { key: [7; 32], reply, usage: None, model: None };
        let tiers = TIERS.into_iter().map(Some).chain([None]);
        let usages = tiers.map(|tier| KnownUsage {
            tokens: [1, u32::MAX, 3, 4],
            cost: tier.map(|_| u64::MAX),
            told: tier.is_none(),
            tier,
        });
        let all = usages.map(|usage| KnownReply { usage: Some(usage), model: Some(3), ..least });
        for action in all.chain([least]) {
            let mut bytes = Vec::new();
            action.write(&mut bytes);
            let bytes: [u8; ACTION] = bytes.try_into().unwrap();
            assert_eq!(KnownReply::read(&bytes), action);
            assert_eq!(KnownReply::read_key(&bytes), action.key());
        }
    }
}
