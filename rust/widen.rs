//! widen.
