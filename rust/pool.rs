//! The threads of parallel loops: one pool a process.
//!
//! rayon's own global pool does not survive a fork: the child inherits its queues and none of its
//! threads, so the first parallel loop would wait for ever. This pool is built again in the child.
//!
//! A thread may also work alone: its loops run in itself, so that they do not hold up those of other
//! threads.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool and the process it belongs to.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

thread_local! {
    /// The pool of a thread that works alone, of which it is the only one.
    static OWN: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// Makes this thread run its parallel loops alone from now on.
#[cfg(any(test, feature = "python"))]
pub fn work_alone() {
    if OWN.with_borrow(Option::is_none) {
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        OWN.set(alone.build().ok().map(Arc::new));
    }
}

/// Runs `work`, whose parallel loops use the pool of this process, or this thread if it works alone.
///
/// Without threads to be had, the loops run on rayon's global pool.
pub fn install<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match OWN.with_borrow(Clone::clone).or_else(pool) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn pool() -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = &*known
        && *owner == process
    {
        return Some(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build().ok()?);
    // The parent's pool has no threads here to be joined.
    std::mem::forget(known.replace((process, Arc::clone(&pool))));
    Some(pool)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn loops_use_the_pool_of_the_process() {
        let sum: i64 = install(|| (0..1000_i64).into_par_iter().sum());
        assert_eq!(sum, 499_500);
        let first = pool().unwrap();
        assert!(Arc::ptr_eq(&first, &pool().unwrap()));
    }

    #[test]
    fn the_loops_of_a_thread_that_works_alone_run_in_it() {
        let ran_in = std::thread::spawn(|| {
            work_alone();
            let own = std::thread::current().id();
            let ran = install(|| {
                let each = (0..1000)
                    .into_par_iter()
                    .map(|_| std::thread::current().id());
                each.collect::<Vec<_>>()
            });
            ran.iter().all(|&thread| thread == own)
        });
        assert!(ran_in.join().unwrap());
    }
}
