//! Outcomes as an object: their lines, packed, named by the digest of the bytes.

use evalrs_store::{Entry, render};

use crate::head::{MOST_UNPACKED, SegmentName, sha256};

/// The bytes of lines that one object stands for: packed, a few megabytes.
const UNPACKED: usize = 48 << 20;
/// An object with fewer bytes, and fewer of lines, is small: many of them become one. Rationales that repeat themselves make few
/// bytes of many lines, and a full object of those is not written again.
const SMALL: u64 = 4 << 20;
const SMALL_UNPACKED: u64 = UNPACKED as u64 / 2;
/// How hard they are packed.
const LEVEL: i32 = 3;

/// An object to be written.
pub struct SealedSegment {
    pub name: SegmentName,
    pub bytes: Vec<u8>,
    /// The lines that it stands for.
    pub lines: Vec<u8>,
}

/// Makes objects of outcomes that come one after the other.
#[derive(Default)]
pub struct Sealer {
    lines: Vec<u8>,
    outcomes: u64,
}

impl Sealer {
    /// Takes an outcome. Gives an object where the ones before fill it.
    pub fn add(&mut self, entry: &Entry) -> Result<Option<SealedSegment>, String> {
        let line = render(entry).map_err(|error| error.to_string())?;
        let is_full = !self.lines.is_empty() && self.lines.len() + line.len() > UNPACKED;
        let full = if is_full { self.finish()? } else { None };
        self.lines.extend_from_slice(line.as_bytes());
        self.outcomes += 1;
        Ok(full)
    }

    /// The object of what was taken last; none where nothing was.
    pub fn finish(&mut self) -> Result<Option<SealedSegment>, String> {
        let Self { lines, outcomes } = std::mem::take(self);
        if lines.is_empty() { Ok(None) } else { packed(lines, outcomes).map(Some) }
    }
}

/// Whether an object is one of those that become one.
pub fn is_small(name: &SegmentName) -> bool {
    name.bytes < SMALL && name.unpacked < SMALL_UNPACKED
}

fn packed(lines: Vec<u8>, outcomes: u64) -> Result<SealedSegment, String> {
    let bytes = zstd::bulk::compress(&lines, LEVEL).map_err(|error| error.to_string())?;
    let name = SegmentName {
        sha256: sha256(&bytes),
        bytes: bytes.len() as u64,
        unpacked: lines.len() as u64,
        outcomes,
    };
    Ok(SealedSegment { name, bytes, lines })
}

/// The lines of an object; says what is wrong with it.
pub fn unsealed(name: &SegmentName, bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.len() as u64 != name.bytes {
        return Err(format!("it has {} bytes, and its log says {}", bytes.len(), name.bytes));
    }
    if sha256(bytes) != name.sha256 {
        return Err("its bytes are not those that its log names".to_owned());
    }
    let most = usize::try_from(name.unpacked.min(MOST_UNPACKED)).unwrap_or(usize::MAX);
    let lines = zstd::bulk::decompress(bytes, most);
    let lines =
        lines.map_err(|error| format!("it cannot be unpacked into {most} bytes: {error}"))?;
    if lines.len() as u64 != name.unpacked {
        return Err(format!(
            "it stands for {} bytes, and its log says {}",
            lines.len(),
            name.unpacked
        ));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::{SealedSegment, Sealer, is_small, unsealed};
    use crate::head::{SegmentName, sha256};
    use evalrs_model::key::ActionKey;
    use evalrs_store::Entry;

    fn seal(entries: &[Entry]) -> Vec<SealedSegment> {
        let mut sealer = Sealer::default();
        let full = entries.iter().filter_map(|entry| sealer.add(entry).unwrap());
        let mut sealed: Vec<SealedSegment> = full.collect();
        sealed.extend(sealer.finish().unwrap());
        sealed
    }

    fn entries(count: u8) -> Vec<Entry> {
        let entry = |number| Entry {
            key: ActionKey([number; 32]),
            generation: 0,
            body: "{\"a\":1}".to_owned(),
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn outcomes_are_unsealed_as_they_were_sealed() {
        let sealed = seal(&entries(9));
        let [one] = sealed.as_slice() else { panic!("one object") };
        assert_eq!(one.name.outcomes, 9);
        assert_eq!(unsealed(&one.name, &one.bytes).as_ref(), Ok(&one.lines));
        assert!(seal(&[]).is_empty());
        // The same outcomes give the same object.
        assert_eq!(seal(&entries(9))[0].name, one.name);
    }

    #[test]
    fn a_full_object_is_not_small_however_well_it_is_packed() {
        let entries = (0..=u8::MAX).map(|number| Entry {
            key: ActionKey([number; 32]),
            generation: 0,
            body: format!("{{\"a\":\"{}\"}}", "word ".repeat(50_000)),
        });
        let sealed = seal(&entries.collect::<Vec<_>>());
        let [full, last] = sealed.as_slice() else { panic!("two objects") };
        assert!(full.name.bytes < 1 << 20 && !is_small(&full.name), "{:?}", full.name);
        assert!(is_small(&last.name), "{:?}", last.name);
    }

    #[test]
    fn an_object_is_what_its_log_says_or_nothing() {
        let one = seal(&entries(9)).remove(0);
        let mut other = one.bytes.clone();
        let middle = other.len() / 2;
        other[middle] ^= 1;
        assert!(unsealed(&one.name, &other).is_err());
        assert!(unsealed(&one.name, &one.bytes[1..]).is_err());
        let claims = |unpacked| SegmentName { unpacked, ..one.name.clone() };
        assert!(unsealed(&claims(1), &one.bytes).is_err());
        assert!(unsealed(&claims(one.name.unpacked + 1), &one.bytes).is_err());
        // A bomb: a few bytes that stand for many.
        let bomb = zstd::bulk::compress(&vec![0; 100 << 20], 3).unwrap();
        let name = SegmentName {
            sha256: sha256(&bomb),
            bytes: bomb.len() as u64,
            unpacked: 1 << 20,
            outcomes: 1,
        };
        assert!(unsealed(&name, &bomb).is_err());
    }
}
