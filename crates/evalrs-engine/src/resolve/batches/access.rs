//! How the batches of a suite are reached: by the judges that have the same provider and address.

use crate::resolve::credentials::{JudgeAccess, access, key_variables};
use crate::session::Session;
use evalrs_eval::judge::provider::batches::{self, RemoteBatch};
use evalrs_eval::judge::without_secrets;
use evalrs_exec::{BatchAccess, BatchService};
use evalrs_graph::queries;
use evalrs_store::OpenBatch;

/// How a batch may be reached: by each judge at its provider and address, in the name of another account each. An error says
/// why it is not.
pub fn accesses_to(session: &Session, batch: &OpenBatch) -> Result<Vec<BatchAccess>, String> {
    let there = |access: &JudgeAccess<'_>| {
        access.spec.provider == batch.provider && without_secrets(access.base_url) == batch.base_url
    };
    let judges: Vec<JudgeAccess<'_>> = each_access(session).filter(there).collect();
    let Some(first) = judges.first() else {
        return Err(format!("no judge of the suite is at `{}`", batch.base_url));
    };
    let mut found: Vec<BatchAccess> = Vec::new();
    for judge in judges.iter().filter(|judge| !judge.needs_key()) {
        let access = of_judge(judge);
        if !found.contains(&access) {
            found.push(access);
        }
    }
    if found.is_empty() {
        return Err(format!("`{}` is not set", key_variables(first.spec).join("` or `")));
    }
    Ok(found)
}

/// A batch as it is now, and how it was reached.
pub async fn look(
    session: &Session,
    service: &dyn BatchService,
    batch: &OpenBatch,
) -> Result<(BatchAccess, RemoteBatch), String> {
    look_by(service, accesses_to(session, batch)?, batch.id.as_deref().unwrap_or_default()).await
}

/// The same by one of these accesses.
pub(crate) async fn look_by(
    service: &dyn BatchService,
    accesses: Vec<BatchAccess>,
    id: &str,
) -> Result<(BatchAccess, RemoteBatch), String> {
    let mut why = String::new();
    for access in accesses {
        match service.look(&access, id).await {
            Ok(remote) => return Ok((access, remote)),
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!("{why}; if it is gone, `evalrs batch forget {id}` has its judgments called again"))
}

/// How the batches of a provider are reached, each account once.
pub fn accesses_of(session: &Session, provider: &str) -> Vec<BatchAccess> {
    let mut found: Vec<BatchAccess> = Vec::new();
    for judge in each_access(session).filter(|access| access.spec.provider == provider) {
        let access = of_judge(&judge);
        if !found.contains(&access) {
            found.push(access);
        }
    }
    found
}

/// Whether all judges of a grader can be part of a batch.
pub fn is_for_batches(session: &Session, grader: usize) -> bool {
    let judge = session.grader(grader).and_then(|one| queries::ready(&session.db, one).judge());
    judge.is_some_and(|judge| {
        let mut seats = (0..judge.seats.len()).filter_map(|at| access(session, judge, at));
        seats.all(|seat| batches::are_open_to(seat.spec, seat.base_url))
    })
}

pub(super) fn of_judge(judge: &JudgeAccess<'_>) -> BatchAccess {
    BatchAccess {
        provider: judge.spec.provider.clone(),
        base_url: judge.base_url.to_owned(),
        api_key: judge.api_key(),
        headers: judge.headers(),
    }
}

fn each_access(session: &Session) -> impl Iterator<Item = JudgeAccess<'_>> {
    let judges =
        session.graders().iter().filter_map(|grader| queries::ready(&session.db, *grader).judge());
    judges.flat_map(|judge| (0..judge.seats.len()).filter_map(|at| access(session, judge, at)))
}
