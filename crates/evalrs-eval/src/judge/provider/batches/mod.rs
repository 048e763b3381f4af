//! Batches of requests at a provider: how one is written, found, followed and cancelled, and what its results say. Pure.
//!
//! One file a provider. A batch has the digest under which its intent was written, as far as the provider keeps one, so that
//! a batch whose reply got lost is found again. The id of a request inside is the key of its action.

mod anthropic;
mod batch_api;
mod google;
mod openai;

pub use batch_api::{
    BatchAnswer, BatchApi, BatchInput, BatchLimits, BatchResult, BatchState, NewBatch, RemoteBatch,
};

use evalrs_model::spec::JudgeSpec;

/// The batches of the provider with this id.
pub fn find(provider: &str) -> Option<&'static dyn BatchApi> {
    match provider {
        "openai" => Some(&openai::OpenAiBatches),
        "anthropic" => Some(&anthropic::AnthropicBatches),
        "google" => Some(&google::GoogleBatches),
        _ => None,
    }
}

/// Whether what this judge is sent may be part of a batch: at its provider's own address, or where the suite says so.
pub fn are_open_to(spec: &JudgeSpec, base_url: &str) -> bool {
    let is_one = spec.agent.is_none() && spec.program.is_none();
    let is_own = super::info(&spec.provider).is_some_and(|info| super::is_own(info, base_url));
    is_one && find(&spec.provider).is_some() && spec.batch.unwrap_or(is_own)
}

#[cfg(test)]
mod tests;
