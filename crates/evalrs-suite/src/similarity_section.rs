//! The fields of a grader that embeds: those of a model that is asked and writes nothing.

use super::section::FieldShape::{Anything, Choice, MapOf, Seconds, Text, Whole};
use super::section::{COUNT, Section, fields};
use super::sections::{HEADERS, SUBMISSION};

/// A grader that has a model embed the submission and a reference.
pub(crate) static SIMILARITY: Section = Section::new(
    "a similarity grader",
    &[
        fields![
            "kind": Choice(&["similarity"]), required => "the cosine of what a model makes of submission and reference";
        ],
        SUBMISSION,
        fields![
            "value": Text => "the reference, in place of that of the row";
            "dimensions": COUNT => "the length of the vectors, where the model leaves a choice";
            "model": Text, or "\"text-embedding-3-small\"" => "the model that embeds";
            "provider": Choice(&["openai"]), or "\"openai\"" => "any endpoint with `/embeddings`";
            "base_url": Text => "where it is asked; no part of the key if `endpoint` is set";
            "endpoint": Text => "stands for the base URL in the key";
            "api_key_env": Text => "the environment variable that holds the key";
            "headers": HEADERS => "further headers: text, or {env: NAME} for secrets";
            "extra_body": MapOf(&Anything) => "further members of the request";
            "max_retries": Whole(0, 1000, "between 0 and 1000"), or "5" => "retries after transport failures, at most 1000";
            "timeout": Seconds, or "120.0" => "seconds one request may take, more than 0";
            "deadline": Seconds, or "900.0" => "seconds one embedding may take with retries and waits, more than 0";
            "max_requests_per_minute": COUNT => "the most requests to the endpoint in a minute";
            "max_tokens_per_minute": COUNT => "the most tokens that are sent in a minute";
        ],
    ],
);
