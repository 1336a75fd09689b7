//! ann.
