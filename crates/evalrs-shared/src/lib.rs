//! A cache that several machines share: a log of each writer in a bucket that anybody may write to.
//!
//! Whoever can write to a bucket decides what is in it, and not what a reader believes. Each writer has a log of its own, signed
//! with its key. A reader names the writers that it believes, with their keys. What others wrote is not there for it.
//!
//! # Owns
//!
//! - [`head`]: what a log says, and its signature. [`keys`]: the keys of writers. [`trust`]: whether a head is believed.
//! - [`bucket`]: where objects are: a folder, a server, S3, Google Cloud Storage, Azure.
//! - [`sealed`]: outcomes as an object, named by the digest of its bytes.
//! - [`local`]: what was read, on this machine.
//! - [`reading`] and [`writing`]: the newest heads and what they list; a new head with what is new here. [`pruning`]: objects that
//!   no head needs any more.
//!
//! # Must not know
//!
//! What an outcome means, and when it is wanted: `evalrs-use-cases` asks for it.
//!
//! # Where to begin
//!
//! With [`trust::ReaderTrust::read`]: it decides what is believed. Then [`reading::pull`].

pub mod bucket;
pub mod head;
pub mod keys;
pub mod local;
pub mod pruning;
pub mod reading;
pub mod sealed;
pub mod trust;
pub mod writing;
