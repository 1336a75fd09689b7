//! The base of an index: found when it is opened, recorded when it is written.

use std::fs;
use std::path::PathBuf;

use super::Store;
use super::base::{Base, RELATIVE, path_of};
use super::documents::DocumentRow;
use super::pointers::put_setting;
use crate::error::Result;

/// The setting that holds the base that URIs were last written with.
pub(super) const BASE: &str = "base";

/// Documents whose files are looked for to find out whether an index was moved without them.
const SAMPLE: usize = 10;
const SAMPLE_IDS: i64 = 100;

impl Store {
    /// Returns the handle with a base: it takes and gives absolute URIs, and stores those below the
    /// base relative to it.
    ///
    /// `folder` is the URI of the folder that holds the index. It is the base unless the index was
    /// moved without its documents: then the base is still the recorded one, where they are. A writer
    /// records the base.
    pub fn located(mut self, folder: &str) -> Result<Self> {
        let settings = self.settings()?.into_iter();
        let recorded = settings
            .filter(|(name, _)| name == BASE)
            .map(|(_, uri)| uri)
            .next();
        let base = self.find_base(folder, recorded.as_deref().unwrap_or_default())?;
        if self.writable && recorded.as_deref() != Some(base.folder()) {
            self.write(|db| put_setting(db, BASE, base.folder()))?;
        }
        self.base = Some(base);
        Ok(self)
    }

    /// Returns the form of a URI in settings and files of the index.
    pub fn stored_uri(&self, uri: &str) -> String {
        self.base
            .as_ref()
            .map_or_else(|| uri.to_string(), |base| base.stored(uri).into_owned())
    }

    /// Returns the URI of a stored form.
    pub fn absolute_uri(&self, stored: &str) -> String {
        self.base.as_ref().map_or_else(
            || stored.to_string(),
            |base| base.absolute(stored).into_owned(),
        )
    }

    /// Returns metadata with the stored form of its path.
    pub(super) fn stored_metadata(&self, metadata: &str) -> String {
        self.base.as_ref().map_or_else(
            || metadata.to_string(),
            |base| base.stored_metadata(metadata).into_owned(),
        )
    }

    /// Returns a document with its URI and the path in its metadata made absolute.
    pub(super) fn locate(&self, row: DocumentRow) -> DocumentRow {
        row.located(self.base.as_ref())
    }

    fn find_base(&self, folder: &str, recorded: &str) -> Result<Base> {
        let here = Base::new(folder);
        if recorded.is_empty() || recorded == folder {
            return Ok(here);
        }
        let recorded = Base::new(recorded);
        let paths = self.sample_paths()?;
        let files_at = |base: &Base| {
            let files = paths.iter().map(|path| file_of(&base.absolute(path)));
            files
                .filter(|file| fs::symlink_metadata(file).is_ok())
                .count()
        };
        Ok(if files_at(&recorded) > files_at(&here) {
            recorded
        } else {
            here
        })
    }

    /// Returns the stored paths of a few files.
    fn sample_paths(&self) -> Result<Vec<String>> {
        let paths_of = |rows: Vec<DocumentRow>| -> Vec<String> {
            let paths = rows.iter().filter_map(|row| path_of(&row.metadata));
            let relative = paths.filter(|path| path.starts_with(RELATIVE));
            relative.take(SAMPLE).collect()
        };
        self.read(|db| {
            let first = paths_of(DocumentRow::find(
                db,
                "WHERE doc < ? ORDER BY doc",
                [SAMPLE_IDS],
            )?);
            if !first.is_empty() {
                return Ok(first);
            }
            Ok(paths_of(DocumentRow::find(db, "ORDER BY uri", [])?))
        })
    }
}

/// Returns the path of the file that has this URI.
fn file_of(uri: &str) -> PathBuf {
    let bytes = unescape(uri);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        std::ffi::OsString::from_vec(bytes).into()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }
}

/// Returns the bytes of a path whose URI has `\x` and two hexadecimal digits for a byte that is not
/// UTF-8, and `\x5c` for a backslash that would read as such an escape.
fn unescape(uri: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri;
    while let Some(at) = rest.find("\\x") {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let after = &rest[at + 2..];
        let digits = after.trim_start_matches("5cx");
        match high_byte(digits) {
            Some(byte) if digits.len() == after.len() => {
                bytes.push(byte);
                rest = &digits[2..];
            }
            Some(_) => {
                // One backslash of several was escaped.
                bytes.extend_from_slice(b"\\x");
                bytes.extend_from_slice(&after.as_bytes()[3..after.len() - digits.len() + 2]);
                rest = &digits[2..];
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// Returns the byte of the two digits that a text begins with, if it is not ASCII.
fn high_byte(text: &str) -> Option<u8> {
    let digits = text.get(..2)?;
    let is_digit = |digit: char| matches!(digit, '0'..='9' | 'a'..='f');
    let byte = digits
        .chars()
        .all(is_digit)
        .then(|| u8::from_str_radix(digits, 16).ok());
    byte.flatten().filter(|byte| *byte >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_bytes_of_the_path() {
        for (uri, path) in [
            ("/a/é.md", "/a/é.md".as_bytes()),
            ("/a/caf\\xe9.md", b"/a/caf\xe9.md"),
            ("/a/caf\\x5cxe9.md", b"/a/caf\\xe9.md"),
            ("/a/caf\\x5cx5cxe9.md", b"/a/caf\\x5cxe9.md"),
            ("/a/\\x41\\xEé", "/a/\\x41\\xEé".as_bytes()),
            ("/a/\\x5c", b"/a/\\x5c"),
            ("\\x", b"\\x"),
        ] {
            assert_eq!(unescape(uri), path, "{uri}");
        }
    }
}
