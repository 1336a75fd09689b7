//! The threads of parallel loops: one pool a process.
//!
//! rayon's own global pool does not survive a fork: the child inherits its queues and none of its
//! threads, so the first parallel loop would wait for ever. This pool is built again in the child.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool and the process it belongs to.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs `work`, whose parallel loops use the pool of this process.
///
/// Without threads to be had, the loops run on rayon's global pool.
pub fn install<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
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
}
