//! What did a model write of this chunk? Contexts by content: the dear part, kept until `gc` is
//! told to drop them.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::chunks::Stored;
use super::row::{self, Existing, check, first, hex, insert};
use super::schema::CONTEXT;
use super::{Store, changes, vectors};
use crate::error::{Error, Result};

/// A context as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRow {
    /// What made it.
    pub generator: String,
    /// What became of making it: "ok", "retried", "rejected:...", "failed:...".
    pub outcome: String,
    /// The text, or "" where none was made.
    pub text: String,
}

impl Store {
    /// Keeps contexts under their keys. An existing one is left as it is, unless it is damaged.
    pub fn put_contexts(&self, rows: &[(Vec<u8>, ContextRow)]) -> Result<()> {
        if rows.iter().any(|(key, _)| key.is_empty()) {
            return Err(Error::Invalid(
                "a context's key is empty; nothing was put".into(),
            ));
        }
        self.write(|db| {
            for (
                key,
                ContextRow {
                    generator,
                    outcome,
                    text,
                },
            ) in rows
            {
                let sql = "SELECT key, generator, outcome, text, hash FROM context WHERE key = ?";
                if first(db, sql, [key], |row| row::intact(&CONTEXT, row, 0))? == Some(true) {
                    continue;
                }
                let words = [generator, outcome, text].map(|word| row::text(word));
                let fields = [ValueRef::Blob(key), words[0], words[1], words[2]];
                insert(db, &CONTEXT, Existing::Replace, &fields)?;
            }
            Ok(())
        })
    }

    /// The context of each key, or None where there is none.
    pub fn contexts(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<ContextRow>>> {
        let sql = "SELECT key, generator, outcome, text, hash FROM context WHERE key = ?";
        self.read(|db| {
            let find = |key: &Vec<u8>| {
                first(db, sql, [key], |row| {
                    check(&CONTEXT, row, 0)?;
                    let (generator, outcome) = (row.get(1)?, row.get(2)?);
                    Ok(ContextRow {
                        generator,
                        outcome,
                        text: row.get(3)?,
                    })
                })
            };
            keys.iter().map(find).collect()
        })
    }

    /// Gives a chunk its context and the vector it now wants, in one transaction. It keeps the
    /// vector it has until the wanted one is there.
    pub fn link_context(&self, chunk: i64, context_key: &[u8], vector_key: &[u8]) -> Result<()> {
        self.write(|db| {
            require(db, &[context_key])?;
            let Some(former) = Stored::find(db, "chunk = ?", [chunk])?.pop() else {
                return Err(Error::Invalid(format!(
                    "chunk {chunk}: no such chunk; its document was replaced or removed"
                )));
            };
            let mut stored = former.clone();
            stored.context_key = context_key.to_vec();
            stored.wanted_key = vector_key.to_vec();
            vectors::link(db, &mut stored)?;
            if stored.sealed() == former.sealed() {
                return Ok(());
            }
            stored.write(db)?;
            changes::log(db, &[stored.doc])
        })
    }
}

/// Fails unless every key that is not empty has its context.
pub(super) fn require(db: &Connection, keys: &[impl AsRef<[u8]>]) -> Result<()> {
    for key in keys.iter().map(AsRef::as_ref).filter(|key| !key.is_empty()) {
        if row::value::<i64>(db, "SELECT 1 FROM context WHERE key = ?", [key])?.is_none() {
            let key = hex(key);
            return Err(Error::Invalid(format!(
                "context {key}: not there; put it first"
            )));
        }
    }
    Ok(())
}
