//! Cuts the samples of a suite into parts, one for each of several machines.
//!
//! A part is decided by the sample's id alone, so every machine comes to the same cut without asking another. Where it is known what
//! samples cost, they are dealt out by that instead, the dearest first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use serde::Serialize;

/// A part of the samples that is evaluated alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Which one, from 1; none where only the cut is wanted.
    pub part: Option<u32>,
    /// How many there are, at least 1.
    pub of: u32,
    /// Sample → what it costs, in any unit; empty where that is not known.
    pub costs: Arc<BTreeMap<String, u64>>,
}

/// Which sample is in which part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleCut {
    /// Names the cut: it is the same wherever the same samples are cut alike.
    pub digest: String,
    /// The parts in order.
    pub parts: Vec<PartSize>,
    /// The part of each sample, from 0.
    pub part_of: Vec<u32>,
}

/// How much a part has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartSize {
    pub samples: usize,
    /// The sum of what its samples cost; 0 where that is not known.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub cost: u64,
}

/// How many hex digits name a cut.
const DIGITS: usize = 16;

impl SampleCut {
    /// The cut of the samples with these ids, in the order of the dataset.
    pub fn of(ids: &[String], partition: &Partition) -> Self {
        let Partition { of, costs, .. } = partition;
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"evalrs cut v1");
        hasher.update(&of.to_le_bytes());
        let usual = usual(costs);
        let weighed = ids.iter().map(|id| {
            let cost = costs.get(id).copied().unwrap_or(usual);
            hasher.update(&(id.len() as u64).to_le_bytes());
            hasher.update(id.as_bytes());
            hasher.update(&cost.to_le_bytes());
            cost
        });
        let weights: Vec<u64> = weighed.collect();
        let part_of = if costs.is_empty() {
            ids.iter().map(|id| by_hash(id, *of)).collect()
        } else {
            dealt(ids, &weights, *of)
        };
        let mut parts = vec![PartSize::default(); *of as usize];
        for (part, cost) in part_of.iter().zip(&weights) {
            let part = &mut parts[*part as usize];
            part.samples += 1;
            part.cost = part.cost.saturating_add(*cost);
        }
        let digest = hasher.finalize().to_hex()[..DIGITS].to_owned();
        Self { digest, parts, part_of }
    }
}

/// The cost of a sample that nobody knows: the middle one of those that are known.
fn usual(costs: &BTreeMap<String, u64>) -> u64 {
    let mut known: Vec<u64> = costs.values().copied().collect();
    known.sort_unstable();
    let middle = known.len().saturating_sub(1) / 2;
    known.get(middle).copied().unwrap_or(0)
}

fn hash(id: &str) -> u64 {
    let hash = blake3::hash(id.as_bytes());
    let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first)
}

/// The part of a sample by its id alone: a sample that is added later moves no other.
fn by_hash(id: &str, of: u32) -> u32 {
    ((u128::from(hash(id)) * u128::from(of)) >> 64) as u32
}

/// Deals the samples out, the dearest first, each to the part that has least so far.
fn dealt(ids: &[String], weights: &[u64], of: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_cached_key(|at| (Reverse(weights[*at]), hash(&ids[*at])));
    let mut parts: BinaryHeap<Reverse<(u64, usize, u32)>> =
        (0..of).map(|part| Reverse((0, 0, part))).collect();
    let mut part_of = vec![0; ids.len()];
    for at in order {
        let Some(mut least) = parts.peek_mut() else { break };
        let Reverse((cost, samples, part)) = &mut *least;
        *cost = cost.saturating_add(weights[at]);
        *samples += 1;
        part_of[at] = *part;
    }
    part_of
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::{Partition, SampleCut};

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("sample {at}")).collect()
    }

    fn partition(of: u32, costs: BTreeMap<String, u64>) -> Partition {
        Partition { part: None, of, costs: Arc::new(costs) }
    }

    #[test]
    fn every_sample_is_in_the_part_that_its_id_decides() {
        let seven = partition(7, BTreeMap::new());
        let all = ids(7_000);
        let cut = SampleCut::of(&all, &seven);
        assert!(
            cut.parts.iter().all(|part| (900..1_100).contains(&part.samples)),
            "{:?}",
            cut.parts
        );
        assert_eq!(cut.parts.iter().map(|part| part.samples).sum::<usize>(), 7_000);
        // Other samples move none, and their order is none of its business.
        let fewer = SampleCut::of(&all[..10], &seven);
        assert_eq!(fewer.part_of, cut.part_of[..10]);
        assert_ne!(fewer.digest, cut.digest);
        assert_ne!(SampleCut::of(&all, &partition(6, BTreeMap::new())).digest, cut.digest);
        assert_eq!(SampleCut::of(&all, &Partition { part: Some(3), ..seven }), cut);
        assert_eq!(cut.digest.len(), 16);
    }

    #[test]
    fn the_parts_of_samples_with_costs_cost_the_same() {
        let all = ids(1_000);
        let costs: BTreeMap<String, u64> =
            all.iter().enumerate().map(|(at, id)| (id.clone(), (at as u64 % 97).pow(2))).collect();
        let cut = SampleCut::of(&all, &partition(4, costs.clone()));
        let parts: Vec<u64> = cut.parts.iter().map(|part| part.cost).collect();
        let [least, most] = [parts.iter().min().unwrap(), parts.iter().max().unwrap()];
        assert!(most - least <= 1, "{parts:?}");
        // One that costs as much as all others has a part of its own, whatever nobody knows of the rest.
        let dear = BTreeMap::from([("sample 5".to_owned(), 1_000_000), ("sample 6".to_owned(), 1)]);
        let few = ids(9);
        let cut = SampleCut::of(&few, &partition(2, dear));
        let alone = cut.part_of[5] as usize;
        assert_eq!(cut.parts[alone].samples, 1, "{:?}", cut.parts);
        // The costs are part of what names the cut.
        assert_ne!(
            SampleCut::of(&all, &partition(4, costs)).digest,
            SampleCut::of(&all, &partition(4, BTreeMap::new())).digest
        );
    }

    #[test]
    fn samples_that_cost_nothing_are_dealt_out_too() {
        let all = ids(10);
        let free = all.iter().map(|id| (id.clone(), 0)).collect();
        let cut = SampleCut::of(&all, &partition(5, free));
        assert!(cut.parts.iter().all(|part| part.samples == 2), "{:?}", cut.parts);
        let nobody = SampleCut::of(&[], &partition(3, BTreeMap::new()));
        assert_eq!(nobody.parts.len(), 3);
    }
}
