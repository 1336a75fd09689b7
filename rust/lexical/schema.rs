//! The tantivy schema.

use tantivy::Term;
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};

use super::bm25::FIELDS;
use crate::error::{Error, Result};

/// The text fields of a chunk, in the order of their weights.
pub(super) const NAMES: [&str; FIELDS] = ["text", "outline", "context"];
/// The fast field with the chunk's key.
pub(super) const KEY: &str = "key";
/// The fast field with the chunk's document, also indexed for deletion.
pub(super) const DOC: &str = "doc";
/// The name of a tokenizer, which tantivy asks for: text is analyzed before it sees it.
const TOKENIZER: &str = "analyzed";

/// Returns the name of the fast field with the exact number of terms of a text field.
pub(super) fn length_name(name: &str) -> String {
    format!("{name}_length")
}

/// The handles of the fields; `None` for a text field that is not indexed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) terms: [Option<Field>; FIELDS],
    pub(super) doc: Field,
}

/// Returns the schema with these text fields.
pub(super) fn schema(names: &[String]) -> Result<(Schema, Fields)> {
    if let Some(unknown) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(Error::Invalid(format!(
            "{unknown}: no such field; the fields are {}",
            NAMES.join(", ")
        )));
    }
    if names.is_empty() {
        return Err(Error::Invalid(
            "fields: none given; name at least one".into(),
        ));
    }
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let text = TextOptions::default().set_indexing_options(indexing);
    let fast = NumericOptions::default().set_fast();
    builder.add_i64_field(KEY, fast.clone());
    let doc = builder.add_i64_field(DOC, fast.clone().set_indexed());
    let mut terms = [None; FIELDS];
    for (i, name) in NAMES.into_iter().enumerate() {
        if names.iter().any(|wanted| wanted == name) {
            terms[i] = Some(builder.add_text_field(name, text.clone()));
            builder.add_u64_field(&length_name(name), fast.clone());
        }
    }
    Ok((builder.build(), Fields { terms, doc }))
}

impl Fields {
    /// Returns the term by which a document's chunks are deleted.
    pub(super) fn doc_term(&self, doc: i64) -> Term {
        Term::from_field_i64(self.doc, doc)
    }
}
