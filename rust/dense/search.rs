//! Search of the live rows: of the base by its graph or by a scan, and of the tail by a scan.

use super::generation::Generation;
use super::live_rows::LiveRows;
use super::row_set::Selection;
use super::scan::{Collector, Rows, TopRows, scan, scan_batch, scan_codes};
use crate::error::Result;
use crate::store::Filter;

/// Returns the `k` rows of largest inner product with the query.
///
/// # Errors
/// [`Error::Damaged`](crate::error::Error::Damaged) if a file turns out to be damaged: rows and codes
/// are checked as they are read.
pub(super) fn nearest(
    live: &LiveRows,
    query: &[f32],
    k: usize,
    only: Option<&Filter>,
) -> Result<TopRows> {
    let tail = &live.tail;
    let found = scan(
        Rows::F16(&tail.values),
        query,
        k,
        &|row: usize| is_wanted(only, tail.docs[row]),
        |row| tail.keys[row],
    );
    match live.searched_base() {
        Some(base) => Ok(found.merge(nearest_in_base(live, base, query, k, only)?)),
        None => Ok(found),
    }
}

/// Returns for each query of `dim` values what its collector, `empty` at first, has after one scan of
/// all rows; `None` if there is a graph, whose rows are not scanned.
///
/// # Errors
/// [`Error::Damaged`](crate::error::Error::Damaged) if the rows are not as they were written.
pub(super) fn collect<C: Collector>(
    live: &LiveRows,
    queries: &[f32],
    empty: &C,
    only: Option<&Filter>,
) -> Result<Option<Vec<C>>> {
    let dim = live.dim;
    if live
        .searched_base()
        .is_some_and(|base| base.graph.is_some())
    {
        return Ok(None);
    }
    let tail = &live.tail;
    let found = scan_batch(
        &tail.values,
        queries,
        dim,
        empty,
        &|row: usize| is_wanted(only, tail.docs[row]),
        |row| tail.keys[row],
    );
    let Some(base) = live.searched_base() else {
        return Ok(Some(found));
    };
    base.matrix.check()?;
    let (values, keys) = (base.matrix.all_values(), base.matrix.keys());
    let key_of = |row: usize| keys[row];
    let in_base = match live.allowed_in(&base.matrix, only) {
        Some(allowed) => scan_batch(values, queries, dim, empty, &allowed, key_of),
        None => scan_batch(values, queries, dim, empty, &|_: usize| true, key_of),
    };
    let pairs = found.into_iter().zip(in_base);
    let merged = pairs.map(|(tail, base)| tail.merge(base));
    Ok(Some(merged.collect()))
}

fn nearest_in_base(
    live: &LiveRows,
    base: &Generation,
    query: &[f32],
    k: usize,
    only: Option<&Filter>,
) -> Result<TopRows> {
    let allowed = live.allowed_in(&base.matrix, only);
    if let Some(graph) = &base.graph {
        let found = match &allowed {
            None => Some(graph.search(&base.matrix, query, k)?),
            Some(allowed) => graph.search_allowed(&base.matrix, query, k, allowed)?,
        };
        // A walk misses rows that no list leads to from where it begins.
        if let Some(found) = found.filter(|found| found.len() >= k.min(base.matrix.rows())) {
            return Ok(best_of_found(base, found, k));
        }
    }
    match &allowed {
        Some(allowed) => nearest_by_scan(base, query, k, allowed),
        None => nearest_by_scan(base, query, k, &|_: usize| true),
    }
}

/// Returns the best `k` of these rows.
fn best_of_found(base: &Generation, found: Vec<(usize, f32)>, k: usize) -> TopRows {
    let mut best = TopRows::new(k);
    for (row, score) in found {
        best.push(score, || base.matrix.keys()[row]);
    }
    best
}

/// Scans the rows.
fn nearest_by_scan(
    base: &Generation,
    query: &[f32],
    k: usize,
    allowed: &impl Selection,
) -> Result<TopRows> {
    let matrix = &base.matrix;
    matrix.check_codes()?;
    let found = scan_codes(
        matrix.codes(),
        matrix.all_values(),
        query,
        k,
        allowed,
        |row| matrix.check_row(row),
        |row| matrix.keys()[row],
    );
    matrix.require_undamaged()?;
    Ok(found)
}

fn is_wanted(only: Option<&Filter>, doc: i64) -> bool {
    only.is_none_or(|only| only.contains(doc))
}
