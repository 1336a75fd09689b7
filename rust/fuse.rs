//! fuse.
