//! Here are chunks: make them findable.

use std::collections::HashSet;
use std::path::Path;

use rayon::prelude::*;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, UserOperation};
use tantivy::{Index, IndexWriter};

use super::commit::{Payload, told};
use super::schema::Fields;
use crate::analyze::{Analyzer, Terms};
use crate::bm25::FIELDS;
use crate::error::Result;

/// Bytes tantivy's one worker gathers before it writes a segment.
const MEMORY: usize = 128 << 20;

/// Chunks of a document below which analysing them in parallel costs more than it saves.
const PARALLEL_CHUNKS: usize = 32;

/// What the index is told of one chunk.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The chunk's key.
    pub key: i64,
    /// Its text, its outline and its context.
    pub fields: [&'a str; FIELDS],
}

/// The one writer of the folder.
pub(super) struct Writer {
    writer: IndexWriter,
    fields: Fields,
    /// Documents that have chunks, committed or not: only they need a deletion.
    docs: HashSet<i64>,
    analyzers: Vec<(String, Analyzer)>,
    pub(super) changed: bool,
}

impl Writer {
    pub(super) fn open(
        folder: &Path,
        index: &Index,
        fields: Fields,
        docs: HashSet<i64>,
    ) -> Result<Writer> {
        // One worker: a small commit then makes one segment, and the other core analyses.
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(MEMORY)
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter = index
            .writer_with_options(options)
            .map_err(|error| told(folder, error))?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(0.2);
        writer.set_merge_policy(Box::new(policy));
        Ok(Writer {
            writer,
            fields,
            docs,
            analyzers: Vec::new(),
            changed: false,
        })
    }

    /// Replaces a document's chunks.
    pub(super) fn put(
        &mut self,
        folder: &Path,
        doc: i64,
        lang: &str,
        entries: &[Entry],
    ) -> Result<()> {
        let mut operations = Vec::with_capacity(entries.len() + 1);
        if self.docs.remove(&doc) {
            operations.push(UserOperation::Delete(self.fields.doc_term(doc)));
        }
        if !entries.is_empty() {
            self.docs.insert(doc);
        }
        let fields = self.fields;
        let document = |analyzer: &mut Analyzer, entry: &Entry| {
            let mut terms: [Terms; FIELDS] = Default::default();
            for (i, text) in entry.fields.iter().enumerate() {
                if fields.terms[i].is_some() {
                    analyzer.append(text, &mut terms[i]);
                }
            }
            UserOperation::Add(fields.document(doc, entry.key, &terms))
        };
        if entries.len() >= PARALLEL_CHUNKS {
            operations.par_extend(
                entries
                    .par_iter()
                    .map_init(|| Analyzer::of_documents(lang), document),
            );
        } else {
            let analyzer = self.analyzer(lang);
            operations.extend(entries.iter().map(|entry| document(analyzer, entry)));
        }
        if operations.is_empty() {
            return Ok(());
        }
        self.changed = true;
        self.writer
            .run(operations)
            .map_err(|error| told(folder, error))?;
        Ok(())
    }

    fn analyzer(&mut self, lang: &str) -> &mut Analyzer {
        let at = match self.analyzers.iter().position(|(of, _)| of == lang) {
            Some(at) => at,
            None => {
                self.analyzers
                    .push((lang.to_owned(), Analyzer::of_documents(lang)));
                self.analyzers.len() - 1
            }
        };
        &mut self.analyzers[at].1
    }

    /// Makes what was put durable. tantivy syncs its files, and the directory before it renames the
    /// commit into place; the rename is durable when the directory is synced once more.
    pub(super) fn commit(&mut self, folder: &Path, seq: i64) -> Result<()> {
        let payload = Payload::new(seq).to_json()?;
        let committed = self.writer.prepare_commit().and_then(|mut commit| {
            commit.set_payload(&payload);
            commit.commit()
        });
        committed.map_err(|error| told(folder, error))?;
        self.changed = false;
        sync_directory(folder)
    }

    /// Waits for the merges under way.
    pub(super) fn close(self, folder: &Path) -> Result<()> {
        self.writer
            .wait_merging_threads()
            .map_err(|error| told(folder, error))?;
        sync_directory(folder)
    }
}

fn sync_directory(folder: &Path) -> Result<()> {
    std::fs::File::open(folder)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| crate::error::Error::io(folder, &error))
}
