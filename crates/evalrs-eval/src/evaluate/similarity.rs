//! How near two embeddings are, as a vote.

use super::pairwise::ScoredVote;

/// The cosine of the angle between two vectors, or why there is none.
pub(super) fn cosine(left: &[f64], right: &[f64]) -> Result<f64, String> {
    if left.len() != right.len() {
        let message = format!(
            "the embeddings of submission and reference have {} and {} dimensions",
            left.len(),
            right.len()
        );
        return Err(message);
    }
    let product =
        |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let lengths = (product(left, left) * product(right, right)).sqrt();
    if !lengths.is_normal() {
        return Err("an embedding is zero or not finite, and has no direction".to_owned());
    }
    Ok((product(left, right) / lengths).clamp(-1.0, 1.0))
}

/// The vote that two embeddings are.
pub(super) fn vote(left: &[f64], right: &[f64]) -> Result<ScoredVote, String> {
    let native = cosine(left, right)?;
    let rationale = format!("Cosine similarity: {native:.4}");
    Ok(ScoredVote { native, rationale, orders: None, decision: None, applies: true })
}

#[cfg(test)]
mod tests {
    use super::cosine;

    #[test]
    fn the_cosine_says_how_near_two_directions_are() {
        for (left, right, expected) in [
            (&[1.0, 2.0][..], &[2.0, 4.0][..], Ok(1.0)),
            (&[1.0, 0.0], &[0.0, 3.0], Ok(0.0)),
            (&[1.0], &[-2.0], Ok(-1.0)),
            (&[3.0, 4.0], &[4.0, 3.0], Ok(0.96)),
            (
                &[0.0, 0.0],
                &[1.0, 0.0],
                Err("an embedding is zero or not finite, and has no direction"),
            ),
            (
                &[1.0],
                &[1.0, 0.0],
                Err("the embeddings of submission and reference have 1 and 2 dimensions"),
            ),
            (&[1e200], &[1e200], Err("an embedding is zero or not finite, and has no direction")),
        ] {
            let found = cosine(left, right).map(|number| (number * 1e12).round() / 1e12);
            assert_eq!(found, expected.map_err(str::to_owned), "{left:?} {right:?}");
        }
    }
}
