//! Comparison of a database's schema with the one that crx creates.
//!
//! A folder from elsewhere may hold a trigger, a view, an expression index or a generated column,
//! and SQLite would run their SQL. A database that has anything but the expected tables and indexes,
//! with the expected SQL, is not opened.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::row::all;
use super::schema;
use crate::error::{Error, Result};

/// Tables that SQLite itself creates, each with its SQL. `sqlite_stat1` and `sqlite_stat4` are there
/// after another program has run ANALYZE.
const INTERNAL: [&str; 3] = [
    "CREATE TABLE sqlite_sequence(name,seq)",
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

/// The kind and the name of an entry of the schema.
type Entry = (String, String);

/// Checks that a database has the schema that crx creates, and nothing else.
///
/// # Errors
/// [`Error::Incompatible`] names the first entry that is missing, added or different.
pub(super) fn check(db: &Connection, index: &Path) -> Result<()> {
    let refuse = |fact: String| {
        Err(Error::Incompatible(format!(
            "{}: crx.db {fact}; restore a copy, or take its rows out with `crx salvage`",
            index.display()
        )))
    };
    let mut expected = expected();
    let sql = "SELECT type, name, sql FROM sqlite_schema";
    let found = all(db, sql, [], |row| {
        Ok((
            (row.get::<_, String>(0)?, row.get::<_, String>(1)?),
            row.get::<_, Option<String>>(2)?,
        ))
    })?;
    for ((kind, name), sql) in found {
        // The index of a UNIQUE or PRIMARY KEY column, which is part of its table's SQL.
        if kind == "index" && name.starts_with("sqlite_autoindex_") && sql.is_none() {
            continue;
        }
        let sql = collapse(&sql.unwrap_or_default());
        if INTERNAL.contains(&sql.as_str()) {
            continue;
        }
        let entry = (kind, name);
        let known = expected.remove(&entry);
        let (kind, name) = (entry.0.escape_debug(), entry.1.escape_debug());
        match known {
            Some(known) if known == sql => {}
            Some(_) => return refuse(format!("has another {kind} \"{name}\" than crx creates")),
            None => {
                return refuse(format!(
                    "has the {kind} \"{name}\", which crx does not create"
                ));
            }
        }
    }
    let optional = schema::PIECE_INDEX.name;
    match expected.keys().find(|(_, name)| name != optional) {
        Some((kind, name)) => refuse(format!("lacks the {kind} \"{name}\"")),
        None => Ok(()),
    }
}

/// Returns the SQL of each entry that crx creates.
fn expected() -> BTreeMap<Entry, String> {
    let sql = format!("{}{}", schema::SQL, schema::CREATE_PIECE_INDEX);
    let lines: Vec<&str> = sql
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .collect();
    let joined = lines.join("\n");
    let statements = joined.split(';').map(collapse);
    let named = statements.filter_map(|sql| {
        let mut words = sql.split(' ').skip(1);
        let entry = (words.next()?.to_lowercase(), words.next()?.to_string());
        Some((entry, sql))
    });
    named.collect()
}

/// Returns a text with each run of white space replaced by one blank.
fn collapse(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}
