//! The fuzzing of the core: libFuzzer, which looks for inputs that reach new code.
#![no_main]

mod entry_points;

use std::sync::LazyLock;

use _native::{analyze, error, lexical, passages, split, store};
use libfuzzer_sys::fuzz_target;

use entry_points::EntryPoints;

static ENTRY_POINTS: LazyLock<EntryPoints> = LazyLock::new(EntryPoints::new);

fuzz_target!(|data: &[u8]| ENTRY_POINTS.run(data));
