//! The serializer of a segment: postings in memory are written as the files of a tantivy segment.
//!
//! tantivy's own writer takes documents as text, which it splits and hashes term by term. Here the
//! terms have numbers already, so the postings are passed straight to tantivy's serializers.

use tantivy::columnar::{ColumnType, ColumnarWriter};
use tantivy::directory::TerminatingWrite;
use tantivy::fieldnorm::FieldNormsSerializer;
use tantivy::index::SegmentComponent;
use tantivy::postings::InvertedIndexSerializer;
use tantivy::store::StoreWriter;
use tantivy::{Segment, TantivyDocument};

use super::inverter::Inverter;
use super::schema::{DOC, Fields, KEY, NAMES, length_name};

/// Writes the files of a segment with these chunks, each of which is synced.
pub(super) fn serialize(
    inverter: &Inverter,
    fields: &Fields,
    segment: &Segment,
) -> tantivy::Result<()> {
    // No field has norms of one byte: exact lengths are in fast fields.
    let norms = segment.open_write(SegmentComponent::FieldNorms)?;
    FieldNormsSerializer::from_write(norms)?.close()?;
    write_postings(inverter, fields, segment)?;
    write_columns(inverter, fields, segment)?;
    write_store(inverter.len(), segment)
}

fn write_postings(inverter: &Inverter, fields: &Fields, segment: &Segment) -> tantivy::Result<()> {
    let mut serializer = InvertedIndexSerializer::open(segment)?;
    let mut docs = serializer.new_field(fields.doc, u64::from(inverter.len()), None)?;
    let mut sorted = inverter.docs().to_vec();
    sorted.sort_unstable_by_key(|(doc, _)| *doc);
    for (doc, rows) in sorted {
        docs.new_term_without_freq(fields.doc_term(doc).serialized_value_bytes())?;
        rows.for_each(|row| docs.write_doc(row, 0, &[]));
        docs.close_term()?;
    }
    docs.close()?;
    let terms = inverter.sorted_terms();
    for (i, field) in fields.terms.into_iter().enumerate() {
        let postings = inverter.field(i);
        let (Some(field), 1..) = (field, postings.total()) else {
            continue;
        };
        let mut serializer = serializer.new_field(field, postings.total(), None)?;
        for &(term, number) in &terms {
            let doc_freq = postings.doc_freq(number);
            if doc_freq > 0 {
                serializer.new_term(term, doc_freq, true)?;
                postings.for_each(number, |row, frequency| {
                    serializer.write_doc(row, frequency, &[]);
                });
                serializer.close_term()?;
            }
        }
        serializer.close()?;
    }
    Ok(serializer.close()?)
}

/// Writes the fast fields: keys, documents and lengths.
fn write_columns(inverter: &Inverter, fields: &Fields, segment: &Segment) -> tantivy::Result<()> {
    let mut columns = ColumnarWriter::default();
    for name in [KEY, DOC] {
        columns.record_column_type(name, ColumnType::I64, false);
    }
    for (row, &key) in (0..).zip(inverter.keys()) {
        columns.record_numerical(row, KEY, key);
    }
    for (doc, rows) in inverter.docs() {
        rows.clone()
            .for_each(|row| columns.record_numerical(row, DOC, *doc));
    }
    for (i, name) in NAMES.into_iter().enumerate() {
        if fields.terms[i].is_some() {
            let name = length_name(name);
            columns.record_column_type(&name, ColumnType::U64, false);
            for (row, &length) in (0..).zip(inverter.field(i).lengths()) {
                columns.record_numerical(row, &name, u64::from(length));
            }
        }
    }
    let mut file = segment.open_write(SegmentComponent::FastFields)?;
    columns.serialize(inverter.len(), None, &mut file)?;
    Ok(file.terminate()?)
}

/// Writes the stored documents, which are empty.
fn write_store(chunks: u32, segment: &Segment) -> tantivy::Result<()> {
    let settings = segment.index().settings();
    let mut store = StoreWriter::new(
        segment.open_write(SegmentComponent::Store)?,
        settings.docstore_compression,
        settings.docstore_blocksize,
        settings.docstore_compress_dedicated_thread,
    )?;
    let (empty, schema) = (TantivyDocument::default(), segment.schema());
    for _ in 0..chunks {
        store.store(&empty, &schema)?;
    }
    Ok(store.close()?)
}
