//! The payload of a commit, and the conversion of tantivy's errors.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

use crate::analyze;
use crate::error::{Error, Result};

/// The payload of a commit. tantivy has no checksum for the file with the payload, so the payload has
/// its own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Payload {
    seq: i64,
    analyzer: u32,
    check: String,
}

impl Payload {
    /// Returns the payload of a commit that reflects this sequence number of the store.
    pub(super) fn new(seq: i64) -> Self {
        Payload {
            seq,
            analyzer: analyze::VERSION,
            check: check_of(seq, analyze::VERSION),
        }
    }

    /// Serializes the payload.
    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::System(error.to_string()))
    }

    /// Returns the sequence number in a payload, after checking it.
    pub(super) fn seq_of(folder: &Path, json: Option<&str>) -> Result<i64> {
        let payload: Payload = json
            .and_then(|json| serde_json::from_str(json).ok())
            .ok_or_else(|| damaged(folder, "its last commit cannot be read"))?;
        if payload.check != check_of(payload.seq, payload.analyzer) {
            return Err(damaged(
                folder,
                "its last commit does not match its checksum",
            ));
        }
        if payload.analyzer != analyze::VERSION {
            return Err(damaged(
                folder,
                "it was written by another version of the analyzer",
            ));
        }
        Ok(payload.seq)
    }
}

fn check_of(seq: i64, analyzer: u32) -> String {
    let hash = blake3::hash(format!("{seq} {analyzer}").as_bytes());
    hash.to_hex()[..16].to_owned()
}

/// Returns the error for a folder that cannot be used and that a writer rebuilds.
pub(super) fn damaged(folder: &Path, why: &str) -> Error {
    Error::Damaged(format!(
        "{}: {why}; the next command that writes rebuilds it",
        folder.display()
    ))
}

/// Converts an error of tantivy.
pub(super) fn error_of(folder: &Path, error: TantivyError) -> Error {
    match error {
        TantivyError::IoError(error)
        | TantivyError::OpenReadError(OpenReadError::IoError {
            io_error: error, ..
        }) => match error.kind() {
            // A file that is truncated or cannot be parsed.
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
                damaged(folder, &error.to_string())
            }
            _ => Error::io(folder, &error),
        },
        TantivyError::OpenReadError(_)
        | TantivyError::DataCorruption(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::DeserializeError(_)
        | TantivyError::SchemaError(_)
        | TantivyError::FieldNotFound(_) => damaged(folder, &one_line(&error)),
        error => {
            let text = format!("{}: {}", folder.display(), one_line(&error));
            // A worker thread reports only the message of its error (ENOSPC is 28).
            if text.contains("(os error 28)") {
                Error::NoRoom(text)
            } else {
                Error::System(text)
            }
        }
    }
}

fn one_line(error: &TantivyError) -> String {
    error.to_string().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_of_another_version_of_the_analyzer_are_not_searched() {
        let analyzer = analyze::VERSION - 1;
        let check = check_of(7, analyzer);
        let json = format!(r#"{{"seq":7,"analyzer":{analyzer},"check":"{check}"}}"#);
        let error = Payload::seq_of(Path::new("bm25"), Some(&json)).err();
        let told = "bm25: it was written by another version of the analyzer; the next command that \
                    writes rebuilds it";
        assert_eq!(error, Some(Error::Damaged(told.to_string())));
        let same = Payload::new(7).to_json().ok();
        assert_eq!(
            Payload::seq_of(Path::new("bm25"), same.as_deref()).ok(),
            Some(7)
        );
    }
}
