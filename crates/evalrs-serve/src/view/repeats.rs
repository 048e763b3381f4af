//! Takes repeats out of bytes, however far apart they are.
//!
//! Deflate looks back 32 KiB, which is one or two conversations: instructions, tools and prompts that are those of all cases are
//! further apart. What is taken out makes a pack of cases a third to a half smaller. The viewer puts it back.
//!
//! The form: a zero, which begins no JSON; the length of the whole; the length of what counts; what counts, again and again how many
//! bytes are fresh, how long a repeat follows and how far back it is; last the fresh bytes. Numbers have seven bits a byte, the lowest
//! first, all but the last byte with the eighth.

/// The bytes by which a repeat is found.
const SEED: usize = 32;
/// The shortest repeat that is taken out.
const SHORTEST: usize = 48;
/// One place in this many is remembered.
const STEP: usize = 4;
/// The logarithm of how many are.
const PLACES: u32 = 18;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A repeat of earlier bytes.
#[derive(Clone, Copy)]
struct RepeatedBytes {
    start: usize,
    /// Where the same bytes are, all of them before `start`.
    earlier: usize,
    length: usize,
}

/// The bytes without repeats, in the form above.
pub(super) fn without_repeats(bytes: &[u8]) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut fresh = Vec::new();
    let mut end = 0;
    each_repeat(bytes, &mut |repeat| {
        fresh.extend_from_slice(&bytes[end..repeat.start]);
        for number in [repeat.start - end, repeat.length, repeat.start - repeat.earlier] {
            put(number, &mut counts);
        }
        end = repeat.start + repeat.length;
    });
    put(bytes.len() - end, &mut counts);
    fresh.extend_from_slice(&bytes[end..]);
    let mut packed = vec![0];
    put(bytes.len(), &mut packed);
    put(counts.len(), &mut packed);
    packed.extend(counts);
    packed.extend(fresh);
    packed
}

/// Visits repeats in their order; none begins before the one before it ends.
fn each_repeat(bytes: &[u8], visit: &mut dyn FnMut(RepeatedBytes)) {
    let highest = FACTOR.wrapping_pow(SEED as u32 - 1);
    let mut places = vec![u32::MAX; 1 << PLACES];
    let mut end = 0;
    let mut at = 0;
    let mut hash = seed_hash(bytes);
    while at + SEED <= bytes.len() {
        let place = &mut places[(hash.wrapping_mul(FACTOR) >> (u64::BITS - PLACES)) as usize];
        let earlier = *place as usize;
        if at.is_multiple_of(STEP) {
            *place = at as u32;
        }
        if let Some(repeat) = (earlier < at).then(|| repeat(bytes, earlier, at, end)).flatten() {
            visit(repeat);
            end = repeat.start + repeat.length;
            at = end;
            hash = seed_hash(&bytes[at..]);
            continue;
        }
        if let Some(next) = bytes.get(at + SEED) {
            let gone = u64::from(bytes[at]).wrapping_mul(highest);
            hash = hash.wrapping_sub(gone).wrapping_mul(FACTOR).wrapping_add(u64::from(*next));
        }
        at += 1;
    }
}

/// The repeat at `at` of what is at `earlier`, as long as it can be without what is before `end`.
fn repeat(bytes: &[u8], earlier: usize, at: usize, end: usize) -> Option<RepeatedBytes> {
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    // What is found again nearer than that leaves no room for the seed, wherever the repeat begins.
    let room = (at - earlier).checked_sub(SEED)?;
    let back = bytes[end..at].iter().rev().zip(bytes[..earlier].iter().rev()).take(room);
    let before = back.take_while(same).count();
    let start = at - before;
    // The earlier bytes end where the repeat begins, so that they are whole when it is put back.
    let ahead = bytes[at..].iter().zip(bytes[earlier..].iter().take(start.saturating_sub(earlier)));
    let after = ahead.take_while(same).count();
    let length = before + after;
    let is_long = after >= SEED && length >= SHORTEST;
    is_long.then_some(RepeatedBytes { start, earlier: earlier - before, length })
}

fn seed_hash(bytes: &[u8]) -> u64 {
    let seed = bytes.iter().take(SEED);
    seed.fold(0, |hash: u64, byte| hash.wrapping_mul(FACTOR).wrapping_add(u64::from(*byte)))
}

fn put(mut number: usize, out: &mut Vec<u8>) {
    while number > 127 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::without_repeats;

    fn number(bytes: &mut &[u8]) -> usize {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            number |= usize::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        number
    }

    /// What the viewer makes of it.
    fn whole(packed: &[u8]) -> Vec<u8> {
        assert_eq!(packed[0], 0);
        let mut counts = &packed[1..];
        let length = number(&mut counts);
        let counted = number(&mut counts);
        let mut fresh = &counts[counted..];
        let mut bytes = Vec::new();
        loop {
            let count = number(&mut counts);
            bytes.extend_from_slice(&fresh[..count]);
            fresh = &fresh[count..];
            if bytes.len() == length {
                break;
            }
            let count = number(&mut counts);
            let from = bytes.len() - number(&mut counts);
            assert!(from + count <= bytes.len());
            bytes.extend_from_within(from..from + count);
            if bytes.len() == length {
                assert_eq!(number(&mut counts), 0);
                break;
            }
        }
        assert!(fresh.is_empty());
        bytes
    }

    #[test]
    fn repeats_that_are_far_apart_are_kept_once() {
        let part = (0..6000_u32).map(|at| at.wrapping_mul(2_654_435_761) as u8).collect::<Vec<_>>();
        let other = (0..70_000_u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect::<Vec<_>>();
        let bytes = [&part[..], &other, &part, &part[1..], b"end"].concat();
        let packed = without_repeats(&bytes);
        assert_eq!(whole(&packed), bytes);
        assert!(packed.len() < part.len() + other.len() + 40, "{}", packed.len());
        for bytes in [&b""[..], b"[", &[7; 31], &[7; 32], &[7; 100], &[7; 5000]] {
            assert_eq!(whole(&without_repeats(bytes)), bytes);
        }
    }

    #[test]
    fn what_repeats_all_along_takes_no_longer() {
        // Were each place compared with all before it, this would take hours.
        for period in [1, 10, 31, 32, 33, 47, 4000] {
            let bytes: Vec<u8> = (0..1_000_000).map(|at| (at % period) as u8).collect();
            assert_eq!(whole(&without_repeats(&bytes)), bytes);
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_out_can_be_put_back(parts in prop::collection::vec((0..5_u8, 1..90_usize), 0..60)) {
            let bytes: Vec<u8> = parts.iter().flat_map(|(byte, count)| (0..*count).map(move |at| byte * 50 + (at / 7) as u8)).collect();
            prop_assert_eq!(whole(&without_repeats(&bytes)), bytes);
        }
    }
}
