//! Statements that the interrupt of their thread may end.

use std::cell::Cell;

use rusqlite::Connection;

use crate::error::Result;
use crate::interrupt;

thread_local! {
    /// Whether the interrupt of this thread may end its statements.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Steps of SQLite's machine between two questions whether the search is to end: some 0.1 ms.
const STEPS: i32 = 10_000;

/// Lets interrupts end the statements of filters. All others are short, or must not be ended halfway:
/// a search may first bring the legs up.
pub(super) fn watch(db: &mut Connection) -> Result<()> {
    db.progress_handler(STEPS, Some(|| IS_WATCHED.get() && interrupt::is_due()))?;
    Ok(())
}

/// Lets the interrupt of this thread end its statements until it is dropped.
pub(super) struct Watched;

impl Watched {
    pub(super) fn new() -> Self {
        IS_WATCHED.set(true);
        Watched
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        IS_WATCHED.set(false);
    }
}
