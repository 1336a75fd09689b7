//! Who is writing? One process at a time, by `flock` on `<index>/lock`.
//!
//! The kernel lets go of the lock when its holder dies, so a stale file never blocks; its content
//! serves only the message.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// The writer's lock, held as long as this lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the index, or says who holds it.
    pub(super) fn take(index: &Path) -> Result<Self> {
        let path = index.join("lock");
        let io = |error: std::io::Error| Error::io(&path, &error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(held(index, &mut file)),
            Err(errno) => return Err(io(errno.into())),
        }
        file.set_len(0).map_err(io)?;
        file.write_all(holder().as_bytes()).map_err(io)?;
        Ok(Lock { _file: file })
    }
}

/// "pid\nhost\nstart time\n" of this process.
fn holder() -> String {
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy().into_owned();
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    format!("{}\n{host}\n{}\n", std::process::id(), timestamp(since))
}

fn held(index: &Path, file: &mut File) -> Error {
    let index = index.display();
    let next = "wait for it to end, or stop it";
    let mut content = String::new();
    // A holder that has not written its lines yet is as much a holder: the message says less.
    if file
        .rewind()
        .and_then(|()| file.read_to_string(&mut content))
        .is_err()
    {
        content.clear();
    }
    let mut lines = content.lines();
    match (lines.next(), lines.next(), lines.next()) {
        (Some(pid), Some(host), Some(since)) => Error::Locked(format!(
            "{index}: process {pid} on {host} has been writing since {since}; {next}"
        )),
        _ => Error::Locked(format!("{index}: another process is writing; {next}")),
    }
}

/// Seconds since 1970 as an ISO 8601 time, UTC; the calendar is Hinnant's (2013) `civil_from_days`.
fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_second_writer_is_told_who_writes_and_since_when() {
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
        assert!(message.contains(" has been writing since 20"), "{message}");
        assert!(
            message.ends_with("; wait for it to end, or stop it"),
            "{message}"
        );
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn what_a_dead_writer_left_behind_does_not_block() {
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

    #[test]
    fn timestamps_follow_the_calendar() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(timestamp(4_102_444_799), "2099-12-31T23:59:59Z");
    }
}
