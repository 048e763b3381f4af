//! Gates: aggregates → passed, failed or undecided.
