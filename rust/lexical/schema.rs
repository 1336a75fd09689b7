//! The tantivy schema: fields, and documents made of terms.

use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{TantivyDocument, Term};

use super::bm25::FIELDS;
use crate::analyze::{SEPARATOR, Terms};
use crate::error::{Error, Result};

/// The text fields of a chunk, in the order of their weights.
pub(super) const NAMES: [&str; FIELDS] = ["text", "outline", "context"];
/// The fast field with the chunk's key.
pub(super) const KEY: &str = "key";
/// The fast field with the chunk's document, also indexed for deletion.
pub(super) const DOC: &str = "doc";
const TOKENIZER: &str = "analyzed";

/// Returns the name of the fast field with the exact number of terms of a text field.
pub(super) fn length_name(name: &str) -> String {
    format!("{name}_length")
}

/// The handles of the fields; `None` for a text field that is not indexed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) terms: [Option<Field>; FIELDS],
    lengths: [Option<Field>; FIELDS],
    key: Field,
    doc: Field,
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
    /// Returns the tantivy document of a chunk with these terms by field.
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

    /// Returns the term by which a document's chunks are deleted.
    pub(super) fn doc_term(&self, doc: i64) -> Term {
        Term::from_field_i64(self.doc, doc)
    }
}

/// Returns the tokenizer and its name in the schema.
pub(super) fn tokenizer() -> (&'static str, TextAnalyzer) {
    (TOKENIZER, TextAnalyzer::from(SeparatorTokenizer::default()))
}

/// A tokenizer that splits analyzed text at its separators.
#[derive(Clone, Default)]
struct SeparatorTokenizer {
    token: Token,
}

struct SeparatedTerms<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for SeparatorTokenizer {
    type TokenStream<'a> = SeparatedTerms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SeparatedTerms<'a> {
        self.token.reset();
        SeparatedTerms {
            rest: text,
            token: &mut self.token,
        }
    }
}

impl TokenStream for SeparatedTerms<'_> {
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
