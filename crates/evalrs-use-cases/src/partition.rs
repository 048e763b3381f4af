//! Which part of the samples a machine evaluates: as the command line says, or the service that runs it.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::console::Console;
use crate::error::Error;
use evalrs_base::text::{count, sanitize};
use evalrs_engine::session::Session;
use evalrs_graph::queries;
use evalrs_model::cut::Partition;
use evalrs_model::spec::{GraderSpec, Repeat, Suite};

/// One part of the samples, for one of several machines.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct PartitionArgs {
    /// Use only one of N parts of the samples, such as 2/7
    ///
    /// `auto` takes the part from GitLab, CircleCI, Buildkite, Slurm or Kubernetes. `evalrs merge` joins the parts. See
    /// `docs/scale-out.md`.
    #[arg(long, help_heading = "Selection", value_name = "I/N", hide_short_help = true)]
    pub partition: Option<NamedPart>,
    /// Number of parts, where the service does not say it
    #[arg(
        long,
        help_heading = "Selection",
        value_name = "N",
        hide_short_help = true,
        requires = "partition",
        value_parser = clap::value_parser!(u32).range(1..=MOST_PARTS as i64)
    )]
    pub of: Option<u32>,
    /// Deal samples out by what they cost, from this file
    ///
    /// `evalrs cache export --costs FILE` writes it.
    #[arg(
        long,
        help_heading = "Selection",
        value_name = "FILE",
        hide_short_help = true,
        requires = "partition"
    )]
    pub costs: Option<String>,
    /// Stop before the first call unless the cut has this digest
    ///
    /// `evalrs plan --partition N` prints it.
    #[arg(
        long,
        help_heading = "Selection",
        value_name = "DIGEST",
        hide_short_help = true,
        requires = "partition"
    )]
    pub cut: Option<String>,
}

/// The most parts.
pub const MOST_PARTS: u32 = 100_000;

/// A part as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedPart {
    /// The one that the environment says.
    Auto,
    /// The part, from 1, and how many there are.
    Part(u32, u32),
    /// How many there are.
    All(u32),
}

impl FromStr for NamedPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<u32>().ok().filter(|number| (1..=MOST_PARTS).contains(number))
        };
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let named = match text.split_once('/') {
            None => number(text).map(Self::All),
            Some((part, of)) => {
                let both = number(part).zip(number(of)).filter(|(part, of)| part <= of);
                both.map(|(part, of)| Self::Part(part, of))
            }
        };
        named.ok_or_else(|| {
            format!("expected a part such as 2/7, from 1/7 to 7/7 and of at most {MOST_PARTS}, or `auto`")
        })
    }
}

/// What samples cost: the file that `--costs` names.
#[derive(Debug, Serialize, Deserialize)]
pub struct CostsFile {
    pub format: u32,
    /// Sample → tokens.
    pub costs: BTreeMap<String, u64>,
}

/// The version of that file.
pub const COSTS_FORMAT: u32 = 1;

impl PartitionArgs {
    /// The partition that is meant; none without one. The cut as a whole is wanted by a plan alone.
    pub fn read(
        &self,
        takes_whole: bool,
        console: &Console<'_>,
    ) -> Result<Option<Partition>, Error> {
        let Some(named) = self.partition else { return Ok(None) };
        if self.of.is_some() && named != NamedPart::Auto {
            return Err(Error::plain(
                "`--of` is for `--partition auto`",
                "write how many parts there are into `--partition`, such as 2/7",
            ));
        }
        let (part, of) = match named {
            NamedPart::Part(part, of) => (Some(part), of),
            NamedPart::All(of) if takes_whole => (None, of),
            NamedPart::All(of) => {
                return Err(Error::plain(
                    format!("`--partition {of}` does not say which part to run"),
                    format!(
                        "write `--partition 1/{of}` to `--partition {of}/{of}`, one on each machine"
                    ),
                ));
            }
            NamedPart::Auto => {
                let (part, of) = part_of_service(&console.system.environment(), self.of)?;
                (Some(part), of)
            }
        };
        let costs = self.costs.as_deref().map(|path| costs(path, console)).transpose()?;
        Ok(Some(Partition { part, of, costs: Arc::new(costs.unwrap_or_default()) }))
    }

    /// An error where one of these flags is given: they are for the whole of a suite, not for a part of it.
    pub(super) fn refuse(&self, flags: &[(&str, bool)]) -> Result<(), Error> {
        let given = flags.iter().find(|(_, is_given)| *is_given && self.partition.is_some());
        given.map_or(Ok(()), |(flag, _)| {
            Err(Error::plain(
                format!("`{flag}` is for the whole of a suite, not for a part of it"),
                "merge the parts, then run the whole with it: `evalrs run SUITE --frozen`",
            ))
        })
    }

    /// An error where the cut of a session is not the one that is wanted, or where a part could not be merged.
    pub fn check(&self, suite: &str, session: &Session) -> Result<(), Error> {
        if self.partition.is_some()
            && let Some(grader) = session.suite().and_then(uncached)
        {
            return Err(Error::plain(
                format!(
                    "{suite}: `{grader}` has `cache: false`, so nothing of it is kept that parts could be merged from"
                ),
                "remove `cache: false`, or run the suite on one machine",
            ));
        }
        let cut = queries::selection(&session.db, session.root).cut.as_ref();
        let Some((wanted, cut)) = self.cut.as_ref().zip(cut) else { return Ok(()) };
        if cut.digest == *wanted {
            return Ok(());
        }
        let samples = count(cut.part_of.len(), "sample");
        Err(Error::plain(
            format!(
                "{suite}: the cut of the {samples} is {}, not {}",
                cut.digest,
                sanitize(wanted)
            ),
            "all machines must have the same samples in the same order, the same number of parts and the same `--costs`; \
             `evalrs plan --partition N` prints the digest",
        ))
    }
}

/// A grader of which nothing is kept.
fn uncached(suite: &Suite) -> Option<&str> {
    let is_uncached = |grader: &&GraderSpec| {
        grader.programs().into_iter().any(|program| program.repeat == Repeat::Always)
    };
    suite.graders.iter().find(is_uncached).map(|grader| grader.name.as_str())
}

/// What samples cost, by the file at `path`.
fn costs(path: &str, console: &Console<'_>) -> Result<BTreeMap<String, u64>, Error> {
    let hint = "write it with `evalrs cache export SUITE --costs FILE`";
    let bytes = console.system.read(path).into_bytes();
    let bytes =
        bytes.map_err(|reason| Error::plain(format!("cannot read `{path}`: {reason}"), hint))?;
    let read: Result<CostsFile, _> = serde_json::from_slice(&bytes);
    let read =
        read.map_err(|error| Error::plain(format!("cannot read `{path}`: {error}"), hint))?;
    if read.format != COSTS_FORMAT {
        let message = format!("`{path}` has format {}, not {COSTS_FORMAT}", read.format);
        return Err(Error::plain(message, hint));
    }
    Ok(read.costs)
}

/// A service that starts the same command on several machines, and the variables that say which one it is.
struct Service {
    name: &'static str,
    /// The variable that says that it runs the command.
    mark: &'static str,
    index: &'static str,
    total: Option<&'static str>,
    /// The index of the first machine.
    first: u32,
}

const SERVICES: [Service; 4] = [
    Service {
        name: "GitLab",
        mark: "GITLAB_CI",
        index: "CI_NODE_INDEX",
        total: Some("CI_NODE_TOTAL"),
        first: 1,
    },
    Service {
        name: "CircleCI",
        mark: "CIRCLECI",
        index: "CIRCLE_NODE_INDEX",
        total: Some("CIRCLE_NODE_TOTAL"),
        first: 0,
    },
    Service {
        name: "Buildkite",
        mark: "BUILDKITE",
        index: "BUILDKITE_PARALLEL_JOB",
        total: Some("BUILDKITE_PARALLEL_JOB_COUNT"),
        first: 0,
    },
    Service {
        name: "Kubernetes",
        mark: "JOB_COMPLETION_INDEX",
        index: "JOB_COMPLETION_INDEX",
        total: None,
        first: 0,
    },
];

/// What says which job of an array of Slurm it is.
const SLURM: &str = "SLURM_ARRAY_TASK_ID";

/// The part, from 1, and how many there are, by the variables of the service that runs the command.
fn part_of_service(
    environment: &BTreeMap<String, String>,
    of: Option<u32>,
) -> Result<(u32, u32), Error> {
    let is_set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
    let services = SERVICES.iter().filter(|service| is_set(service.mark) && is_set(service.index));
    let services: Vec<&Service> = services.collect();
    let mut names: Vec<&str> = services.iter().map(|service| service.name).collect();
    names.extend(is_set(SLURM).then_some("Slurm"));
    let hint = "write the part, such as `--partition 2/7`";
    match (names.as_slice(), services.first()) {
        ([], _) => Err(Error::plain(
            "`--partition auto` finds none of GitLab, CircleCI, Buildkite, Slurm and Kubernetes in the environment",
            hint,
        )),
        ([_, _, ..], _) => Err(Error::plain(
            format!("`--partition auto` finds {} in the environment", names.join(" and ")),
            hint,
        )),
        (_, None) => part_of_slurm(environment, of),
        (_, Some(service)) => {
            let index = number(environment, service.index)?;
            let total = match service.total {
                Some(name) => number(environment, name)?,
                None => u64::from(of.ok_or_else(|| {
                    Error::plain(
                        format!("{} does not say how many parts there are", service.name),
                        "add `--of N`, with the `completions` of the job",
                    )
                })?),
            };
            checked(index + 1 - u64::from(service.first).min(index + 1), total, of, service.name)
        }
    }
}

/// The part of a job in an array. Its ids go from one number to another in steps.
fn part_of_slurm(
    environment: &BTreeMap<String, String>,
    of: Option<u32>,
) -> Result<(u32, u32), Error> {
    let said = |name: &str| number(environment, &format!("SLURM_ARRAY_TASK_{name}"));
    let id = said("ID")?;
    let first = said("MIN")?;
    let last = said("MAX")?;
    let step = said("STEP")?.max(1);
    let total = said("COUNT")?;
    let is_regular = first <= id && id <= last && (id - first).is_multiple_of(step);
    if !is_regular || (last - first) / step + 1 != total {
        return Err(Error::plain(
            format!(
                "the array of Slurm has {total} jobs, which are no range in equal steps from {first} to {last}"
            ),
            "submit it with `--array=1-N`",
        ));
    }
    checked((id - first) / step + 1, total, of, "Slurm")
}

fn checked(part: u64, total: u64, of: Option<u32>, name: &str) -> Result<(u32, u32), Error> {
    let is_other = of.is_some_and(|of| u64::from(of) != total);
    if is_other || part == 0 || part > total || total > u64::from(MOST_PARTS) {
        let of = of.map_or_else(String::new, |of| format!(", and `--of {of}`"));
        return Err(Error::plain(
            format!("{name} says that this is part {part} of {total}{of}"),
            "write the part, such as `--partition 2/7`",
        ));
    }
    Ok((part as u32, total as u32))
}

fn number(environment: &BTreeMap<String, String>, name: &str) -> Result<u64, Error> {
    let said = environment.get(name).map(String::as_str).unwrap_or_default();
    let number = said.trim().parse::<u32>().ok().map(u64::from);
    number.ok_or_else(|| {
        Error::plain(
            format!("`{name}` is `{}`, not a number", sanitize(said)),
            "write the part, such as `--partition 2/7`",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{NamedPart, part_of_service};

    #[test]
    fn a_part_is_named_from_one() {
        for (text, expected) in [
            ("2/7", Some(NamedPart::Part(2, 7))),
            ("7/7", Some(NamedPart::Part(7, 7))),
            ("7", Some(NamedPart::All(7))),
            ("auto", Some(NamedPart::Auto)),
            ("0/7", None),
            ("8/7", None),
            ("2/0", None),
            ("0", None),
            ("a/b", None),
            ("2/7/9", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<NamedPart>().ok(), expected, "{text}");
        }
    }

    #[test]
    fn services_say_which_part_it_is() {
        let slurm = |id, min, max, step, total| {
            format!(
                "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_MIN={min} SLURM_ARRAY_TASK_MAX={max} SLURM_ARRAY_TASK_STEP={step} \
                 SLURM_ARRAY_TASK_COUNT={total}"
            )
        };
        let known = [
            ("GITLAB_CI=true CI_NODE_INDEX=2 CI_NODE_TOTAL=7".to_owned(), None, "2/7"),
            ("GITLAB_CI=true CI_NODE_INDEX=0 CI_NODE_TOTAL=7".to_owned(), None, "part 0 of 7"),
            ("CI_NODE_INDEX=2 CI_NODE_TOTAL=7".to_owned(), None, "finds none"),
            ("CIRCLECI=true CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=7".to_owned(), None, "1/7"),
            (
                "CIRCLECI=true CIRCLE_NODE_INDEX=7 CIRCLE_NODE_TOTAL=7".to_owned(),
                None,
                "part 8 of 7",
            ),
            (
                "BUILDKITE=true BUILDKITE_PARALLEL_JOB=6 BUILDKITE_PARALLEL_JOB_COUNT=7".to_owned(),
                None,
                "7/7",
            ),
            (
                "BUILDKITE=true BUILDKITE_PARALLEL_JOB=x BUILDKITE_PARALLEL_JOB_COUNT=7".to_owned(),
                None,
                "is `x`, not a number",
            ),
            ("JOB_COMPLETION_INDEX=3".to_owned(), Some(7), "4/7"),
            ("JOB_COMPLETION_INDEX=3".to_owned(), None, "does not say how many"),
            ("JOB_COMPLETION_INDEX=7".to_owned(), Some(7), "part 8 of 7"),
            (slurm(1, 1, 7, 1, 7), None, "1/7"),
            (slurm(10, 0, 60, 10, 7), None, "2/7"),
            (slurm(7, 1, 7, 1, 3), None, "no range in equal steps"),
            (slurm(3, 1, 7, 1, 7), Some(8), "and `--of 8`"),
            (
                format!("GITLAB_CI=true CI_NODE_INDEX=2 CI_NODE_TOTAL=7 {}", slurm(1, 1, 7, 1, 7)),
                None,
                "GitLab and Slurm",
            ),
        ];
        for (variables, of, expected) in known {
            let pairs = variables.split_whitespace().filter_map(|one| one.split_once('='));
            let environment: BTreeMap<String, String> =
                pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let said = match part_of_service(&environment, of) {
                Ok((part, of)) => format!("{part}/{of}"),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "{variables}: {said}");
        }
    }
}
