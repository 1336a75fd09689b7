//! Here are terms: which chunks hold them?
//!
//! tantivy keeps the postings, deletes by term, merges and commits. What it rounds is exact here:
//! the lengths of a chunk's fields stand in fast fields instead of one-byte norms, document
//! frequencies count live chunks only, and k1, b and the fields' weights are settings of a search
//! ([`crate::bm25`]). Text is analyzed before tantivy sees it ([`crate::analyze`]).
//!
//! The folder can be deleted at any time: it is derived from the store, and a commit says which of
//! the store's sequence numbers it reflects.

mod commit;
mod postings;
mod schema;
mod snapshot;
mod topk;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tantivy::Index;
use tantivy::directory::MmapDirectory;

pub use writer::Entry;

use crate::analyze::{Asker, Word};
use crate::bm25::Bm25;
use crate::error::{Error, Result};
use crate::store::{Filter, Store};
use commit::{damaged, told};
use schema::Fields;
use snapshot::Snapshot;
use topk::Ask;
use writer::Writer;

/// Askers kept for the next search: as many as searches are likely to run at once.
const IDLE_ASKERS: usize = 16;

/// The handle on `derived/bm25`; it may be used from several threads.
pub struct Lexical {
    folder: PathBuf,
    index: Index,
    fields: Fields,
    snapshot: RwLock<Arc<Snapshot>>,
    askers: Mutex<Vec<(Vec<String>, Asker)>>,
    /// Present in the one handle that writes.
    writer: Option<Mutex<Option<Writer>>>,
}

/// What a search asks for.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The words.
    pub text: &'a str,
    /// The languages whose stems the words may take.
    pub langs: &'a [String],
    /// How many chunks.
    pub k: usize,
    /// How postings are weighed.
    pub bm25: Bm25,
    /// The documents that may answer.
    pub only: Option<&'a Filter>,
}

impl Lexical {
    /// Opens the folder, or with `write` makes it.
    ///
    /// A folder with other fields, damaged, or made by another version of the analyzer is
    /// [`Error::Damaged`]; with `write` it is made anew, empty, at sequence number 0.
    pub fn open(folder: &Path, names: &[String], write: bool) -> Result<Lexical> {
        if !write {
            return Self::open_existing(folder, names, false);
        }
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        match Self::open_existing(folder, names, true) {
            Err(Error::Damaged(_)) => Self::create(folder, names),
            opened => opened,
        }
    }

    fn open_existing(folder: &Path, names: &[String], write: bool) -> Result<Lexical> {
        let (schema, fields) = schema::schema(names)?;
        let directory = MmapDirectory::open(folder)
            .map_err(|error| damaged(folder, &error.to_string().replace('\n', " ")))?;
        let index = Index::open(directory).map_err(|error| match told(folder, error) {
            // tantivy reports a commit it cannot parse as a failure of its own.
            Error::System(why) => damaged(folder, &why),
            error => error,
        })?;
        if index.schema() != schema {
            return Err(damaged(folder, "it was made with other fields"));
        }
        Self::with_index(folder, index, fields, write)
    }

    fn create(folder: &Path, names: &[String]) -> Result<Lexical> {
        let (schema, fields) = schema::schema(names)?;
        std::fs::remove_dir_all(folder)
            .and_then(|()| std::fs::create_dir(folder))
            .map_err(|error| Error::io(folder, &error))?;
        let index = Index::builder()
            .schema(schema)
            .settings(tantivy::IndexSettings {
                docstore_compress_dedicated_thread: false,
                ..Default::default()
            })
            .create_in_dir(folder)
            .map_err(|error| told(folder, error))?;
        Writer::open(folder, &index, fields, Default::default())?.commit(folder, 0)?;
        Self::with_index(folder, index, fields, true)
    }

    fn with_index(folder: &Path, index: Index, fields: Fields, write: bool) -> Result<Lexical> {
        let (name, tokenizer) = schema::tokenizer();
        index.tokenizers().register(name, tokenizer);
        let snapshot = Snapshot::open(folder, &index, &fields, None)?;
        Ok(Lexical {
            folder: folder.to_owned(),
            index,
            fields,
            snapshot: RwLock::new(Arc::new(snapshot)),
            askers: Mutex::default(),
            writer: write.then(|| Mutex::new(None)),
        })
    }

    /// The store's sequence number it reflects.
    pub fn seq(&self) -> i64 {
        self.snapshot().seq
    }

    /// How many chunks it holds.
    pub fn len(&self) -> u64 {
        self.snapshot().chunks
    }

    /// Does it hold none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces a document's chunks; seen after [`Lexical::commit`]. No entries: the document leaves.
    pub fn put(&self, doc: i64, lang: &str, entries: &[Entry]) -> Result<()> {
        self.write(|writer| writer.put(&self.folder, doc, lang, entries))
    }

    /// Makes what was put durable and visible, as the store's state at `seq`.
    pub fn commit(&self, seq: i64) -> Result<()> {
        self.write(|writer| {
            if writer.changed || seq != self.seq() {
                writer.commit(&self.folder, seq)?;
            }
            Ok(())
        })?;
        self.reload()
    }

    /// Brings it up to the store; returns how many documents were read. A handle that does not
    /// write turns to the last commit instead.
    pub fn sync(&self, store: &Store) -> Result<usize> {
        if self.writer.is_none() {
            self.reload()?;
            return Ok(0);
        }
        // Changes committed while the documents are read are read again next time: no harm.
        let seq = store.seq()?;
        if seq == self.seq() {
            return Ok(0);
        }
        let since = if self.seq() < seq {
            self.seq()
        } else {
            // The store is an older one, put back: nothing here can be told from it.
            self.write(Writer::clear)?;
            0
        };
        let changed = store.changed_since(since)?;
        for &doc in &changed {
            let chunks = store.doc_chunks(doc)?;
            let entries: Vec<Entry> = chunks
                .iter()
                .map(|chunk| Entry {
                    key: chunk.key,
                    fields: [&chunk.text, &chunk.outline, &chunk.context],
                })
                .collect();
            let lang = chunks.first().map_or("", |chunk| chunk.lang.as_str());
            self.put(doc, lang, &entries)?;
        }
        self.commit(seq)?;
        Ok(changed.len())
    }

    /// The best k chunks and their scores, best first; equal scores go to the smaller key.
    pub fn search(&self, query: &Query) -> Result<Vec<(i64, f32)>> {
        query.bm25.check()?;
        if query.k == 0 {
            return Err(Error::Invalid("k is 0; it must be 1 or more".into()));
        }
        let words = self.ask(query);
        let ask = Ask {
            words: &words,
            k: query.k,
            bm25: query.bm25,
            only: query.only,
        };
        topk::best(&self.snapshot(), &self.fields, &ask).map_err(|error| told(&self.folder, error))
    }

    /// Takes the query apart, with an asker that another search has left, if there is one.
    fn ask(&self, query: &Query) -> Vec<Word> {
        let idle = |asker: &(Vec<String>, Asker)| asker.0 == query.langs;
        let mut askers = locked(&self.askers);
        let mut asker = match askers.iter().position(idle) {
            Some(at) => askers.swap_remove(at).1,
            None => Asker::new(query.langs),
        };
        drop(askers);
        let words = asker.ask(query.text);
        let mut askers = locked(&self.askers);
        if askers.len() == IDLE_ASKERS {
            askers.remove(0);
        }
        askers.push((query.langs.to_vec(), asker));
        words
    }

    /// Waits for merges under way and gives the writer back; a later put opens another.
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

    /// Runs with the writer, which the first use opens. After a failure the next use opens another,
    /// and what was not committed is lost, as it says it would be.
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
