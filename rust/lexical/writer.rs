//! The writer of the inverted index.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexWriter};

use super::bm25::FIELDS;
use super::commit::{Payload, error_of};
use super::deletion::AddedSegments;
use super::inverter::Inverter;
use super::schema::Fields;
use super::serializer::serialize;
use crate::analyze::Analyzer;
use crate::error::{Error, Result};
use crate::files;
use crate::pool;

/// Bytes of postings that are collected before they are written as a segment.
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

/// The only writer of the folder. tantivy deletes, merges and commits; the segments of new chunks are
/// made here.
pub(super) struct Writer {
    writer: IndexWriter,
    fields: Fields,
    segments: AddedSegments,
    /// Chunks that are in no segment yet.
    inverter: Inverter,
    /// Documents that have chunks, committed or not: only these need a deletion.
    docs: HashSet<i64>,
    written: WrittenDocs,
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
        // tantivy's own worker is given no chunks.
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
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
            segments: AddedSegments::default(),
            inverter: Inverter::default(),
            docs,
            written: WrittenDocs::default(),
            analyzers: AnalyzerPool::default(),
            changed: false,
        })
    }

    /// Replaces a document's chunks; does nothing if this writer has committed the same ones.
    ///
    /// A document changes with each of its vectors, which BM25 does not hold.
    pub(super) fn put(
        &mut self,
        folder: &Path,
        doc: i64,
        lang: &str,
        entries: &[ChunkFields],
    ) -> Result<()> {
        if self.written.has(doc, lang, entries) {
            return Ok(());
        }
        if self.docs.remove(&doc) {
            // A deletion applies to the segments that exist.
            if self.inverter.has(doc) {
                self.write_segment(folder)?;
            }
            self.delete(folder, doc)?;
        }
        if entries.is_empty() {
            return Ok(());
        }
        self.docs.insert(doc);
        self.changed = true;
        let analyze = |entry| self.analyzers.analyze(lang, &self.fields, entry);
        let analyzed: Vec<Analyzed> = if entries.len() >= PARALLEL_CHUNKS {
            pool::install(|| entries.par_iter().map(analyze).collect())
        } else {
            entries.iter().map(analyze).collect()
        };
        for (entry, mut analyzed) in entries.iter().zip(analyzed) {
            self.analyzers
                .translate(folder, &mut analyzed, &mut self.inverter)?;
            self.inverter.add(doc, entry.key, analyzed.fields());
        }
        self.analyzers.trim();
        if self.inverter.memory() >= MEMORY {
            self.write_segment(folder)?;
        }
        Ok(())
    }

    /// Deletes a document's chunks from the segments that exist.
    fn delete(&mut self, folder: &Path, doc: i64) -> Result<()> {
        self.changed = true;
        let deletion = self.segments.deletion(self.fields.doc_term(doc));
        self.writer
            .delete_query(deletion)
            .map_err(|error| error_of(folder, error))?;
        Ok(())
    }

    /// Writes the collected chunks as a segment, which the next commit includes.
    fn write_segment(&mut self, folder: &Path) -> Result<()> {
        if self.inverter.is_empty() {
            return Ok(());
        }
        let inverter = std::mem::take(&mut self.inverter);
        self.analyzers.forget_translations();
        // tantivy's garbage collector keeps the files of a segment that is referred to.
        let segment = self.writer.new_segment();
        self.segments.push(segment.id());
        let written = serialize(&inverter, &self.fields, &segment).and_then(|()| {
            let segment = segment.with_max_doc(inverter.len());
            segment.meta().untrack_temp_docstore();
            self.writer.add_segment(segment.meta().clone())
        });
        written.map_err(|error| error_of(folder, error))
    }

    /// Removes every chunk.
    pub(super) fn clear(&mut self, folder: &Path) -> Result<()> {
        self.inverter = Inverter::default();
        self.written = WrittenDocs::default();
        self.analyzers.forget_translations();
        for doc in std::mem::take(&mut self.docs) {
            self.delete(folder, doc)?;
        }
        self.changed = true;
        Ok(())
    }

    /// Makes all changes durable. tantivy syncs its files, and syncs the directory before it renames
    /// the commit to its name; a second sync of the directory makes the rename durable.
    pub(super) fn commit(&mut self, folder: &Path, seq: i64) -> Result<()> {
        let written = self.written.take_uncommitted();
        self.write_segment(folder)?;
        let payload = Payload::new(seq).to_json()?;
        let committed = self.writer.prepare_commit().and_then(|mut commit| {
            commit.set_payload(&payload);
            commit.commit()
        });
        committed.map_err(|error| error_of(folder, error))?;
        self.written.committed.extend(written);
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

/// The documents that a writer has written, each with a hash of its chunks.
///
/// Only what was committed counts: after a failure, it is not known what the folder has of the rest.
#[derive(Default)]
struct WrittenDocs {
    committed: HashMap<i64, blake3::Hash>,
    uncommitted: HashMap<i64, blake3::Hash>,
}

impl WrittenDocs {
    /// Returns whether a document was committed with these chunks; if not, it is written now.
    fn has(&mut self, doc: i64, lang: &str, entries: &[ChunkFields]) -> bool {
        let hash = hash_entries(lang, entries);
        if self.committed.get(&doc) == Some(&hash) && !self.uncommitted.contains_key(&doc) {
            return true;
        }
        self.committed.remove(&doc);
        self.uncommitted.insert(doc, hash);
        false
    }

    fn take_uncommitted(&mut self) -> HashMap<i64, blake3::Hash> {
        std::mem::take(&mut self.uncommitted)
    }
}

/// Returns the hash of all that a document has in the inverted index.
fn hash_entries(lang: &str, entries: &[ChunkFields]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(lang.as_bytes());
    for entry in entries {
        add(&entry.key.to_le_bytes());
        for field in entry.fields {
            add(field.as_bytes());
        }
    }
    hasher.finalize()
}

/// The terms of a chunk, as numbers of an analyzer.
struct Analyzed {
    /// The index of the analyzer in the pool.
    analyzer: usize,
    numbers: Vec<u32>,
    /// Where the terms of each field end.
    ends: [usize; FIELDS],
}

impl Analyzed {
    fn fields(&self) -> [&[u32]; FIELDS] {
        let mut start = 0;
        self.ends
            .map(|end| &self.numbers[std::mem::replace(&mut start, end)..end])
    }
}

/// The analyzers of all languages and threads.
#[derive(Default)]
struct AnalyzerPool(Mutex<Vec<Pooled>>);

struct Pooled {
    lang: String,
    /// `None` while a thread uses it.
    analyzer: Option<Analyzer>,
    /// The inverter's number of each of its terms, or [`UNKNOWN`].
    translation: Vec<u32>,
}

/// The translation of a term that the inverter has not been asked for.
const UNKNOWN: u32 = u32::MAX;

impl AnalyzerPool {
    /// Returns the terms of the indexed fields of a chunk.
    fn analyze(&self, lang: &str, fields: &Fields, entry: &ChunkFields) -> Analyzed {
        let (slot, mut analyzer) = self.take(lang);
        let mut numbers = Vec::new();
        let ends = std::array::from_fn(|i| {
            if fields.terms[i].is_some() {
                analyzer.append(entry.fields[i], &mut numbers);
            }
            numbers.len()
        });
        self.all()[slot].analyzer = Some(analyzer);
        Analyzed {
            analyzer: slot,
            numbers,
            ends,
        }
    }

    fn take(&self, lang: &str) -> (usize, Analyzer) {
        let mut all = self.all();
        let idle = all
            .iter_mut()
            .enumerate()
            .filter(|(_, pooled)| pooled.lang == lang)
            .find_map(|(slot, pooled)| Some((slot, pooled.analyzer.take()?)));
        idle.unwrap_or_else(|| {
            all.push(Pooled {
                lang: lang.to_owned(),
                analyzer: None,
                translation: Vec::new(),
            });
            (all.len() - 1, Analyzer::for_documents(lang))
        })
    }

    /// Replaces the analyzer's numbers of terms by the inverter's.
    fn translate(
        &mut self,
        folder: &Path,
        analyzed: &mut Analyzed,
        inverter: &mut Inverter,
    ) -> Result<()> {
        let Pooled {
            analyzer: Some(analyzer),
            translation,
            ..
        } = &mut self.all_mut()[analyzed.analyzer]
        else {
            return Err(Error::System(format!(
                "{}: the analyzer of a chunk was lost; run the command again",
                folder.display()
            )));
        };
        for number in &mut analyzed.numbers {
            let at = *number as usize;
            if at >= translation.len() {
                translation.resize(at + 1, UNKNOWN);
            }
            if translation[at] == UNKNOWN {
                translation[at] = inverter.number(analyzer.term(*number));
            }
            *number = translation[at];
        }
        Ok(())
    }

    /// Forgets the inverter's numbers, when it is replaced.
    fn forget_translations(&mut self) {
        for pooled in self.all_mut() {
            pooled.translation.clear();
        }
    }

    /// Bounds the memory of each analyzer.
    fn trim(&mut self) {
        for pooled in self.all_mut() {
            if pooled.analyzer.as_mut().is_some_and(Analyzer::trim) {
                pooled.translation.clear();
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Pooled>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_mut(&mut self) -> &mut Vec<Pooled> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sync_directory(folder: &Path) -> Result<()> {
    files::sync_folder(folder).map_err(|error| Error::io(folder, &error))
}
