//! Search of the live rows: of the base by its graph, by its codes or by a scan, and of the tail by a
//! scan.

use super::generation::Generation;
use super::hnsw::{self, Hnsw};
use super::live_rows::LiveRows;
use super::scan::{self, Rows, TopRows, scan, scan_batch};
use crate::error::Result;
use crate::store::Filter;

/// The allowed rows that a scan reads in the CPU time in which a graph search visits one row. At 100,000 x
/// 384 a graph search that visits 256 took 0.43 ms of the CPU, and a scan of a half of the rows 3.45
/// ms, so 24; at 30,000, 0.31 and 0.70 ms, so 26 (`benches/ann.py`, AMD EPYC).
const SCANNED_PER_VISIT: f64 = 25.0;

/// A graph search is begun if it is likely to cost at most this share of a scan.
const MARGIN: f64 = 0.8;

/// The rows from which the share of allowed ones is estimated: its standard error is below 0.01.
const SAMPLE: usize = 4096;

/// Returns the `k` rows of largest inner product with the query.
///
/// # Errors
/// [`Error::Damaged`](crate::error::Error::Damaged) if a file turns out to be damaged: rows of a
/// generation with a graph are checked as they are read.
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
        |row| is_wanted(only, tail.docs[row]),
        |row| tail.keys[row],
    );
    match live.searched_base() {
        Some(base) => Ok(found.merge(nearest_in_base(live, base, query, k, only)?)),
        None => Ok(found),
    }
}

/// Returns for each query of `dim` values what [`nearest`] does, by one scan of all rows if they are
/// scanned.
pub(super) fn nearest_batch(
    live: &LiveRows,
    queries: &[f32],
    k: usize,
    only: Option<&Filter>,
) -> Result<Vec<TopRows>> {
    let dim = live.dim;
    let scanned = |base: &Generation| base.graph.is_none() && base.codes.is_none();
    if !live.searched_base().is_none_or(scanned) {
        let queries = queries.chunks_exact(dim);
        return queries.map(|query| nearest(live, query, k, only)).collect();
    }
    let tail = &live.tail;
    let found = scan_batch(
        &tail.values,
        queries,
        dim,
        k,
        |row| is_wanted(only, tail.docs[row]),
        |row| tail.keys[row],
    );
    let Some(base) = live.searched_base() else {
        return Ok(found);
    };
    let (keys, docs) = (base.matrix.keys(), base.matrix.docs());
    let in_base = scan_batch(
        base.matrix.all_values(),
        queries,
        dim,
        k,
        |row| !live.is_deleted(row) && is_wanted(only, docs[row]),
        |row| keys[row],
    );
    let pairs = found.into_iter().zip(in_base);
    Ok(pairs.map(|(tail, base)| tail.merge(base)).collect())
}

fn nearest_in_base(
    live: &LiveRows,
    base: &Generation,
    query: &[f32],
    k: usize,
    only: Option<&Filter>,
) -> Result<TopRows> {
    let docs = base.matrix.docs();
    let allowed = |row: usize| {
        docs.get(row)
            .is_some_and(|&doc| !live.is_deleted(row) && is_wanted(only, doc))
    };
    if let Some(graph) = &base.graph {
        let found = match only {
            None if !live.has_deleted() => Some(graph.search(&base.matrix, query, k)?),
            None => search_graph(base, graph, query, k, live.share_of_base(), allowed)?,
            Some(_) => search_graph(
                base,
                graph,
                query,
                k,
                share_of(docs.len(), allowed),
                allowed,
            )?,
        };
        // A walk misses rows that no list leads to from where it begins.
        if let Some(found) = found.filter(|found| found.len() >= k.min(docs.len())) {
            return Ok(best_of_found(base, found, k));
        }
    }
    // Without a filter no row's document is read.
    match only {
        Some(_) => nearest_by_scan(base, query, k, allowed),
        None if live.has_deleted() => nearest_by_scan(base, query, k, |row| !live.is_deleted(row)),
        None => nearest_by_scan(base, query, k, |_| true),
    }
}

/// Returns at least `k` allowed rows near the query, or fewer; `None` if a scan costs less.
///
/// Where the allowed rows are far from the query, a search visits more rows than their share tells. It
/// gives up when it has taken as much time of the CPU as a scan, and is not begun if that is likely.
fn search_graph(
    base: &Generation,
    graph: &Hnsw,
    query: &[f32],
    k: usize,
    share: f64,
    allowed: impl Fn(usize) -> bool,
) -> Result<Option<Vec<(usize, f32)>>> {
    let worth = share * base.matrix.rows() as f64 / SCANNED_PER_VISIT;
    if hnsw::visits(k, share) as f64 > MARGIN * worth {
        return Ok(None);
    }
    graph.search_allowed(&base.matrix, query, k, share, worth as usize, allowed)
}

/// Returns the best `k` of these rows.
fn best_of_found(base: &Generation, found: Vec<(usize, f32)>, k: usize) -> TopRows {
    let mut best = TopRows::new(k);
    for (row, score) in found {
        best.push(score, || base.matrix.keys()[row]);
    }
    best
}

/// Scans the codes of the rows if there are any, else the rows.
fn nearest_by_scan(
    base: &Generation,
    query: &[f32],
    k: usize,
    allowed: impl Fn(usize) -> bool + Sync,
) -> Result<TopRows> {
    if let Some(codes) = &base.codes {
        return best_of(base, &codes.search(query, k, allowed), query, k);
    }
    let matrix = &base.matrix;
    let (keys, rows) = (matrix.keys(), Rows::F16(matrix.all_values()));
    if matrix.is_checked() {
        return Ok(scan(rows, query, k, allowed, |row| keys[row]));
    }
    let intact = |row: usize| allowed(row) && matrix.check_row(row);
    let found = scan(rows, query, k, intact, |row| keys[row]);
    matrix.require_undamaged()?;
    Ok(found)
}

/// Returns the best `k` of the proposed rows, by their exact products.
fn best_of(base: &Generation, proposed: &[usize], query: &[f32], k: usize) -> Result<TopRows> {
    let (matrix, keys) = (&base.matrix, base.matrix.keys());
    let mut best = TopRows::new(k);
    for &row in proposed {
        if matrix.check_row(row) {
            best.push(scan::product(matrix.row(row), query), || keys[row]);
        }
    }
    matrix.require_undamaged()?;
    Ok(best)
}

fn is_wanted(only: Option<&Filter>, doc: i64) -> bool {
    only.is_none_or(|only| only.contains(doc))
}

/// Returns the share of the rows that are allowed, from a sample.
fn share_of(rows: usize, allowed: impl Fn(usize) -> bool) -> f64 {
    let step = rows.div_ceil(SAMPLE).max(1);
    let sampled = rows.div_ceil(step).max(1);
    (0..rows).step_by(step).filter(|&row| allowed(row)).count() as f64 / sampled as f64
}
