//! Agreement on held-out labels, reported so that editing by it reveals little of them: a reusable holdout.
//!
//! Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015, "The reusable holdout: Preserving validity in adaptive data analysis"
//! (Science 349) and "Generalization in Adaptive Data Analysis and Holdout Reuse" (NIPS), the algorithm Thresholdout: where
//! agreement on held-out labels is near what is known, that is told, which says nothing new of them; else their agreement with
//! noise. Known are agreement on shown labels and, as on the leaderboards of Blum and Hardt 2015, "The Ladder", the best
//! that was told: small steps cannot be climbed. The noise is normal and follows from what is asked about, so that the same question has the same
//! answer, and asking it again tells nothing more.
//!
//! An estimate from few labels errs by itself, however seldom it is asked for. So each answer has a bound beside it, which holds for
//! the best of all that was asked so far.

use serde::{Deserialize, Serialize};

use super::distribution::{normal_quantile, normal_share};
use evalrs_base::random::SplitMix;

/// How far the bound may lie below the reported value, by default.
pub const TOLERANCE: f64 = 0.2;

/// How often some bound of a holdout may be wrong, over all its queries.
const MISSES: f64 = 0.05;

/// The most queries that a budget says: more are as good as any number.
const MOST_QUERIES: f64 = 10_000.0;

/// Verdicts with labels, and how many of them say the same as the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgreementCount {
    /// Those that do.
    pub agree: usize,
    /// All.
    pub n: usize,
}

impl AgreementCount {
    fn share(self) -> Option<f64> {
        (self.n > 0 && self.agree <= self.n).then(|| self.agree as f64 / self.n as f64)
    }
}

/// A query of a holdout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoldoutQuery {
    /// Agreement on labels that anybody may look at.
    pub shown: AgreementCount,
    /// Agreement on those that are held out.
    pub held_out: AgreementCount,
    /// What the noise follows from: a digest of the held-out labels and of the verdicts beside them.
    pub content: u64,
    /// Which of the distinct queries it is, from 1.
    pub number: usize,
    /// The greatest agreement reported for the queries before it.
    pub best: Option<f64>,
}

/// About how large agreement on held-out labels is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToldAgreement {
    /// 0.0..=1.0.
    pub agreement: f64,
    /// Where it comes from.
    pub source: HoldoutSource,
}

/// Where the number of an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldoutSource {
    /// It is the greatest value reported before: the held-out labels do not distinguish it.
    Best,
    /// Agreement on shown labels, likewise.
    Shown,
    /// Agreement on held-out labels, with noise.
    HeldOut,
}

/// The answer to a query; none without labels of either part.
///
/// For n held-out labels, `s = 1 / (2 √n)` is the standard deviation of their agreement, at most. The best that was told is told again
/// where held-out agreement lies at most `s` below or `2 s` above it; else that on shown labels, where it differs by at most `s` plus
/// normal noise of deviation `s / 2`; else held-out agreement plus normal noise of deviation `s / 2`, which errs as if 0.8 n labels
/// had been asked. Its [`bound`] is Wilson's one-sided bound of 0.8 n labels at `1 - 0.05 / number` (Bonferroni: the queries so
/// far share the 5 %), below what is told, less `s` where that is not of held-out labels.
pub fn answer(query: &HoldoutQuery) -> Option<ToldAgreement> {
    let shown = query.shown.share()?;
    let held_out = query.held_out.share()?;
    let deviation = chance_deviation(query.held_out.n);
    let mut generator = SplitMix::new(query.content);
    let mut noise = || deviation / 2.0 * normal_quantile(share_inside(&mut generator));
    let [of_threshold, of_answer] = [noise(), noise()];
    let is_near = |best: &f64| (-deviation..=2.0 * deviation).contains(&(held_out - best));
    let (agreement, source) = if let Some(best) = query.best.filter(is_near) {
        (best, HoldoutSource::Best)
    } else if (held_out - shown).abs() <= deviation + of_threshold {
        (shown, HoldoutSource::Shown)
    } else {
        ((held_out + of_answer).clamp(0.0, 1.0), HoldoutSource::HeldOut)
    };
    Some(ToldAgreement { agreement, source })
}

/// A lower bound of the agreement with endless labels, where this was reported of this many held-out labels after this many
/// distinct queries: wrong for some of them in at most 5 of 100 holdouts.
pub fn bound(told: ToldAgreement, held_out: usize, queries: usize) -> f64 {
    let surely = match told.source {
        HoldoutSource::HeldOut => told.agreement,
        HoldoutSource::Best | HoldoutSource::Shown => {
            (told.agreement - chance_deviation(held_out)).max(0.0)
        }
    };
    let level = 1.0 - MISSES / queries.max(1) as f64;
    wilson_low(surely, 0.8 * held_out as f64, normal_quantile(level))
}

/// How many distinct queries this many held-out labels allow: with more, the bound of a rubric that is right in half of all
/// cases may lie further below than `tolerance`. At least 1.
///
/// [`TOLERANCE`] where nobody names one. The N at which the bound's reach `z(1 - 0.05 / N) / (2 √(0.8 n))` comes to the tolerance, z being the quantile of the normal
/// distribution: `0.05 / P(Z > 2 tolerance √(0.8 n))`. It grows exponentially with n, as what Thresholdout answers does.
pub fn budget(held_out: usize, tolerance: f64) -> usize {
    let reach = 2.0 * tolerance.max(0.0) * (0.8 * held_out as f64).sqrt();
    let queries = MISSES / normal_share(-reach);
    if queries.is_finite() {
        queries.clamp(1.0, MOST_QUERIES) as usize
    } else {
        MOST_QUERIES as usize
    }
}

/// How far the agreement of this many labels errs by chance, at most: its standard deviation where one half
/// agree.
fn chance_deviation(labels: usize) -> f64 {
    0.5 / (labels as f64).sqrt()
}

/// Above 0 and below 1.
fn share_inside(generator: &mut SplitMix) -> f64 {
    const CELLS: u64 = 1 << 52;
    (generator.below(CELLS) as f64 + 0.5) / CELLS as f64
}

/// Wilson's lower bound of a share of this many labels, which need not be whole.
fn wilson_low(share: f64, labels: f64, reach: f64) -> f64 {
    let squared = reach * reach;
    let centre = share + squared / (2.0 * labels);
    let spread = share * (1.0 - share) / labels + squared / (4.0 * labels * labels);
    ((centre - reach * spread.sqrt()) / (1.0 + squared / labels)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::{AgreementCount, HoldoutQuery, HoldoutSource, answer, bound, budget, share_inside};
    use evalrs_base::random::SplitMix;

    const SHOWN: usize = 120;
    const HELD_OUT: usize = 80;
    const EDITS: usize = 100;
    const RUNS: usize = 300;

    fn query(shown: usize, held_out: usize, number: usize) -> HoldoutQuery {
        HoldoutQuery {
            shown: AgreementCount { agree: shown, n: SHOWN },
            held_out: AgreementCount { agree: held_out, n: HELD_OUT },
            content: 7 + held_out as u64,
            number,
            best: None,
        }
    }

    #[test]
    fn the_same_question_has_the_same_answer() {
        let first = answer(&query(90, 40, 1)).unwrap();
        assert_eq!(answer(&query(90, 40, 1)), Some(first));
        // Asked later the estimate is the same, and the bound no surer.
        let later = answer(&query(90, 40, 9)).unwrap();
        assert_eq!(later.agreement.to_bits(), first.agreement.to_bits());
        let [first_bound, later_bound] = [1, 9].map(|number| bound(first, HELD_OUT, number));
        assert!(later_bound < first_bound && first_bound < first.agreement);
    }

    #[test]
    fn what_is_near_is_told_as_shown() {
        // 0.75 is shown.
        let told = [60, 30, 20].map(|held_out| {
            (0..200)
                .filter(|content| {
                    let query = HoldoutQuery { content: *content, ..query(90, held_out, 1) };
                    answer(&query).unwrap().source == HoldoutSource::Shown
                })
                .count()
        });
        assert!(told[0] > 150 && told[1] < 5 && told[2] == 0, "{told:?}");
        // The best that was told is told again, unless it is far from it: sooner below than above.
        let after = |held_out| {
            let query = HoldoutQuery { best: Some(0.7), ..query(20, held_out, 2) };
            answer(&query).unwrap().source == HoldoutSource::Best
        };
        assert_eq!([50, 52, 64, 66].map(after), [false, true, true, false]);
        let empty = AgreementCount::default();
        assert_eq!(answer(&HoldoutQuery { held_out: empty, ..query(90, 60, 1) }), None);
        assert_eq!(answer(&HoldoutQuery { shown: empty, ..query(90, 60, 1) }), None);
    }

    #[test]
    fn a_budget_grows_with_labels_and_tolerance() {
        let table =
            [30, 80, 120, 200].map(|labels| [0.1, 0.15, 0.2].map(|most| budget(labels, most)));
        assert_eq!(table, [[1, 1, 1], [1, 6, 72], [1, 30, 1125], [8, 676, 10_000]]);
        assert_eq!((budget(0, 0.2), budget(80, 0.0), budget(1_000_000, 0.5)), (1, 1, 10_000));
    }

    /// What a simulated editor sees, and ends with.
    #[derive(Clone, Copy, Default)]
    struct FoundExcess {
        /// Of the agreement on held-out labels as it is.
        naive: f64,
        estimate: f64,
        bound: f64,
    }

    /// By what the editor decides whether an edit stays.
    #[derive(Clone, Copy, PartialEq)]
    enum EditorGoal {
        Shown,
        /// What is told of the holdout.
        Told,
        /// Agreement on held-out labels itself, were it told.
        HeldOut,
    }

    /// An editor whose rubrics say nothing: verdicts are right in half of all cases, whatever is edited. Each edit makes some of the
    /// verdicts anew; it stays if that raises what the editor goes by. The truth is 0.5 all along.
    fn edited(goal: EditorGoal, share: f64, generator: &mut SplitMix) -> FoundExcess {
        let mut best = f64::NEG_INFINITY;
        let mut kept = [false; SHOWN + HELD_OUT].map(|_| generator.below(2) == 1);
        let mut found = FoundExcess::default();
        let mut highest: Option<f64> = None;
        for number in 1..=EDITS {
            let mut verdicts = kept;
            for verdict in &mut verdicts {
                if share_inside(generator) < share {
                    *verdict = generator.below(2) == 1;
                }
            }
            let agree = |part: &[bool]| part.iter().filter(|agrees| **agrees).count();
            let (shown, held_out) = verdicts.split_at(SHOWN);
            let content = held_out.iter().fold(0u64, |hash, agrees| {
                hash.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(*agrees) + 1)
            });
            let query = HoldoutQuery {
                content,
                best: highest,
                ..query(agree(shown), agree(held_out), number)
            };
            let told = answer(&query).unwrap();
            let agreement = told.agreement;
            let at_least = bound(told, HELD_OUT, number);
            highest = Some(highest.map_or(agreement, |best| best.max(agreement)));
            let naive = agree(held_out) as f64 / HELD_OUT as f64;
            let value = match goal {
                EditorGoal::Shown => agree(shown) as f64,
                EditorGoal::Told => agreement,
                EditorGoal::HeldOut => naive,
            };
            if value > best {
                best = value;
                kept = verdicts;
                let [naive, estimate, bound] = [naive, agreement, at_least].map(|told| told - 0.5);
                found = FoundExcess { naive, estimate, bound };
            }
        }
        found
    }

    /// What 95 of 100 runs do not exceed.
    fn most_of(values: impl Iterator<Item = f64>) -> f64 {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values[RUNS * 95 / 100 - 1]
    }

    #[test]
    fn an_editor_without_any_skill_is_told_so() {
        let mut generator = SplitMix::new(3);
        for (name, goal) in [
            ("shown labels", EditorGoal::Shown),
            ("what is told", EditorGoal::Told),
            ("held-out labels", EditorGoal::HeldOut),
        ] {
            for share in [1.0, 0.3, 0.1, 0.02] {
                let runs: Vec<FoundExcess> =
                    (0..RUNS).map(|_| edited(goal, share, &mut generator)).collect();
                let naive = most_of(runs.iter().map(|run| run.naive));
                let estimate = most_of(runs.iter().map(|run| run.estimate));
                let bound = most_of(runs.iter().map(|run| run.bound));
                println!("{name}, {share}: naive {naive:.3}, told {estimate:.3}, bound {bound:.3}");
                if goal != EditorGoal::HeldOut {
                    assert!(bound <= 0.03, "{name}, {share}: {bound}");
                }
            }
        }
    }

    /// A bound that says nothing would hold too.
    #[test]
    fn bounds_tell_what_labels_can() {
        let at_least = |held_out, number| {
            let told = answer(&query(held_out * 3 / 2, held_out, number)).unwrap();
            bound(told, HELD_OUT, number)
        };
        let table = [40, 60, 72, 80]
            .map(|held_out| [1, 7, 60].map(|number| (at_least(held_out, number) * 100.0).round()));
        let expected =
            [[35.0, 30.0, 27.0], [59.0, 54.0, 50.0], [76.0, 70.0, 66.0], [88.0, 83.0, 78.0]];
        assert_eq!(table, expected);
    }
}
