//! Settings of the index, pointers to derived files, and inputs that failed.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::Store;
use super::row::{OnConflict, all, check, first, insert, text};
use super::schema::{DERIVED, FAILURE, SETTING};
use crate::error::{Error, Result};

/// A pointer to a published derived file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// Its name in `derived/`.
    pub file: String,
    /// The store's sequence number that it reflects.
    pub seq: i64,
    /// The keyed BLAKE3 of its bytes.
    pub seal: [u8; 32],
}

impl Store {
    /// Returns the settings with which the index was built, by name.
    pub fn settings(&self) -> Result<Vec<(String, String)>> {
        let sql = "SELECT name, value, hash FROM setting ORDER BY name";
        self.read(|db| {
            all(db, sql, [], |row| {
                check(&SETTING, row, 0)?;
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }

    /// Stores these settings; others do not change.
    pub fn set_settings(&self, settings: &[(String, String)]) -> Result<()> {
        self.write(|db| {
            settings
                .iter()
                .try_for_each(|(name, value)| put_setting(db, name, value))
        })
    }

    /// Returns the published derived file of that name.
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

    /// Sets the published derived file of that name, or removes it (`None`).
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
            insert(db, &DERIVED, OnConflict::Replace, &fields)?;
            Ok(())
        })
    }

    /// Records an input that could not be read; putting or removing the document deletes the record.
    pub fn record_failure(&self, uri: &str, reason: &str) -> Result<()> {
        if uri.is_empty() {
            return Err(Error::Invalid(
                "uri: empty; give the input that failed".into(),
            ));
        }
        let uri = self.stored_uri(uri);
        self.write_in_group(|db| put_failure(db, &uri, reason))
    }

    /// Deletes the records of inputs that could not be read; documents of those URIs stay.
    pub fn forget_failures(&self, uris: &[String]) -> Result<()> {
        let uris: Vec<_> = uris.iter().map(|uri| self.stored_uri(uri)).collect();
        self.write_in_group(|db| {
            for uri in &uris {
                db.prepare_cached("DELETE FROM failure WHERE uri = ?")?
                    .execute([uri])?;
            }
            Ok(())
        })
    }

    /// Returns `(uri, reason)` of the inputs that could not be read, by URI.
    pub fn failures(&self) -> Result<Vec<(String, String)>> {
        let stored = self.read(stored_failures)?;
        let located = |(uri, reason): (String, String)| (self.absolute_uri(&uri), reason);
        Ok(stored.into_iter().map(located).collect())
    }
}

/// Stores a setting.
pub(super) fn put_setting(db: &Connection, name: &str, value: &str) -> Result<()> {
    let fields = [text(name), text(value)];
    insert(db, &SETTING, OnConflict::Replace, &fields).map(drop)
}

/// Stores the failure of an input whose stored URI is given.
fn put_failure(db: &Connection, uri: &str, reason: &str) -> Result<()> {
    let fields = [text(uri), text(reason)];
    insert(db, &FAILURE, OnConflict::Replace, &fields).map(drop)
}

/// Returns the stored `(uri, reason)` of the inputs that could not be read.
fn stored_failures(db: &Connection) -> Result<Vec<(String, String)>> {
    let sql = "SELECT uri, reason, hash FROM failure ORDER BY uri";
    all(db, sql, [], |row| {
        check(&FAILURE, row, 0)?;
        Ok((row.get(0)?, row.get(1)?))
    })
}
