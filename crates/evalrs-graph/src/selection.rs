//! Which cases are evaluated, and who they are among all: a fold over every chunk's identities.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_128;

use evalrs_eval::dataset::row::RowId;
use evalrs_model::cut::{Partition, SampleCut};
use evalrs_model::delta::CaseId;

/// Who a case is; ids that come from content already filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectableCase {
    /// What the row says.
    pub identity: RowId,
    /// The digest of what the sample is, where the row has no id.
    pub content_id: Option<Box<str>>,
}

impl SelectableCase {
    /// The id before an occurrence is added.
    pub fn id(&self) -> &str {
        self.identity.id.as_deref().or(self.content_id.as_deref()).unwrap_or_default()
    }

    /// Identifies sample, model and trial together within this process.
    pub fn case(&self) -> u128 {
        let model = self.identity.model.as_deref();
        let is_named = if model.is_some() { "m" } else { "" };
        hash(&[self.id(), is_named, model.unwrap_or_default()], self.identity.trial)
    }
}

/// A case among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseOrdinals {
    /// Which of several identical rows without ids it is, from 1.
    pub occurrence: u32,
    /// Its ordinals among the cases that are evaluated, if it is.
    pub selected: Option<SelectedOrdinals>,
}

/// A case among those that are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedOrdinals {
    /// The ordinal of its sample.
    pub sample: u32,
    /// The ordinal of its model.
    pub model: u32,
}

impl CaseOrdinals {
    /// Whether it is evaluated.
    pub fn is_in(self) -> bool {
        self.selected.is_some()
    }
}

/// Two cases that claim to be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The id they share.
    pub id: String,
    /// The ordinal of the first record, over the whole dataset.
    pub first: usize,
    /// The ordinal of the second.
    pub second: usize,
    /// The model and trial they share.
    pub model: Option<String>,
    /// The trial they share.
    pub trial: u32,
}

/// Which cases are evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The places of each chunk's cases, in the order of the chunks.
    pub places: Vec<Arc<[CaseOrdinals]>>,
    /// The models in order of appearance; `None` is a row that names none.
    pub models: Vec<Option<String>>,
    /// How many samples are evaluated.
    pub samples: usize,
    /// How many cases are evaluated.
    pub cases: usize,
    /// How many samples the dataset has.
    pub all_samples: usize,
    /// Cases that claim to be the same, at most 20.
    pub duplicates: Vec<Duplicate>,
    /// How the samples are cut into parts, if they are.
    pub cut: Option<Arc<SampleCut>>,
}

/// The samples of a block: they are neighbours, so that few chunks are read.
const BLOCK: usize = 64;

/// What narrows the evaluation down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Only the first N samples.
    pub max_samples: Option<usize>,
    /// Only samples with one of these tags.
    pub tags: Vec<String>,
    /// Only these samples.
    pub samples: Vec<String>,
    /// Only trials below it.
    pub trials: Option<u32>,
    /// Of this many blocks of samples, only the first; then of the next ones.
    pub one_in: Option<usize>,
    /// Results one record gives.
    pub cases_per_record: usize,
    /// The part of what is left that is evaluated, where it is cut into parts.
    pub partition: Option<Partition>,
}

/// Selects over the cases of every chunk, in order; for each, which of them the filter of the dataset leaves out: nothing
/// without a filter.
pub(crate) fn select(chunks: &[(&[SelectableCase], &[bool])], narrowing: &Narrowing) -> Selection {
    let cases = chunks.iter().map(|(whos, _)| whos.len()).sum();
    let mut selecting = SelectionFold::new(narrowing, cases);
    let mut record = 0;
    let mut places = Vec::new();
    for (whos, left_out) in chunks {
        let placed = whos.iter().enumerate().map(|(at, who)| {
            let record = record + at / narrowing.cases_per_record;
            match left_out.get(at) {
                Some(true) => selecting.leave_out(who, record),
                _ => selecting.place(who, record),
            }
        });
        places.push(placed.collect());
        record += whos.len() / narrowing.cases_per_record;
    }
    let selection = Selection { places, ..selecting.done };
    match &narrowing.partition {
        Some(partition) => cut(selection, &selecting.ids, partition),
        None => selection,
    }
}

/// The same with nothing but the samples of one part.
fn cut(selection: Selection, ids: &[String], partition: &Partition) -> Selection {
    let cut = Arc::new(SampleCut::of(ids, partition));
    let Some(part) = partition.part else {
        return Selection { cut: Some(cut), ..selection };
    };
    // Sample → its ordinal in the part.
    let mut samples = 0;
    let ordinals = cut.part_of.iter().map(|of| {
        let is_in = *of + 1 == part;
        samples += u32::from(is_in);
        is_in.then(|| samples - 1)
    });
    let ordinals: Vec<Option<u32>> = ordinals.collect();
    let mut cases = 0;
    // Model → its ordinal among those of the part.
    let mut models: Vec<Option<u32>> = vec![None; selection.models.len()];
    let mut names = Vec::new();
    let mut left = |place: CaseOrdinals| {
        let selected = place.selected.and_then(|selected| {
            let sample = (*ordinals.get(selected.sample as usize)?)?;
            let at = selected.model as usize;
            let model = *models.get_mut(at)?.get_or_insert_with(|| {
                names.push(selection.models[at].clone());
                names.len() as u32 - 1
            });
            cases += 1;
            Some(SelectedOrdinals { sample, model })
        });
        CaseOrdinals { selected, ..place }
    };
    let places =
        selection.places.iter().map(|chunk| chunk.iter().copied().map(&mut left).collect());
    let places = places.collect();
    Selection {
        places,
        models: names,
        samples: samples as usize,
        cases,
        cut: Some(cut),
        ..selection
    }
}

/// The state of the fold. Ids are compared by 128-bit hash: a table of texts would double the memory. The maps hash these once
/// more, with keys of their own, for whoever writes a dataset chooses its ids.
struct SelectionFold<'a> {
    narrowing: &'a Narrowing,
    samples: HashMap<u128, KnownSample>,
    /// Case → the record it was first seen in, and how often; but for plain cases.
    cases: HashMap<u128, SeenCase>,
    models: HashMap<Option<String>, u32>,
    /// The samples that are named.
    named: HashSet<&'a str>,
    /// How many samples are evaluated, with those that are left out for others in their block.
    wanted: usize,
    /// The names of the samples that are evaluated, where they are cut into parts.
    ids: Vec<String>,
    done: Selection,
}

/// What is known of a sample. Most samples have one case, which is plain: with it in here, that case needs no look of its own.
#[derive(Clone, Copy, Default)]
struct KnownSample {
    state: SampleState,
    /// Its case that names no model and is no further trial.
    plain: SeenCase,
}

#[derive(Clone, Copy, Default)]
enum SampleState {
    /// No trial of it is in so far.
    #[default]
    Undecided,
    Out,
    /// It is evaluated, and has this ordinal.
    In(u32),
}

/// The record that a case was first seen in, and how often it was seen.
#[derive(Clone, Copy, Default)]
struct SeenCase {
    first: u32,
    count: u32,
}

impl SeenCase {
    fn see(&mut self, record: usize) -> Self {
        if self.count == 0 {
            self.first = record as u32;
        }
        self.count += 1;
        *self
    }
}

impl<'a> SelectionFold<'a> {
    fn new(narrowing: &'a Narrowing, cases: usize) -> Self {
        Self {
            narrowing,
            samples: HashMap::with_capacity(cases),
            cases: HashMap::new(),
            models: HashMap::new(),
            named: narrowing.samples.iter().map(String::as_str).collect(),
            wanted: 0,
            ids: Vec::new(),
            done: Selection::default(),
        }
    }

    /// A case that does not count: it takes no id from another.
    fn leave_out(&mut self, who: &SelectableCase, record: usize) -> CaseOrdinals {
        match &who.identity.id {
            Some(id) => self.known(hash(&[id], 1)),
            None => self.known(hash(&["", "left out"], record as u32)),
        };
        CaseOrdinals { occurrence: 1, selected: None }
    }

    fn place(&mut self, who: &SelectableCase, record: usize) -> CaseOrdinals {
        let key = hash(&[who.id()], 1);
        let is_plain = who.identity.model.is_none() && who.identity.trial == 0;
        let seen = if is_plain {
            self.known(key).plain.see(record)
        } else {
            self.cases.entry(who.case()).or_default().see(record)
        };
        let occurrence = self.occurrence(who, seen, record);
        let key = if occurrence == 1 { key } else { hash(&[who.id()], occurrence) };
        let selected = self.sample(who, occurrence, key).map(|sample| {
            self.done.cases += 1;
            SelectedOrdinals { sample, model: self.model(who.identity.model.as_ref()) }
        });
        CaseOrdinals { occurrence, selected }
    }

    /// How often the same case was seen, this time included. Only rows without ids may be seen twice.
    fn occurrence(&mut self, who: &SelectableCase, seen: SeenCase, record: usize) -> u32 {
        let SeenCase { first, count } = seen;
        if who.content_id.is_some() {
            return count;
        }
        if count > 1 && self.done.duplicates.len() < 20 {
            self.done.duplicates.push(Duplicate {
                id: who.id().to_owned(),
                first: first as usize,
                second: record,
                model: who.identity.model.clone(),
                trial: who.identity.trial,
            });
        }
        1
    }

    /// What is known of a sample, which is counted where it is new.
    fn known(&mut self, sample: u128) -> &mut KnownSample {
        self.samples.entry(sample).or_insert_with(|| {
            self.done.all_samples += 1;
            KnownSample::default()
        })
    }

    /// The ordinal of a case's sample, which has this key, if both are evaluated. The first case whose trial is in decides
    /// whether the sample is: one that has no such case takes no place of `max_samples`.
    fn sample(&mut self, who: &SelectableCase, occurrence: u32, key: u128) -> Option<u32> {
        let narrowing = self.narrowing;
        let selected = self.done.samples;
        let of_all = self.wanted;
        let is_named = self.is_named(who, occurrence);
        let known = self.known(key);
        if narrowing.trials.is_some_and(|trials| who.identity.trial >= trials) {
            return None;
        }
        match known.state {
            SampleState::In(ordinal) => return Some(ordinal),
            SampleState::Out => return None,
            SampleState::Undecided => {}
        }
        let tagged = narrowing.tags.is_empty()
            || narrowing.tags.iter().any(|tag| who.identity.tags.contains(tag));
        let room = narrowing.max_samples.is_none_or(|most| of_all < most);
        let is_wanted = tagged && is_named && room;
        let is_in_turn =
            narrowing.one_in.is_none_or(|one_in| (of_all / BLOCK).is_multiple_of(one_in));
        if !(is_wanted && is_in_turn) {
            known.state = SampleState::Out;
            self.wanted += usize::from(is_wanted);
            return None;
        }
        let ordinal = selected as u32;
        known.state = SampleState::In(ordinal);
        if narrowing.partition.is_some() {
            self.ids.push(named(who.id(), occurrence));
        }
        self.done.samples += 1;
        self.wanted += 1;
        Some(ordinal)
    }

    fn is_named(&self, who: &SelectableCase, occurrence: u32) -> bool {
        self.named.is_empty() || self.named.contains(named(who.id(), occurrence).as_str())
    }

    fn model(&mut self, model: Option<&String>) -> u32 {
        let models = &mut self.done.models;
        *self.models.entry(model.cloned()).or_insert_with_key(|model| {
            models.push(model.clone());
            models.len() as u32 - 1
        })
    }
}

/// The id of a sample in reports: repeated rows without ids get their occurrence.
pub fn named(id: &str, occurrence: u32) -> String {
    if occurrence > 1 { format!("{id}-{occurrence}") } else { id.to_owned() }
}

/// Identifies a case whatever its place in the dataset: the digest of the names of sample and model, and the trial.
pub(crate) fn case_id(who: &SelectableCase, place: CaseOrdinals) -> CaseId {
    let model = who.identity.model.as_deref();
    let is_named = if model.is_some() { "m" } else { "" };
    let sample = named(who.id(), place.occurrence);
    hash(&[&sample, is_named, model.unwrap_or_default()], who.identity.trial)
}

fn hash(texts: &[&str], number: u32) -> u128 {
    // All at once: a hasher of its own takes longer than a name.
    let mut bytes = SmallVec::<[u8; 128]>::new();
    for text in texts {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend_from_slice(&number.to_le_bytes());
    xxh3_128(&bytes)
}

#[cfg(test)]
mod tests {
    use super::{Narrowing, SelectableCase, Selection, select};
    use evalrs_eval::dataset::row::RowId;

    fn who(id: &str, model: Option<&str>, trial: u32, tags: &[&str]) -> SelectableCase {
        let (id, content_id) = match id.strip_prefix('#') {
            Some(content) => (None, Some(content.into())),
            None => (Some(id.to_owned()), None),
        };
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        SelectableCase {
            identity: RowId { id, model: model.map(str::to_owned), trial, tags },
            content_id,
        }
    }

    fn run(whos: &[SelectableCase], narrowing: &Narrowing) -> Selection {
        let narrowing = Narrowing { cases_per_record: 1, ..narrowing.clone() };
        let (left, right) = whos.split_at(whos.len() / 2);
        select(&[(left, &[][..]), (right, &[][..])], &narrowing)
    }

    fn samples(selection: &Selection) -> Vec<Option<u32>> {
        let places = selection.places.iter().flat_map(|places| places.iter());
        places.map(|place| place.selected.map(|selected| selected.sample)).collect()
    }

    #[test]
    fn trials_and_models_are_of_one_sample() {
        let whos = [
            who("a", None, 0, &[]),
            who("a", None, 1, &[]),
            who("b", Some("m"), 0, &[]),
            who("b", Some("n"), 0, &[]),
        ];
        let selection = run(&whos, &Narrowing::default());
        assert_eq!(samples(&selection), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(selection.models, [None, Some("m".to_owned()), Some("n".to_owned())]);
        assert_eq!((selection.samples, selection.cases, selection.duplicates.len()), (2, 4, 0));
    }

    #[test]
    fn the_same_case_twice_is_a_duplicate_unless_its_id_is_its_content() {
        let selection = run(
            &[who("a", None, 0, &[]), who("b", None, 0, &[]), who("a", None, 0, &[])],
            &Narrowing::default(),
        );
        let [duplicate] = selection.duplicates.as_slice() else { panic!("{selection:?}") };
        assert_eq!((duplicate.id.as_str(), duplicate.first, duplicate.second), ("a", 0, 2));
        let selection = run(
            &[who("#x", None, 0, &[]), who("#y", None, 0, &[]), who("#x", None, 0, &[])],
            &Narrowing::default(),
        );
        assert!(selection.duplicates.is_empty());
        assert_eq!(samples(&selection), [Some(0), Some(1), Some(2)]);
        assert_eq!(selection.places[1][1].occurrence, 2);
    }

    #[test]
    fn a_case_is_taken_once_whatever_model_and_trial_it_names() {
        let cases = [("a", None, 0), ("a", Some("m"), 0), ("a", None, 1), ("b", Some("m"), 2)];
        let whos: Vec<SelectableCase> =
            cases.map(|(id, model, trial)| who(id, model, trial, &[])).into();
        assert_eq!(run(&whos, &Narrowing::default()).duplicates, []);
        for (at, case) in whos.iter().enumerate() {
            let twice = [&whos[..], std::slice::from_ref(case)].concat();
            let selection = run(&twice, &Narrowing::default());
            let [found] = selection.duplicates.as_slice() else { panic!("{at}: {selection:?}") };
            assert_eq!((found.first, found.second), (at, whos.len()));
            assert_eq!((found.model.as_deref(), found.trial), (cases[at].1, cases[at].2));
            assert_eq!((selection.samples, selection.all_samples), (2, 2));
        }
    }

    #[test]
    fn a_sample_without_a_trial_that_is_in_takes_no_place() {
        let whos = [
            who("a", None, 1, &[]),
            who("b", None, 1, &["x"]),
            who("b", None, 0, &["x"]),
            who("c", None, 0, &["x"]),
        ];
        let narrowing = Narrowing { trials: Some(1), max_samples: Some(1), ..Narrowing::default() };
        let selection = run(&whos, &narrowing);
        assert_eq!(samples(&selection), [None, None, Some(0), None]);
        assert_eq!((selection.samples, selection.cases, selection.all_samples), (1, 1, 3));
    }

    #[test]
    fn cases_that_are_not_wanted_take_no_place() {
        let whos = [
            who("a", None, 0, &[]),
            who("a", None, 0, &[]),
            who("b", None, 0, &[]),
            who("#c", None, 0, &[]),
            who("#c", None, 0, &[]),
        ];
        let left_out = [true, false, true, true, false];
        let narrowing =
            Narrowing { max_samples: Some(2), cases_per_record: 1, ..Narrowing::default() };
        let selection = select(&[(&whos[..], &left_out[..])], &narrowing);
        assert_eq!(samples(&selection), [None, Some(0), None, None, Some(1)]);
        assert_eq!((selection.samples, selection.cases, selection.all_samples), (2, 2, 4));
        // Who does not count takes no id from those that do.
        assert_eq!(selection.duplicates, []);
        assert_eq!(selection.places[0][4].occurrence, 1);
    }

    #[test]
    fn narrowing_counts_samples_not_cases() {
        let whos = [
            who("a", None, 0, &["x"]),
            who("a", None, 1, &["x"]),
            who("b", None, 0, &[]),
            who("c", None, 0, &["x", "y"]),
            who("c", None, 1, &["x"]),
            who("d", None, 0, &["y"]),
        ];
        let check = |narrowing: Narrowing, expected: [Option<u32>; 6]| {
            assert_eq!(samples(&run(&whos, &narrowing)), expected, "{narrowing:?}");
        };
        let all = Narrowing::default();
        check(
            Narrowing { max_samples: Some(2), ..all.clone() },
            [Some(0), Some(0), Some(1), None, None, None],
        );
        check(
            Narrowing { tags: vec!["y".into()], ..all.clone() },
            [None, None, None, Some(0), Some(0), Some(1)],
        );
        check(
            Narrowing { samples: vec!["d".into()], ..all.clone() },
            [None, None, None, None, None, Some(0)],
        );
        check(
            Narrowing { trials: Some(1), ..all.clone() },
            [Some(0), None, Some(1), Some(2), None, Some(3)],
        );
        check(
            Narrowing { max_samples: Some(1), tags: vec!["y".into()], ..all },
            [None, None, None, Some(0), Some(0), None],
        );
    }
}
