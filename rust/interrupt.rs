//! Interrupts: how a search is told that nobody waits for its answer any more.
//!
//! The interrupt of a thread is asked between blocks of work, by the loops of a search and by SQLite.
//! It is a property of the thread and not an argument, since SQLite asks by a callback. A loop that
//! runs on several threads takes the interrupt of the one that called it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// A flag that ends the work of the threads that have it, by itself after a time.
#[derive(Debug, Clone)]
pub struct Interrupt(Arc<State>);

#[derive(Debug)]
struct State {
    is_due: AtomicBool,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Returns an interrupt that is due after a time, or when [`Interrupt::set`] is called.
    #[must_use]
    pub fn after(time: Option<Duration>) -> Self {
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        Interrupt(Arc::new(State {
            is_due: AtomicBool::new(false),
            deadline,
        }))
    }

    /// Makes it due.
    pub fn set(&self) {
        self.0.is_due.store(true, Ordering::Relaxed);
    }

    /// Returns whether the work is to end.
    #[must_use]
    pub fn is_due(&self) -> bool {
        if self.0.is_due.load(Ordering::Relaxed) {
            return true;
        }
        let is_past = self.0.deadline.is_some_and(|at| Instant::now() >= at);
        if is_past {
            self.set();
        }
        is_past
    }
}

/// Makes an interrupt that of this thread, `None` for no interrupt; returns the one before.
pub fn replace(interrupt: Option<Interrupt>) -> Option<Interrupt> {
    CURRENT.with_borrow_mut(|current| std::mem::replace(current, interrupt))
}

/// Returns the interrupt of this thread.
#[must_use]
pub fn current() -> Option<Interrupt> {
    CURRENT.with_borrow(Clone::clone)
}

/// Returns whether the work of this thread is to end.
#[must_use]
pub fn is_due() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(Interrupt::is_due))
}

/// Returns an error if the work of this thread is to end.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn check() -> Result<()> {
    match is_due() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_due_when_it_is_set_or_its_time_is_over() {
        let interrupt = Interrupt::after(None);
        assert!(!interrupt.is_due());
        interrupt.clone().set();
        assert!(interrupt.is_due());
        assert!(Interrupt::after(Some(Duration::ZERO)).is_due());
    }

    #[test]
    fn a_thread_without_an_interrupt_goes_on() {
        assert_eq!(check(), Ok(()));
        let interrupt = Interrupt::after(None);
        interrupt.set();
        assert!(replace(Some(interrupt)).is_none());
        assert_eq!(check(), Err(Error::Interrupted));
        assert!(replace(None).is_some());
        assert_eq!(check(), Ok(()));
    }
}
