//! How the batches of a suite are reached: by the judges that have the same provider and address.

use crate::resolve::credentials::{JudgeAccess, access, key_variables};
use crate::session::Session;
use evalrs_eval::judge::provider::batches;
use evalrs_eval::judge::without_secrets;
use evalrs_exec::BatchAccess;
use evalrs_graph::queries;
use evalrs_store::OpenBatch;

/// How a batch is reached, or why it is not.
pub fn access_to(session: &Session, batch: &OpenBatch) -> Result<BatchAccess, String> {
    let found = each_access(session).find(|access| {
        access.spec.provider == batch.provider && without_secrets(access.base_url) == batch.base_url
    });
    let Some(found) = found else {
        return Err(format!("no judge of the suite is at `{}`", batch.base_url));
    };
    if found.needs_key() {
        return Err(format!("`{}` is not set", key_variables(found.spec).join("` or `")));
    }
    Ok(of_judge(&found))
}

/// How the batches of a provider are reached, each address once.
pub fn accesses_of(session: &Session, provider: &str) -> Vec<BatchAccess> {
    let mut found: Vec<BatchAccess> = Vec::new();
    for judge in each_access(session).filter(|access| access.spec.provider == provider) {
        if found.iter().all(|known| known.base_url != judge.base_url) {
            found.push(of_judge(&judge));
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
