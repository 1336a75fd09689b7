//! Salvage: the rows of a database that SQLite cannot open, or not read whole.
//!
//! Every row has a hash of its table's name and its fields, so a row is known as such wherever it is
//! found. [`pages`] reads the pages of `crx.db` and of its write-ahead log without SQLite, [`cells`]
//! the rows of a page. Intact rows are [`staging`] in a database of their own, and documents,
//! contexts and vectors are then put into a new index as any others ([`documents`]).

mod cells;
mod documents;
mod pages;
mod staging;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use super::{Store, backup};
use crate::error::{Error, Result};
use crate::index_folder::IndexFolder;
use pages::Pages;
use staging::Staging;

/// Takes the intact rows of the index in `source` into the new index folder `target`, and returns
/// how many documents, chunks, contexts and vectors were kept and lost.
///
/// `source` is only read. `settings` are those of a new index, used where its own are lost. The folder
/// appears when the copy is whole; its derived files are rebuilt on first use.
///
/// # Errors
///
/// [`Error::Damaged`] if there is no intact row, [`Error::NotAnIndex`] if there is no `crx.db`,
/// [`Error::NoRoom`].
pub fn salvage(
    source: &Path,
    target: &Path,
    settings: &[(String, String)],
) -> Result<BTreeMap<String, i64>> {
    let pages = Pages::open(source).map_err(|error| error.at(source))?;
    let taken = backup::make_whole(target, |partial| fill(&pages, source, partial, settings));
    taken.map_err(|error| error.at(target))
}

fn fill(
    pages: &Pages,
    source: &Path,
    folder: &Path,
    settings: &[(String, String)],
) -> Result<BTreeMap<String, i64>> {
    let store = Store::open(folder, true, true)?;
    let staging = Staging::create(folder)?;
    let mut counts = stage(pages, &staging)?;
    if counts["rows"] == 0 {
        return Err(Error::Damaged(format!(
            "{}: crx.db has no intact row; restore a copy, or index into a new folder",
            source.display()
        )));
    }
    store.set_settings(settings)?;
    store.set_settings(&staging.settings()?)?;
    for (uri, reason) in staging.failures()? {
        store.record_failure(&uri, &reason)?;
    }
    counts.extend(documents::put(&staging, &store)?);
    store.flush()?;
    drop(staging);
    IndexFolder::open(folder)?.remove(OsStr::new(staging::FILE))?;
    Ok(counts)
}

/// Stages the intact rows of all pages, but those that SQLite had freed: they may hold rows that were
/// deleted. If the list of free pages is lost, these are taken too.
fn stage(pages: &Pages, staging: &Staging) -> Result<BTreeMap<String, i64>> {
    let (free, is_list_whole) = pages.free();
    let mut counts = BTreeMap::from([
        ("pages_lost", pages.missing()),
        ("rows", 0),
        ("rows_lost", 0),
    ]);
    let mut add = |name: &'static str, more: i64| *counts.entry(name).or_default() += more;
    for page in pages.numbers().filter(|page| !free.contains(page)) {
        let Some(content) = pages.read(page) else {
            add("pages_lost", 1);
            continue;
        };
        if content.iter().all(|&byte| byte == 0) {
            add("pages_lost", 1);
        }
        for cell in cells::of_page(pages, page, &content) {
            match cell.and_then(|cell| cell.row().map(|row| staging.add(&row))) {
                Ok(staged) => {
                    staged?;
                    add("rows", 1);
                }
                Err(cells::Lost::Row) => add("rows_lost", 1),
                Err(cells::Lost::NotOurs) => {}
            }
        }
    }
    add("removed_may_be_back", i64::from(!is_list_whole));
    staging.commit()?;
    let named = counts
        .into_iter()
        .map(|(name, count)| (name.to_string(), count));
    Ok(named.collect())
}
