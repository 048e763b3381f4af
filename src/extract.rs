//! Extractors: the part of a trajectory that is graded.
