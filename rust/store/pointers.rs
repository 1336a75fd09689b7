//! What was the index built with, and which derived files hold? Small rows by name.

use rusqlite::types::ValueRef;

use super::Store;
use super::row::{Existing, all, check, first, insert, text};
use super::schema::{DERIVED, FAILURE, SETTING};
use crate::error::{Error, Result};

/// A pointer to a published derived file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// File name below `derived/`.
    pub file: String,
    /// The store's sequence number it reflects.
    pub seq: i64,
    /// Keyed BLAKE3 of its bytes.
    pub seal: [u8; 32],
}

impl Store {
    /// What the index was built with, by name.
    pub fn settings(&self) -> Result<Vec<(String, String)>> {
        let sql = "SELECT name, value, hash FROM setting ORDER BY name";
        self.read(|db| {
            all(db, sql, [], |row| {
                check(&SETTING, row, 0)?;
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }

    /// Keeps these settings; others stay as they are.
    pub fn set_settings(&self, settings: &[(String, String)]) -> Result<()> {
        self.write(|db| {
            for (name, value) in settings {
                insert(db, &SETTING, Existing::Replace, &[text(name), text(value)])?;
            }
            Ok(())
        })
    }

    /// The published derived file of that name.
    pub fn derived(&self, name: &str) -> Result<Option<Derived>> {
        let sql = "SELECT name, file, seq, seal, hash FROM derived WHERE name = ?";
        self.read(|db| {
            first(db, sql, [name], |row| {
                check(&DERIVED, row, 0)?;
                Ok(Derived {
                    file: row.get(1)?,
                    seq: row.get(2)?,
                    seal: row.get(3)?,
                })
            })
        })
    }

    /// Points a name at a published file, or (None) at nothing.
    pub fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()> {
        self.write(|db| {
            let Some(Derived { file, seq, seal }) = derived else {
                db.prepare_cached("DELETE FROM derived WHERE name = ?")?
                    .execute([name])?;
                return Ok(());
            };
            let fields = [
                text(name),
                text(file),
                ValueRef::Integer(*seq),
                ValueRef::Blob(seal),
            ];
            insert(db, &DERIVED, Existing::Replace, &fields)?;
            Ok(())
        })
    }

    /// Notes an input that could not be read; putting or removing the document clears it.
    pub fn record_failure(&self, uri: &str, reason: &str) -> Result<()> {
        if uri.is_empty() {
            return Err(Error::Invalid(
                "uri: empty; name the input that failed".into(),
            ));
        }
        self.write(|db| {
            insert(db, &FAILURE, Existing::Replace, &[text(uri), text(reason)])?;
            Ok(())
        })
    }

    /// `(uri, reason)` of the inputs that could not be read, by URI.
    pub fn failures(&self) -> Result<Vec<(String, String)>> {
        let sql = "SELECT uri, reason, hash FROM failure ORDER BY uri";
        self.read(|db| {
            all(db, sql, [], |row| {
                check(&FAILURE, row, 0)?;
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }
}
