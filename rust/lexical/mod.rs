//! The BM25 leg: an inverted index of chunks.
//!
//! tantivy stores the postings, deletes by term, merges and commits. Where tantivy approximates,
//! this module is exact: field lengths are in fast fields instead of one-byte norms, document
//! frequencies count live chunks only, and k1, b and the field weights are parameters of a search
//! ([`bm25`]). Text is analyzed before tantivy sees it ([`crate::analyze`]).
//!
//! The folder can be deleted at any time: it is derived from the store, and a commit records the
//! store's sequence number that it reflects.

pub mod bm25;
mod commit;
mod containing;
mod deletion;
mod inverter;
mod letters;
mod postings;
mod schema;
mod segment;
mod serializer;
mod snapshot;
mod spelling;
mod statistics;
mod sums;
mod term_text;
mod topk;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tantivy::Index;
use tantivy::directory::MmapDirectory;

pub use letters::letter_scores;
pub use writer::ChunkFields;

use crate::analyze::{Analyzer, QueryAnalyzer, QueryTerm, is_unspaced};
use crate::error::{Error, Result};
use crate::index_folder::IndexFolder;
use crate::interrupt;
use crate::store::{Filter, Store};
use bm25::{Bm25, FIELDS};
use commit::{damaged, error_of};
use schema::Fields;
use snapshot::Snapshot;
use topk::{Parameters, Weighting};
use writer::Writer;

/// Query analyzers kept for reuse: as many as searches are likely to run at once.
const IDLE_ANALYZERS: usize = 16;

/// At most so many bigrams stand for a query of one character.
const MOST_BIGRAMS: usize = 500;

/// A handle on `derived/bm25`; it may be used from several threads.
pub struct Lexical {
    folder: PathBuf,
    index: Index,
    fields: Fields,
    snapshot: RwLock<Arc<Snapshot>>,
    /// Idle query analyzers, each with its languages.
    analyzers: Mutex<Vec<(Vec<String>, QueryAnalyzer)>>,
    /// Present only in a handle that was opened for writing.
    writer: Option<Mutex<Option<Writer>>>,
}

/// The parameters of a search.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The query text.
    pub text: &'a str,
    /// The part of the text that names a document, whose terms have half their weight; "" for none.
    pub name: &'a str,
    /// The languages whose stems the words of the query may have.
    pub langs: &'a [String],
    /// The number of chunks to return.
    pub k: usize,
    /// How postings are scored.
    pub bm25: Bm25,
    /// The documents to search; `None` for all.
    pub only: Option<&'a Filter>,
}

impl Lexical {
    /// Opens the folder; with `write`, creates it if necessary.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the folder is damaged, has other fields or was written by another
    /// version of the analyzer; with `write` it is rebuilt instead, empty, at sequence number 0.
    pub fn open(folder: &Path, names: &[String], write: bool) -> Result<Lexical> {
        if !write {
            return Self::open_existing(folder, names, false);
        }
        let (derived, name) = IndexFolder::of_file(folder)?;
        derived.make_below(&name)?;
        match Self::open_existing(folder, names, true) {
            Err(Error::Damaged(_)) => Self::create(folder, names),
            opened => opened,
        }
    }

    fn open_existing(folder: &Path, names: &[String], write: bool) -> Result<Lexical> {
        let (schema, fields) = schema::schema(names)?;
        if folder.symlink_metadata().is_ok() {
            // tantivy opens files by their paths, and follows links.
            let (derived, name) = IndexFolder::of_file(folder)?;
            derived.below(&name)?.require_files(0)?;
        }
        let directory = MmapDirectory::open(folder)
            .map_err(|error| damaged(folder, &error.to_string().replace('\n', " ")))?;
        let index = Index::open(directory).map_err(|error| match error_of(folder, error) {
            // tantivy reports a commit that it cannot parse as a system error.
            Error::System(why) => damaged(folder, &why),
            error => error,
        })?;
        if index.schema() != schema {
            return Err(damaged(folder, "it has other fields"));
        }
        Self::with_index(folder, index, fields, write)
    }

    fn create(folder: &Path, names: &[String]) -> Result<Lexical> {
        let (schema, fields) = schema::schema(names)?;
        let (derived, name) = IndexFolder::of_file(folder)?;
        derived.make_below(&name)?.clear()?;
        let index = Index::builder()
            .schema(schema)
            .settings(tantivy::IndexSettings {
                docstore_compress_dedicated_thread: false,
                ..Default::default()
            })
            .create_in_dir(folder)
            .map_err(|error| error_of(folder, error))?;
        Writer::open(folder, &index, fields, Default::default())?.commit(folder, 0)?;
        Self::with_index(folder, index, fields, true)
    }

    fn with_index(folder: &Path, index: Index, fields: Fields, write: bool) -> Result<Lexical> {
        let snapshot = Snapshot::open(folder, &index, &fields, None)?;
        Ok(Lexical {
            folder: folder.to_owned(),
            index,
            fields,
            snapshot: RwLock::new(Arc::new(snapshot)),
            analyzers: Mutex::default(),
            writer: write.then(|| Mutex::new(None)),
        })
    }

    /// Returns a handle on what this one reflects now; it stays as it is.
    #[must_use]
    pub fn snapshot_handle(&self) -> Lexical {
        Lexical {
            folder: self.folder.clone(),
            index: self.index.clone(),
            fields: self.fields,
            snapshot: RwLock::new(self.snapshot()),
            analyzers: Mutex::default(),
            writer: None,
        }
    }

    /// Returns the store's sequence number that it reflects.
    pub fn seq(&self) -> i64 {
        self.snapshot().seq
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> u64 {
        self.snapshot().chunks
    }

    /// Returns whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces a document's chunks, or removes them if there are no entries; visible after
    /// [`Lexical::commit`].
    pub fn put(&self, doc: i64, lang: &str, entries: &[ChunkFields]) -> Result<()> {
        self.write(|writer| writer.put(&self.folder, doc, lang, entries))
    }

    /// Makes all changes durable and visible, as the store's state at `seq`.
    pub fn commit(&self, seq: i64) -> Result<()> {
        self.write(|writer| {
            if writer.changed || seq != self.seq() {
                writer.commit(&self.folder, seq)?;
            }
            Ok(())
        })?;
        self.reload()
    }

    /// Applies the store's changes since [`Lexical::seq`]; returns the number of documents read. A
    /// handle opened for reading loads the last commit instead.
    pub fn sync(&self, store: &Store) -> Result<usize> {
        if self.writer.is_none() {
            self.reload()?;
            return Ok(0);
        }
        // Changes that are committed while the documents are read are applied again next time.
        let seq = store.seq()?;
        if seq == self.seq() {
            return Ok(0);
        }
        let since = if self.seq() < seq {
            self.seq()
        } else {
            // The store was replaced by an older copy: rebuild from all its documents.
            self.write(|writer| writer.clear(&self.folder))?;
            0
        };
        let changed = store.changed_since(since)?;
        for &doc in &changed {
            let chunks = store.doc_chunks(doc)?;
            let entries: Vec<ChunkFields> = chunks
                .iter()
                .map(|chunk| ChunkFields {
                    key: chunk.key(),
                    fields: [chunk.text(), chunk.outline(), chunk.context()],
                })
                .collect();
            let lang = chunks.first().map_or("", |chunk| chunk.lang());
            self.put(doc, lang, &entries)?;
        }
        self.commit(seq)?;
        Ok(changed.len())
    }

    /// Returns the best k chunks and their scores, best first; equal scores in ascending order of
    /// key.
    pub fn search(&self, query: &Query) -> Result<Vec<(i64, f32)>> {
        self.topk(&Parameters {
            terms: &self.analyze(query)?,
            k: query.k,
            bm25: query.bm25,
            only: query.only,
            weighting: Weighting::DocFreq,
        })
    }

    /// Returns the best k chunks by the sum over terms of the term's weight times its saturation in
    /// the chunk ([`bm25::saturation`]): the inner product of two sparse vectors.
    pub fn sparse_topk(
        &self,
        weights: &[QueryTerm],
        k: usize,
        bm25: Bm25,
        only: Option<&Filter>,
    ) -> Result<Vec<(i64, f32)>> {
        self.topk(&Parameters {
            terms: weights,
            k,
            bm25,
            only,
            weighting: Weighting::Given,
        })
    }

    /// Returns the number of chunks that contain each term in a field of positive weight.
    pub fn doc_freqs(&self, terms: &[String], bm25: &Bm25) -> Result<Vec<u64>> {
        topk::doc_freqs(&self.snapshot(), &self.fields, terms, bm25)
            .map_err(|error| error_of(&self.folder, error))
    }

    /// Returns the number of terms of each field, over all chunks.
    pub fn lengths(&self) -> [u64; FIELDS] {
        self.snapshot().lengths
    }

    fn topk(&self, parameters: &Parameters) -> Result<Vec<(i64, f32)>> {
        parameters.bm25.check()?;
        if parameters.k == 0 {
            return Err(Error::Invalid("k: 0 is not 1 or more".into()));
        }
        let found = topk::search(&self.snapshot(), &self.fields, parameters)
            .map_err(|error| error_of(&self.folder, error))?;
        interrupt::check()?;
        Ok(found)
    }

    /// Returns at most `k` terms of the index that are spelled like a word or its stem, those with
    /// the fewest edits first, then those that leave least of its ending out, then those in most
    /// chunks; none for a short word.
    pub fn similar_terms(&self, word: &str, k: usize) -> Result<Vec<String>> {
        let word: Vec<char> = word.chars().collect();
        let mut found = HashMap::new();
        for scored in &self.snapshot().segments {
            interrupt::check()?;
            spelling::collect(&scored.segment, &word, &mut found)
                .map_err(|error| error_of(&self.folder, error))?;
        }
        let mut ranked: Vec<_> = found
            .into_iter()
            .map(|(term, (distance, chunks))| (distance, std::cmp::Reverse(chunks), term))
            .collect();
        ranked.sort_unstable();
        Ok(ranked.into_iter().take(k).map(|(.., term)| term).collect())
    }

    /// Returns at most `k` terms of the index that have a part of a word: those that begin with it first,
    /// then the shorter ones, then those in most chunks.
    pub fn compounds_of(&self, part: &str, k: usize) -> Result<Vec<String>> {
        let mut found = HashMap::new();
        for scored in &self.snapshot().segments {
            interrupt::check()?;
            spelling::collect_compounds(&scored.segment, part, &mut found)
                .map_err(|error| error_of(&self.folder, error))?;
        }
        let mut ranked: Vec<_> = found
            .into_iter()
            .map(|(term, chunks)| {
                let is_inside = !term.starts_with(part);
                (is_inside, term.len(), std::cmp::Reverse(chunks), term)
            })
            .collect();
        ranked.sort_unstable();
        Ok(ranked.into_iter().take(k).map(|(.., term)| term).collect())
    }

    /// Returns at most `k` chunks that have a term, as [`crate::analyze`] gives it, in ascending order of
    /// their keys.
    pub fn chunks_with(&self, term: &str, k: usize) -> Result<Vec<i64>> {
        let mut keys = Vec::new();
        for scored in &self.snapshot().segments {
            spelling::collect_chunks(&scored.segment, term, k, &mut keys)
                .map_err(|error| error_of(&self.folder, error))?;
        }
        keys.sort_unstable();
        keys.dedup();
        keys.truncate(k);
        Ok(keys)
    }

    /// Returns whether the index has a term, as [`crate::analyze`] gives it.
    pub fn has_term(&self, term: &str) -> Result<bool> {
        for scored in &self.snapshot().segments {
            if spelling::has_term(&scored.segment, term)
                .map_err(|error| error_of(&self.folder, error))?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the index has a term of each word, as a document in one of some languages has it.
    pub fn are_known(&self, words: &[String], langs: &[String]) -> Result<Vec<bool>> {
        let mut known = vec![false; words.len()];
        for lang in langs {
            if known.iter().all(|&known| known) {
                break;
            }
            let mut analyzer = Analyzer::for_documents(lang);
            for (word, known) in words.iter().zip(&mut known).filter(|(_, known)| !**known) {
                for term in analyzer.terms(word) {
                    *known = *known || self.has_term(&term)?;
                }
            }
        }
        Ok(known)
    }

    /// Returns those of the chunks with these keys, in their order, whose text holds all words, each
    /// in any inflection.
    pub fn containing(&self, keys: &[i64], words: &[String], langs: &[String]) -> Result<Vec<i64>> {
        let words = self.query_terms(words, langs);
        let held = containing::containing(&self.snapshot(), &self.fields, keys, &words)
            .map_err(|error| error_of(&self.folder, error))?;
        Ok(keys
            .iter()
            .copied()
            .filter(|key| held.contains(key))
            .collect())
    }

    /// Returns the distinct terms of each text with their weights, as [`QueryAnalyzer::analyze`].
    pub fn query_terms<S: AsRef<str>>(&self, texts: &[S], langs: &[String]) -> Vec<Vec<QueryTerm>> {
        self.with_analyzer(langs, |analyzer| {
            let texts = texts.iter().map(AsRef::as_ref);
            texts.map(|text| analyzer.analyze(text)).collect()
        })
    }

    fn analyze(&self, query: &Query) -> Result<Vec<QueryTerm>> {
        let mut terms = self.with_analyzer(query.langs, |analyzer| {
            analyzer.analyze_named(query.text, query.name)
        });
        for at in 0..terms.len() {
            let term = &terms[at];
            if is_one_unspaced(&term.term) && (terms.len() == 1 || !self.has_term(&term.term)?) {
                let bigrams = self.bigrams_of(term)?;
                terms.extend(bigrams);
            }
        }
        Ok(terms)
    }

    /// Returns the bigrams of the index that have a character, as terms of the same word: of a run of
    /// characters without spaces, bigrams alone are indexed.
    fn bigrams_of(&self, character: &QueryTerm) -> Result<Vec<QueryTerm>> {
        let bigrams = self.compounds_of(&character.term, MOST_BIGRAMS)?;
        let bigrams = bigrams.into_iter().filter(|term| *term != character.term);
        let bigrams = bigrams.map(|term| QueryTerm {
            term,
            ..character.clone()
        });
        Ok(bigrams.collect())
    }

    /// Calls a function with an idle analyzer, or with a new one if none is idle.
    fn with_analyzer<T>(
        &self,
        langs: &[String],
        analyze: impl FnOnce(&mut QueryAnalyzer) -> T,
    ) -> T {
        let suits = |idle: &(Vec<String>, QueryAnalyzer)| idle.0 == langs;
        let mut idle = locked(&self.analyzers);
        let mut analyzer = match idle.iter().position(suits) {
            Some(at) => idle.swap_remove(at).1,
            None => QueryAnalyzer::new(langs),
        };
        drop(idle);
        let analyzed = analyze(&mut analyzer);
        let mut idle = locked(&self.analyzers);
        if idle.len() == IDLE_ANALYZERS {
            idle.remove(0);
        }
        idle.push((langs.to_vec(), analyzer));
        analyzed
    }

    /// Waits for running merges and releases the writer; a later `put` opens another.
    pub fn close(&self) -> Result<()> {
        match self.writer.as_ref().map(|writer| locked(writer).take()) {
            Some(Some(writer)) => writer.close(&self.folder),
            _ => Ok(()),
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn reload(&self) -> Result<()> {
        let before = self.snapshot();
        let snapshot = Snapshot::open(&self.folder, &self.index, &self.fields, Some(&before))?;
        *self
            .snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
        Ok(())
    }

    /// Calls `work` with the writer, which is opened on first use. After an error the writer is
    /// dropped with its uncommitted changes, and the next call opens another.
    fn write<T>(&self, work: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T> {
        let Some(writer) = &self.writer else {
            return Err(Error::Invalid(format!(
                "{}: opened for reading; open it with write=True",
                self.folder.display()
            )));
        };
        let mut writer = locked(writer);
        let mut open = match writer.take() {
            Some(open) => open,
            None => {
                let docs = self.snapshot().docs();
                Writer::open(&self.folder, &self.index, self.fields, docs)?
            }
        };
        let done = work(&mut open)?;
        *writer = Some(open);
        Ok(done)
    }
}

fn is_one_unspaced(term: &str) -> bool {
    let mut characters = term.chars();
    characters.next().is_some_and(is_unspaced) && characters.next().is_none()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
