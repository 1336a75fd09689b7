//! Here is a commit: what does a search need of it?

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::columnar::ColumnValues;
use tantivy::directory::error::OpenReadError;
use tantivy::error::DataCorruption;
use tantivy::fastfield::AliveBitSet;
use tantivy::index::{SegmentComponent, SegmentId, SegmentMeta};
use tantivy::{
    Directory, Index, InvertedIndexReader, Opstamp, Segment as Stored, SegmentReader, TantivyError,
};

use super::commit::{Payload, damaged, told};
use super::postings::Tuning;
use super::schema::{DOC, Fields, KEY, NAMES, length_name};
use crate::bm25::{Bm25, FIELDS};
use crate::error::Result;

/// A commit, opened: immutable, shared by the searches that run on it.
pub(super) struct Snapshot {
    /// The store's sequence number it reflects.
    pub(super) seq: i64,
    pub(super) segments: Vec<Arc<Segment>>,
    /// Live chunks.
    pub(super) chunks: u64,
    /// Terms of the live chunks, by field.
    lengths: [u64; FIELDS],
    /// Files whose checksum was found right: they are never written again.
    checked: HashSet<PathBuf>,
}

/// One of tantivy's segments, with what is exact about it in memory.
pub(super) struct Segment {
    /// What makes it this one: its id, and the last deletion it has seen.
    name: (SegmentId, Option<Opstamp>),
    pub(super) terms: [Option<Arc<InvertedIndexReader>>; FIELDS],
    /// Number of terms of each chunk; empty where no chunk has any in that field.
    pub(super) lengths: [Vec<u32>; FIELDS],
    pub(super) max_doc: u32,
    pub(super) alive: Option<AliveBitSet>,
    keys: Arc<dyn ColumnValues<i64>>,
    docs: Arc<dyn ColumnValues<i64>>,
    tuning: Mutex<Option<Arc<Tuning>>>,
}

impl Snapshot {
    /// Opens the last commit.
    ///
    /// Every file is checked against its CRC first, since tantivy trusts what it maps; what
    /// `before` has checked is not checked again. This reads the whole index once a process. To remember a
    /// check beyond the process (by size and time stamp) would miss the very damage it is for.
    pub(super) fn open(
        folder: &Path,
        index: &Index,
        fields: &Fields,
        before: Option<&Snapshot>,
    ) -> Result<Snapshot> {
        // A writer may merge segments away between the reading of the commit and the opening of its
        // files; the next commit then has them under another name.
        const ATTEMPTS: usize = 10;
        let mut attempt = 1;
        loop {
            match Self::open_once(folder, index, fields, before) {
                Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_)))
                    if attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                opened => return opened.map_err(|error| told(folder, error))?,
            }
        }
    }

    /// Tantivy's failures outside, ours inside.
    fn open_once(
        folder: &Path,
        index: &Index,
        fields: &Fields,
        before: Option<&Snapshot>,
    ) -> tantivy::Result<Result<Snapshot>> {
        let meta = index.load_metas()?;
        let seq = match Payload::seq_of(folder, meta.payload.as_deref()) {
            Ok(seq) => seq,
            Err(error) => return Ok(Err(error)),
        };
        let mut snapshot = Snapshot {
            seq,
            segments: Vec::with_capacity(meta.segments.len()),
            chunks: 0,
            lengths: [0; FIELDS],
            checked: HashSet::new(),
        };
        for meta in meta.segments {
            let name = (meta.id(), meta.delete_opstamp());
            let mut open = before.iter().flat_map(|before| &before.segments);
            let open = open.find(|segment| segment.name == name).map(Arc::clone);
            let stored = index.segment(meta);
            for path in files_of(stored.meta()) {
                if !index.directory().exists(&path)? {
                    continue;
                }
                let known = before.is_some_and(|before| before.checked.contains(&path));
                if !known && !index.directory().validate_checksum(&path)? {
                    let why = format!("{} does not match its checksum", path.display());
                    return Ok(Err(damaged(folder, &why)));
                }
                snapshot.checked.insert(path);
            }
            let segment = match open {
                Some(segment) => segment,
                None => Arc::new(Segment::open(&stored, fields)?),
            };
            snapshot.count(&segment);
            snapshot.segments.push(segment);
        }
        // The largest first: its best chunks set the bar for the others.
        snapshot
            .segments
            .sort_by_key(|segment| std::cmp::Reverse(segment.max_doc));
        Ok(Ok(snapshot))
    }

    fn count(&mut self, segment: &Segment) {
        for doc in segment.live() {
            self.chunks += 1;
            for (sum, lengths) in self.lengths.iter_mut().zip(&segment.lengths) {
                *sum += u64::from(lengths.get(doc as usize).copied().unwrap_or(0));
            }
        }
    }

    /// The mean of the live chunks' weighted lengths.
    pub(super) fn mean_length(&self, bm25: &Bm25) -> f64 {
        bm25.length(self.lengths) / self.chunks.max(1) as f64
    }

    /// The documents that have live chunks.
    pub(super) fn docs(&self) -> HashSet<i64> {
        self.segments
            .iter()
            .flat_map(|segment| segment.live().map(|doc| segment.docs.get_val(doc)))
            .collect()
    }
}

/// The files of a segment, whether they exist or not: one that is missed is found missing when the
/// segment is opened.
fn files_of(meta: &SegmentMeta) -> impl Iterator<Item = PathBuf> {
    let deletions = meta.has_deletes().then_some(SegmentComponent::Delete);
    [
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::FastFields,
        SegmentComponent::FieldNorms,
        SegmentComponent::Terms,
        SegmentComponent::Store,
    ]
    .into_iter()
    .chain(deletions)
    .map(|component| meta.relative_path(component))
}

impl Segment {
    fn open(stored: &Stored, fields: &Fields) -> tantivy::Result<Segment> {
        let reader = SegmentReader::open(stored)?;
        let fast = reader.fast_fields();
        let max_doc = reader.max_doc();
        let keys = fast.column_first_or_default::<i64>(KEY)?;
        // The number of chunks stands in the commit, which has no checksum; that of the keys has.
        if keys.num_vals() != max_doc {
            let why = "a segment has another number of chunks than the commit says";
            return Err(DataCorruption::comment_only(why).into());
        }
        let mut terms = [const { None }; FIELDS];
        let mut lengths = [const { Vec::new() }; FIELDS];
        for (i, name) in NAMES.into_iter().enumerate() {
            let Some(field) = fields.terms[i] else {
                continue;
            };
            let column = fast.column_first_or_default::<u64>(&length_name(name))?;
            if column.max_value() > 0 {
                terms[i] = Some(reader.inverted_index(field)?);
                lengths[i] = (0..max_doc).map(|doc| column.get_val(doc) as u32).collect();
            }
        }
        let meta = stored.meta();
        Ok(Segment {
            name: (meta.id(), meta.delete_opstamp()),
            terms,
            lengths,
            max_doc,
            alive: reader.alive_bitset().cloned(),
            keys,
            docs: fast.column_first_or_default(DOC)?,
            tuning: Mutex::default(),
        })
    }

    /// The chunks that are not deleted.
    fn live(&self) -> impl Iterator<Item = u32> {
        (0..self.max_doc).filter(|&doc| self.is_live(doc))
    }

    #[inline]
    pub(super) fn is_live(&self, doc: u32) -> bool {
        self.alive.as_ref().is_none_or(|alive| alive.is_alive(doc))
    }

    pub(super) fn key(&self, doc: u32) -> i64 {
        self.keys.get_val(doc)
    }

    pub(super) fn doc(&self, doc: u32) -> i64 {
        self.docs.get_val(doc)
    }

    /// The segment under these settings: made once for those that are asked for again and again.
    pub(super) fn tuned(&self, bm25: &Bm25, mean: f64) -> Arc<Tuning> {
        let mut kept = self.tuning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tuning) = kept.as_ref()
            && tuning.bm25 == *bm25
            && tuning.mean == mean
        {
            return Arc::clone(tuning);
        }
        let norms = (0..self.max_doc as usize).map(|doc| {
            let length = |field: usize| self.lengths[field].get(doc).copied().unwrap_or(0);
            let lengths = std::array::from_fn(|field| u64::from(length(field)));
            bm25.norm(bm25.length(lengths), mean)
        });
        let tuning = Arc::new(Tuning::new(*bm25, mean, norms.collect()));
        *kept = Some(Arc::clone(&tuning));
        tuning
    }
}
