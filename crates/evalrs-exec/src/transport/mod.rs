//! HTTP as all who ask servers use it: clients, what their errors mean, and when a request is worth sending again.
//!
//! Knows no judges: who is asked what is said by those who use it.

pub(crate) mod client;
pub(crate) mod retry;
pub(crate) mod route;

/// The whole body, or nothing if it passes `limit` bytes.
pub(crate) async fn read_body(
    mut response: reqwest::Response,
    limit: usize,
) -> Result<Vec<u8>, Option<reqwest::Error>> {
    let mut bytes = Vec::new();
    while let Some(part) = response.chunk().await.map_err(Some)? {
        if bytes.len() + part.len() > limit {
            return Err(None);
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}
