//! What tantivy is told of a chunk.

use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{TantivyDocument, Term};

use crate::analyze::{SEPARATOR, Terms};
use crate::bm25::FIELDS;
use crate::error::{Error, Result};

/// The fields a chunk can have, in the order of their weights.
pub(super) const NAMES: [&str; FIELDS] = ["text", "outline", "context"];
/// The chunk's key, a fast field.
pub(super) const KEY: &str = "key";
/// The chunk's document, a fast field, and the term it is deleted by.
pub(super) const DOC: &str = "doc";
const TOKENIZER: &str = "analyzed";

/// The name of the fast field that holds a field's exact number of terms.
pub(super) fn length_name(name: &str) -> String {
    format!("{name}_length")
}

/// The handles of the fields. A field the index was built without is `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) terms: [Option<Field>; FIELDS],
    lengths: [Option<Field>; FIELDS],
    key: Field,
    doc: Field,
}

/// The schema for these fields.
pub(super) fn schema(names: &[String]) -> Result<(Schema, Fields)> {
    if let Some(unknown) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(Error::Invalid(format!(
            "{unknown}: no such field; there are {}",
            NAMES.join(", ")
        )));
    }
    if names.is_empty() {
        return Err(Error::Invalid("no fields; name at least one".into()));
    }
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let text = TextOptions::default().set_indexing_options(indexing);
    let fast = NumericOptions::default().set_fast();
    let key = builder.add_i64_field(KEY, fast.clone());
    let doc = builder.add_i64_field(DOC, fast.clone().set_indexed());
    let mut terms = [None; FIELDS];
    let mut lengths = [None; FIELDS];
    for (i, name) in NAMES.into_iter().enumerate() {
        if names.iter().any(|wanted| wanted == name) {
            terms[i] = Some(builder.add_text_field(name, text.clone()));
            lengths[i] = Some(builder.add_u64_field(&length_name(name), fast.clone()));
        }
    }
    let fields = Fields {
        terms,
        lengths,
        key,
        doc,
    };
    Ok((builder.build(), fields))
}

impl Fields {
    /// The document tantivy keeps for a chunk, whose terms are given by field.
    pub(super) fn document(&self, doc: i64, key: i64, terms: &[Terms; FIELDS]) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_i64(self.key, key);
        document.add_i64(self.doc, doc);
        for (i, terms) in terms.iter().enumerate() {
            if let (Some(field), Some(length)) = (self.terms[i], self.lengths[i]) {
                document.add_u64(length, u64::from(terms.len()));
                if !terms.is_empty() {
                    document.add_text(field, terms.joined());
                }
            }
        }
        document
    }

    /// The term by which a document's chunks are deleted.
    pub(super) fn doc_term(&self, doc: i64) -> Term {
        Term::from_field_i64(self.doc, doc)
    }
}

/// The tokenizer under the name the schema knows it by.
pub(super) fn tokenizer() -> (&'static str, TextAnalyzer) {
    (TOKENIZER, TextAnalyzer::from(AtSeparators::default()))
}

/// Cuts text that is analyzed already at its separators.
#[derive(Clone, Default)]
struct AtSeparators {
    token: Token,
}

struct Pieces<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for AtSeparators {
    type TokenStream<'a> = Pieces<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Pieces<'a> {
        self.token.reset();
        Pieces {
            rest: text,
            token: &mut self.token,
        }
    }
}

impl TokenStream for Pieces<'_> {
    fn advance(&mut self) -> bool {
        let Some((term, rest)) = self.rest.split_once(SEPARATOR) else {
            return false;
        };
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        self.rest = rest;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
