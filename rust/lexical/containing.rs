//! The chunks that hold each of several words in their text.

use std::collections::HashSet;

use tantivy::Result;

use super::bm25::Bm25;
use super::postings::Postings;
use super::schema::Fields;
use super::snapshot::Snapshot;
use crate::analyze::QueryTerm;

/// Returns those of the chunks whose text holds, of each word, at least one of its terms.
pub(super) fn containing(
    snapshot: &Snapshot,
    fields: &Fields,
    keys: &[i64],
    words: &[Vec<QueryTerm>],
) -> Result<HashSet<i64>> {
    let text_alone = Bm25 {
        weights: [1.0, 0.0, 0.0],
        ..Bm25::default()
    };
    let mut held = HashSet::new();
    for scored in &snapshot.segments {
        let segment = &scored.segment;
        let mut docs: Vec<u32> = keys.iter().filter_map(|&key| segment.find(key)).collect();
        docs.sort_unstable();
        for terms in words {
            let mut postings = Vec::with_capacity(terms.len());
            for QueryTerm { term, .. } in terms {
                postings.extend(Postings::open(segment, fields, term, &text_alone)?);
            }
            docs.retain(|&doc| postings.iter_mut().any(|of_term| of_term.seek(doc) > 0.0));
        }
        held.extend(docs.into_iter().map(|doc| segment.key(doc)));
    }
    Ok(held)
}
