//! Large bodies, which stand in files of their own beside the segments.

pub(crate) mod folder;
pub(crate) mod lost_blobs;
