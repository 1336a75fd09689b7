//! Verification: the hash of every row, SQLite's own checks, and consistency between rows.

use rusqlite::Connection;

use super::documents::is_object;
use super::row::{all, fault, intact};
use super::schema::{PIECE_INDEX, TABLES, Table};
use super::{Store, piece_index, text};
use crate::error::{Error, Result};

/// Queries that must select no row, each with a message for the first column of a row.
const CONSTRAINTS: [(&str, &str); 9] = [
    (
        "document {} does not have its chunks 0, 1, 2, ...",
        "SELECT doc FROM document LEFT JOIN chunk USING (doc) GROUP BY doc HAVING \
         count(chunk) <> chunks OR (count(chunk) > 0 \
         AND (min(ordinal) <> 0 OR max(ordinal) <> count(chunk) - 1))",
    ),
    (
        "chunk {} is not within its document's text",
        "SELECT chunk FROM chunk JOIN document USING (doc) JOIN body USING (body) \
         WHERE chunk.start < 0 OR chunk.start >= chunk.\"end\" OR chunk.\"end\" > body.chars \
         OR token_start > token_end",
    ),
    (
        "body {} lacks pieces of its text",
        "SELECT body FROM body LEFT JOIN piece USING (body) GROUP BY body \
         HAVING coalesce(sum(piece.chars), 0) <> body.chars",
    ),
    (
        "vector {} has another length than its dimensions",
        "SELECT hex(key) FROM vector WHERE length(data) <> 2 * dim",
    ),
    (
        "vectors of {} dimensions are mixed with others; index again with one embedder",
        "SELECT DISTINCT dim FROM chunk JOIN vector ON key = vector_key \
         WHERE vector_key = wanted_key AND dim <> (SELECT dim FROM chunk JOIN vector \
         ON key = vector_key WHERE vector_key = wanted_key ORDER BY chunk LIMIT 1)",
    ),
    (
        "chunk {} is not linked to its wanted vector, which exists",
        "SELECT chunk FROM chunk JOIN vector ON key = wanted_key \
         WHERE vector_key IS NOT wanted_key",
    ),
    (
        "document {} is not in the change log",
        "SELECT doc FROM document WHERE doc NOT IN (SELECT doc FROM change)",
    ),
    (
        "document {} has an id that may be reused",
        "SELECT doc FROM document WHERE doc > \
         (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'document')",
    ),
    (
        "chunk {} has a key that may be reused",
        "SELECT chunk FROM chunk WHERE chunk > \
         (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'chunk')",
    ),
];

impl Store {
    /// Checks every row against its hash, runs SQLite's own checks, and checks the rows against each
    /// other; returns one line for each fault.
    pub fn verify(&self) -> Result<Vec<String>> {
        self.read(|db| {
            let mut faults = Vec::new();
            report(&mut faults, "sqlite", sqlite(db))?;
            let exists = piece_index::exists(db)?;
            for table in TABLES
                .into_iter()
                .filter(|table| exists || table.name != PIECE_INDEX.name)
            {
                report(&mut faults, table.name, rows(db, table))?;
            }
            report(&mut faults, "body", texts(db))?;
            for (line, sql) in CONSTRAINTS {
                report(&mut faults, "rows", broken(db, line, sql))?;
            }
            Ok(faults)
        })
    }
}

/// Adds the faults that a check found; a check that failed because of damage is a fault too.
fn report(faults: &mut Vec<String>, what: &str, found: Result<Vec<String>>) -> Result<()> {
    match found {
        Ok(lines) => faults.extend(lines),
        Err(Error::Damaged(text)) => faults.push(format!("{what}: {text}")),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn sqlite(db: &Connection) -> Result<Vec<String>> {
    let mut lines = all(db, "PRAGMA integrity_check", [], |row| {
        Ok(row.get::<_, String>(0)?)
    })?;
    lines.retain(|line| line != "ok");
    lines.extend(all(db, "PRAGMA foreign_key_check", [], |row| {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        let key = row.get::<_, Option<i64>>(1)?.unwrap_or(0);
        Ok(format!("{table} {key} refers to a missing row of {parent}"))
    })?);
    Ok(lines)
}

fn rows(db: &Connection, table: &Table) -> Result<Vec<String>> {
    let sql = format!("SELECT {} FROM {} ORDER BY 1", table.select(), table.name);
    let lines = all(db, &sql, [], |row| {
        Ok(if intact(table, row, 0)? {
            None
        } else {
            Some(fault(table, row.get_ref(0)?))
        })
    })?;
    Ok(lines.into_iter().flatten().collect())
}

/// Checks each text against its key, and the metadata of each document.
fn texts(db: &Connection) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for body in all(db, "SELECT body FROM body", [], |row| {
        Ok(row.get::<_, i64>(0)?)
    })? {
        report(&mut lines, "text", text::read(db, body).map(|_| Vec::new()))?;
    }
    let sql = "SELECT doc, metadata FROM document ORDER BY doc";
    let unreadable = all(db, sql, [], |row| {
        let doc: i64 = row.get(0)?;
        let metadata = row.get_ref(1)?;
        // SQLite takes for JSON what cannot be read: it nests deeper, or has half a surrogate pair.
        let readable = metadata.as_str().is_ok_and(is_object);
        Ok((!readable).then(|| format!("document {doc} has metadata that is not a JSON object")))
    })?;
    lines.extend(unreadable.into_iter().flatten());
    Ok(lines)
}

fn broken(db: &Connection, line: &str, sql: &str) -> Result<Vec<String>> {
    all(db, sql, [], |row| {
        let key = match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => String::from_utf8_lossy(other.as_bytes().unwrap_or_default()).into_owned(),
        };
        Ok(line.replace("{}", &key))
    })
}
