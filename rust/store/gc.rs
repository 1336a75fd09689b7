//! Garbage collection, and statistics of the index.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::Store;
use super::row::{all, value};
use crate::error::{Error, Result};

impl Store {
    /// Deletes the vectors, the texts and, if asked, the contexts that nothing refers to; returns the
    /// number of each. The file keeps its size; the space is reused.
    pub fn gc(&self, contexts: bool) -> Result<BTreeMap<String, i64>> {
        self.write(|db| {
            let mut dropped = BTreeMap::new();
            let mut drop = |name: &str, sql: &str| -> Result<()> {
                dropped.insert(name.to_string(), db.execute(sql, [])? as i64);
                Ok(())
            };
            drop(
                "vectors",
                "DELETE FROM vector WHERE NOT EXISTS \
                 (SELECT 1 FROM chunk WHERE vector_key = vector.key)",
            )?;
            if contexts {
                drop(
                    "contexts",
                    "DELETE FROM context WHERE NOT EXISTS \
                     (SELECT 1 FROM chunk WHERE context_key = context.key)",
                )?;
            }
            let unused = "body NOT IN (SELECT body FROM document)";
            db.execute(&format!("DELETE FROM piece WHERE {unused}"), [])?;
            db.execute(
                "DELETE FROM piece_index WHERE piece NOT IN (SELECT piece FROM piece)",
                [],
            )?;
            drop("texts", &format!("DELETE FROM body WHERE {unused}"))?;
            Ok(dropped)
        })
    }

    /// Returns the numbers of documents, chunks, tokens, vectors, pending vectors, contexts, failures,
    /// bytes of the folder, and chunks with each `outcome:<outcome>` of their context.
    pub fn stats(&self) -> Result<BTreeMap<String, i64>> {
        let mut stats = self.read(count)?;
        stats.insert("bytes".into(), bytes_below(self.path())?);
        Ok(stats)
    }

    /// Returns the languages of the documents, most frequent first, "" among them for unknown ones.
    pub fn langs(&self) -> Result<Vec<String>> {
        let langs = self.chunks_by_lang()?.into_iter();
        Ok(langs.map(|(lang, _)| lang).collect())
    }

    /// Returns each language ("" unknown) with the number of chunks of its documents, the language of
    /// most documents first.
    pub fn chunks_by_lang(&self) -> Result<Vec<(String, i64)>> {
        let sql = "SELECT lang, sum(chunks) FROM document \
                   GROUP BY lang ORDER BY count(*) DESC, lang";
        self.read(|db| all(db, sql, [], |row| Ok((row.get(0)?, row.get(1)?))))
    }
}

fn count(db: &Connection) -> Result<BTreeMap<String, i64>> {
    let counts = [
        ("documents", "SELECT count(*) FROM document"),
        ("chunks", "SELECT count(*) FROM chunk"),
        (
            "tokens",
            "SELECT coalesce(sum(last), 0) FROM \
             (SELECT max(token_end) AS last FROM chunk GROUP BY doc)",
        ),
        ("vectors", "SELECT count(*) FROM vector"),
        (
            "pending",
            "SELECT count(*) FROM chunk WHERE vector_key IS NOT wanted_key",
        ),
        ("contexts", "SELECT count(*) FROM context"),
        ("failures", "SELECT count(*) FROM failure"),
    ];
    let mut stats = BTreeMap::new();
    for (name, sql) in counts {
        stats.insert(name.to_string(), value(db, sql, [])?.unwrap_or(0));
    }
    let outcomes = "SELECT outcome, count(*) FROM chunk JOIN context ON key = context_key \
                    GROUP BY outcome";
    stats.extend(all(db, outcomes, [], |row| {
        Ok((format!("outcome:{}", row.get::<_, String>(0)?), row.get(1)?))
    })?);
    Ok(stats)
}

fn bytes_below(folder: &Path) -> Result<i64> {
    let io = |error: std::io::Error| Error::io(folder, &error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        match entry.metadata() {
            Ok(file) if file.is_dir() => bytes += bytes_below(&entry.path())?,
            Ok(file) => bytes += file.len() as i64,
            // A writer may delete a file while a reader counts.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
        }
    }
    Ok(bytes)
}
