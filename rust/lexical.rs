//! lexical.
