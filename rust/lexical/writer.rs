//! The writer of the inverted index.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, UserOperation};
use tantivy::{Index, IndexWriter};

use super::bm25::FIELDS;
use super::commit::{Payload, error_of};
use super::schema::Fields;
use crate::analyze::{Analyzer, Terms};
use crate::error::{Error, Result};
use crate::files;
use crate::pool;

/// Bytes that tantivy's worker collects before it writes a segment.
const MEMORY: usize = 128 << 20;

/// The number of chunks from which they are analyzed in parallel; below it, threads cost more than
/// they save.
const PARALLEL_CHUNKS: usize = 32;

/// A chunk to index, with the text of its fields.
#[derive(Debug, Clone, Copy)]
pub struct ChunkFields<'a> {
    /// The chunk's key.
    pub key: i64,
    /// Its text, its outline and its context.
    pub fields: [&'a str; FIELDS],
}

/// The only writer of the folder.
pub(super) struct Writer {
    writer: IndexWriter,
    fields: Fields,
    /// Documents that have chunks, committed or not: only these need a deletion.
    docs: HashSet<i64>,
    analyzers: AnalyzerPool,
    /// Whether there are uncommitted changes.
    pub(super) changed: bool,
}

impl Writer {
    /// Opens the writer of a folder in which these documents have chunks.
    pub(super) fn open(
        folder: &Path,
        index: &Index,
        fields: Fields,
        docs: HashSet<i64>,
    ) -> Result<Writer> {
        // One worker: a small commit then makes one segment, and the other cores analyze.
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(MEMORY)
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter = index
            .writer_with_options(options)
            .map_err(|error| error_of(folder, error))?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(0.2);
        writer.set_merge_policy(Box::new(policy));
        Ok(Writer {
            writer,
            fields,
            docs,
            analyzers: AnalyzerPool::default(),
            changed: false,
        })
    }

    /// Replaces a document's chunks.
    pub(super) fn put(
        &mut self,
        folder: &Path,
        doc: i64,
        lang: &str,
        entries: &[ChunkFields],
    ) -> Result<()> {
        let mut operations = Vec::with_capacity(entries.len() + 1);
        if self.docs.remove(&doc) {
            operations.push(UserOperation::Delete(self.fields.doc_term(doc)));
        }
        if !entries.is_empty() {
            self.docs.insert(doc);
        }
        let document = |entry: &ChunkFields| {
            let terms = self.analyzers.analyze(lang, &self.fields, entry);
            UserOperation::Add(self.fields.document(doc, entry.key, &terms))
        };
        if entries.len() >= PARALLEL_CHUNKS {
            pool::install(|| operations.par_extend(entries.par_iter().map(document)));
        } else {
            operations.extend(entries.iter().map(document));
        }
        if operations.is_empty() {
            return Ok(());
        }
        self.changed = true;
        self.writer
            .run(operations)
            .map_err(|error| error_of(folder, error))?;
        Ok(())
    }

    /// Removes every chunk.
    pub(super) fn clear(&mut self) -> Result<()> {
        for doc in std::mem::take(&mut self.docs) {
            self.writer.delete_term(self.fields.doc_term(doc));
        }
        self.changed = true;
        Ok(())
    }

    /// Makes all changes durable. tantivy syncs its files, and syncs the directory before it renames
    /// the commit into place; a second sync of the directory makes the rename durable.
    pub(super) fn commit(&mut self, folder: &Path, seq: i64) -> Result<()> {
        let payload = Payload::new(seq).to_json()?;
        let committed = self.writer.prepare_commit().and_then(|mut commit| {
            commit.set_payload(&payload);
            commit.commit()
        });
        committed.map_err(|error| error_of(folder, error))?;
        self.changed = false;
        sync_directory(folder)
    }

    /// Waits for running merges.
    pub(super) fn close(self, folder: &Path) -> Result<()> {
        self.writer
            .wait_merging_threads()
            .map_err(|error| error_of(folder, error))?;
        sync_directory(folder)
    }
}

/// Idle analyzers, each with its language; their caches make them faster than new ones.
#[derive(Default)]
struct AnalyzerPool(Mutex<Vec<(String, Analyzer)>>);

impl AnalyzerPool {
    /// Returns the terms of the indexed fields of a chunk.
    fn analyze(&self, lang: &str, fields: &Fields, entry: &ChunkFields) -> [Terms; FIELDS] {
        let mut analyzer = self.take(lang);
        let terms = std::array::from_fn(|i| {
            let mut terms = Terms::default();
            if fields.terms[i].is_some() {
                analyzer.append(entry.fields[i], &mut terms);
            }
            terms
        });
        self.idle().push((lang.to_owned(), analyzer));
        terms
    }

    fn take(&self, lang: &str) -> Analyzer {
        let mut idle = self.idle();
        match idle.iter().position(|(of, _)| of == lang) {
            Some(at) => idle.swap_remove(at).1,
            None => Analyzer::for_documents(lang),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(String, Analyzer)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sync_directory(folder: &Path) -> Result<()> {
    files::sync_folder(folder).map_err(|error| Error::io(folder, &error))
}
