//! What the core does with texts from outside: documents, queries, filters and metadata.
//!
//! The first byte of an input selects what is done with the rest.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::analyze::{QueryAnalyzer, detect_lang, terms};
use super::error::{Error, Result};
use super::lexical::bm25::Bm25;
use super::lexical::{ChunkFields, Lexical, Query};
use super::passages::ChunkSpan;
use super::split::{Cut, Size, split};
use super::store::{NewDocument, Store};

const LANGS: [&str; 8] = ["", "de", "en", "fr", "ja", "ru", "tr", "zh"];
const TEXT: &str = "The heron nests at the river bend. Le héron niche ici. 鷺は川に住む。 v1.2.3";

/// A small index to search.
pub struct EntryPoints {
    _folder: tempfile::TempDir,
    store: Store,
    lexical: Lexical,
}

impl EntryPoints {
    /// Makes the index, in a temporary folder.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("i.crx"), true, true).unwrap();
        put(&store, "mem:0", TEXT, r#"{"tags": ["a", 1], "year": 2024}"#).unwrap();
        let names = ["text", "outline", "context"].map(String::from);
        let lexical = Lexical::open(&folder.path().join("bm25"), &names, true).unwrap();
        let fields = [TEXT, "Birds > Heron", ""];
        lexical
            .put(1, "en", &[ChunkFields { key: 1, fields }])
            .unwrap();
        lexical.commit(1).unwrap();
        EntryPoints {
            _folder: folder,
            store,
            lexical,
        }
    }

    /// Calls the function that the first byte selects.
    ///
    /// # Panics
    /// If it breaks a promise.
    pub fn run(&self, data: &[u8]) {
        let Some((&kind, rest)) = data.split_first() else {
            return;
        };
        match kind % 6 {
            0 => analyze_document(rest),
            1 => analyze_query(rest),
            2 => split_document(rest),
            3 => valid_or_refused(&self.store.select(&text_of(rest))),
            4 => self.search(rest),
            _ => self.put(rest),
        }
    }

    fn search(&self, data: &[u8]) {
        let (langs, text) = langs_and_text(data);
        let query = Query {
            text: &text,
            name: text.split('\n').next().unwrap_or_default(),
            langs: &langs,
            k: 10,
            bm25: Bm25::default(),
            only: None,
        };
        for (_, score) in self.lexical.search(&query).unwrap() {
            assert!(score.is_finite());
        }
        for word in text.split_whitespace().take(4) {
            self.lexical.similar_terms(word, 3).unwrap();
        }
    }

    fn put(&self, data: &[u8]) {
        let text = text_of(data);
        let (metadata, body) = text.split_once('\n').unwrap_or((&text, ""));
        if put(&self.store, "mem:1", body, metadata).is_ok() {
            let row = self.store.document("mem:1").unwrap().unwrap();
            assert_eq!(self.store.text(row.doc).unwrap(), body);
            for span in self.store.layout(row.doc).unwrap() {
                let passage = self.store.passage(row.doc, span.start, span.end);
                assert_eq!(passage.unwrap().text, slice(body, span.start, span.end));
            }
        }
    }
}

/// Puts a document of small chunks; one that is not valid is refused.
fn put(store: &Store, uri: &str, text: &str, metadata: &str) -> Result<i64> {
    let size = Size {
        budget: 16,
        overlap: 2,
    };
    let layout: Vec<ChunkSpan> = split(text, &[], None, size)
        .into_iter()
        .map(|(start, end)| ChunkSpan {
            start,
            end,
            token_start: start,
            token_end: end,
            section: 0,
        })
        .collect();
    let put = store.put_document(&NewDocument {
        uri,
        title: "",
        lang: detect_lang(text),
        metadata,
        source_hash: &[],
        source_size: 0,
        source_mtime_ns: 0,
        text,
        marks: "[]",
        layout: &layout,
        outlines: &vec![String::new(); layout.len()],
        context_keys: &vec![Vec::new(); layout.len()],
        vector_keys: &vec![Vec::new(); layout.len()],
    });
    valid_or_refused(&put);
    put
}

fn analyze_document(data: &[u8]) {
    let (langs, text) = langs_and_text(data);
    for lang in langs {
        assert!(terms(&text, &lang).iter().all(|term| !term.is_empty()));
    }
}

fn analyze_query(data: &[u8]) {
    let (langs, text) = langs_and_text(data);
    let name = text.split('\n').next().unwrap_or_default();
    for term in QueryAnalyzer::new(&langs).analyze_named(&text, name) {
        assert!(!term.term.is_empty() && term.weight > 0.0);
    }
}

/// Splits a text with the size, the cuts and the tokens that four bytes before it stand for.
fn split_document(data: &[u8]) {
    let Some((header, rest)) = data.split_first_chunk::<4>() else {
        return;
    };
    let text = text_of(rest);
    let chars = u32::try_from(text.chars().count()).unwrap();
    let [budget, overlap, cuts, tokens] = header.map(u32::from);
    let every = |step: u32| (0..chars).step_by(step.max(1) as usize);
    let cuts: Vec<Cut> = every(cuts)
        .map(|at| Cut {
            at,
            level: 1 + at % 5,
        })
        .collect();
    let starts: Vec<u32> = every(tokens).collect();
    let budget = budget + 1;
    let size = Size {
        budget,
        overlap: overlap % budget,
    };
    let spans = split(&text, &cuts, (tokens > 0).then_some(&starts), size);
    let mut reached = 0;
    for &(start, end) in &spans {
        assert!(start <= reached && reached < end && end <= chars);
        reached = end;
    }
    assert!(reached == chars || text.trim().is_empty());
}

/// Requires that an argument is accepted, or refused as invalid: the index is not at fault.
fn valid_or_refused<T>(result: &Result<T>) {
    match result {
        Ok(_) | Err(Error::Invalid(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn langs_and_text(data: &[u8]) -> (Vec<String>, String) {
    let (&set, rest) = data.split_first().unwrap_or((&0, &[]));
    let langs = LANGS.iter().enumerate();
    let chosen = langs.filter(|(at, _)| set >> at & 1 == 1);
    (
        chosen.map(|(_, lang)| (*lang).to_string()).collect(),
        text_of(rest),
    )
}

fn text_of(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

fn slice(text: &str, start: u32, end: u32) -> String {
    let length = (end - start) as usize;
    text.chars().skip(start as usize).take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_corpus_of_the_fuzzer_breaks_no_promise() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/core");
        let entry_points = EntryPoints::new();
        let inputs: Vec<_> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap())
            .collect();
        assert!(inputs.len() > 20);
        for input in inputs {
            entry_points.run(&std::fs::read(input.path()).unwrap());
        }
    }
}
