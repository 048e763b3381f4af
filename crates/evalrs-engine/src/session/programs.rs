//! What is known of the programs that a suite names: their files, what runs them, and which further files they load.
//!
//! The last is known in two steps, like the depfile of a compiler. A key of everything else, the base key, leads to an
//! entry of the store that lists what the program was seen to load; the digests of those files complete the key that
//! its results are kept under. Where there is no such entry the program is loaded once, before anything is keyed. What
//! it loads only later is added to the entry when it is seen, before any result that rests on it is durable.
//!
//! The entry also lists where the program looked for files that were not there. Those add nothing to keys as long as
//! they are not: one that is made is one that may be loaded in place of another.
//!
//! Files that a command names and writes are known likewise, and are in no key: see `outputs`.

mod arguments;
pub(crate) mod file_state;
mod imports;
pub(crate) mod inputs;
pub(crate) mod listings;
pub(crate) mod outputs;
pub(crate) mod program_context;
pub(crate) mod program_set;
pub(crate) mod read_program;

#[cfg(test)]
mod tests;
