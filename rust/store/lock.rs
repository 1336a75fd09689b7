//! The writer's lock: an exclusive file lock on `<index>/lock`.
//!
//! The operating system releases the lock when its process ends, so a stale file never blocks. The
//! content of the file is only used in the error message.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::files;
use crate::index_folder::{Access, IndexFolder};

/// The writer's lock, which is held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A forked child may have inherited the file: closing it alone would not release the lock.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of an index.
    ///
    /// # Errors
    /// [`Error::Locked`] with the process that holds it.
    pub(super) fn take(index: &Path) -> Result<Self> {
        let path = index.join("lock");
        let io = |error: std::io::Error| Error::io(&path, &error);
        let mut file = IndexFolder::open(index)?.file(OsStr::new("lock"), Access::Create)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(index, &mut file)),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        file.set_len(0).map_err(io)?;
        file.write_all(holder().as_bytes()).map_err(io)?;
        Ok(Lock { file })
    }
}

/// Returns "pid\nhost\nstart\n" of this process; the start is in seconds since 1970.
fn holder() -> String {
    let host = files::host_name();
    format!("{}\n{host}\n{}\n", std::process::id(), now_s())
}

fn held(index: &Path, file: &mut File) -> Error {
    let index = index.display();
    let next = "wait for it to end, or stop it";
    let mut content = String::new();
    // The holder may not have written its lines yet, and Windows does not allow to read them.
    if file
        .rewind()
        .and_then(|()| file.read_to_string(&mut content))
        .is_err()
    {
        content.clear();
    }
    let mut lines = content.lines();
    let (pid, host) = (lines.next(), lines.next());
    let start_s: Option<u64> = lines.next().and_then(|line| line.parse().ok());
    match (pid, host, start_s) {
        (Some(pid), Some(host), Some(start_s)) => {
            let seconds = now_s().saturating_sub(start_s);
            Error::Locked(format!(
                "{index}: process {pid} on {host} has been writing for {seconds} s; {next}"
            ))
        }
        _ => Error::Locked(format!("{index}: another process is writing; {next}")),
    }
}

fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_second_writer_is_refused_with_the_process_that_writes() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        let Error::Locked(message) = Lock::take(folder.path()).unwrap_err() else {
            panic!()
        };
        let start = format!(
            "{}: process {} on ",
            folder.path().display(),
            std::process::id()
        );
        assert!(message.starts_with(&start), "{message}");
        let end = " s; wait for it to end, or stop it";
        assert!(message.ends_with(end), "{message}");
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn the_lock_file_of_a_dead_writer_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("lock"),
            "1\nelsewhere\n2001-01-01T00:00:00Z\n",
        )
        .unwrap();
        let _held = Lock::take(folder.path()).unwrap();
        let content = std::fs::read_to_string(folder.path().join("lock")).unwrap();
        assert!(content.starts_with(&std::process::id().to_string()));
        assert!(!content.contains("elsewhere"));
    }
}
