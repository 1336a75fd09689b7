//! dense.

pub mod scan;
