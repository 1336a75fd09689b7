//! One commit of the index, opened for searching.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::{Directory, Index, IndexMeta, TantivyError};

use super::bm25::{Bm25, FIELDS};
use super::commit::{Payload, damaged, error_of};
use super::schema::Fields;
use super::segment::{Segment, identity};
use super::statistics::ScoredSegment;
use crate::error::Result;

/// An open commit: immutable, shared by the searches that use it.
pub(super) struct Snapshot {
    /// The store's sequence number that it reflects.
    pub(super) seq: i64,
    pub(super) segments: Vec<Arc<ScoredSegment>>,
    /// Live chunks.
    pub(super) chunks: u64,
    /// Terms of the live chunks, by field.
    pub(super) lengths: [u64; FIELDS],
    /// Files whose checksum was found correct; tantivy never rewrites a file.
    checked: HashSet<PathBuf>,
}

impl Snapshot {
    /// Opens the last commit.
    ///
    /// Every file is checked against its CRC first, since tantivy does not check the files that it
    /// maps; files that `before` has checked are skipped. So each process reads the whole index
    /// once. A record of checked files on disk (by size and time stamp) would miss silent damage.
    pub(super) fn open(
        folder: &Path,
        index: &Index,
        fields: &Fields,
        before: Option<&Snapshot>,
    ) -> Result<Snapshot> {
        // A writer may merge segments away after the commit was read and before its files are
        // opened; the next commit then has their chunks in another segment.
        const ATTEMPTS: usize = 10;
        let mut attempt = 1;
        loop {
            match Self::open_once(folder, index, fields, before) {
                Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_)))
                    if attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                opened => return opened.map_err(|error| error_of(folder, error))?,
            }
        }
    }

    /// Opens the last commit once: tantivy's errors are the outer result, ours the inner.
    fn open_once(
        folder: &Path,
        index: &Index,
        fields: &Fields,
        before: Option<&Snapshot>,
    ) -> tantivy::Result<Result<Snapshot>> {
        let Some(meta) = read_meta(index)? else {
            return Ok(Err(damaged(folder, "its list of segments is damaged")));
        };
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
            let identity = identity(&meta);
            let mut open = before.iter().flat_map(|before| &before.segments);
            let open = open.find(|open| open.segment.identity == identity);
            let open = open.map(Arc::clone);
            let stored = index.segment(meta);
            for path in files_of(stored.meta()) {
                if !index.directory().exists(&path)? {
                    continue;
                }
                let known = before.is_some_and(|before| before.checked.contains(&path));
                if !known && !is_intact(folder, index, &path)? {
                    let why = format!("{} does not match its checksum", path.display());
                    return Ok(Err(damaged(folder, &why)));
                }
                snapshot.checked.insert(path);
            }
            let segment = match open {
                Some(segment) => segment,
                None => Arc::new(ScoredSegment::new(Segment::open(&stored, fields)?)),
            };
            snapshot.count(&segment.segment);
            snapshot.segments.push(segment);
        }
        // The largest first: its best chunks raise the threshold for the others.
        snapshot
            .segments
            .sort_by_key(|scored| std::cmp::Reverse(scored.segment.max_doc));
        Ok(Ok(snapshot))
    }

    fn count(&mut self, segment: &Segment) {
        for doc in segment.live() {
            self.chunks += 1;
            for (sum, length) in self.lengths.iter_mut().zip(segment.lengths(doc)) {
                *sum += length;
            }
        }
    }

    /// Returns the mean weighted length of the live chunks.
    pub(super) fn mean_length(&self, bm25: &Bm25) -> f64 {
        bm25.length(self.lengths) / self.chunks.max(1) as f64
    }

    /// Returns the documents that have live chunks.
    pub(super) fn docs(&self) -> HashSet<i64> {
        self.segments
            .iter()
            .map(|scored| &scored.segment)
            .flat_map(|segment| segment.live().map(|doc| segment.doc(doc)))
            .collect()
    }
}

/// Reads the last commit; `None` if it is not as it was written.
///
/// tantivy has no checksum for this file, and takes a field whose name is damaged for a missing one,
/// so that the chunks of a lost list of deletions would be back. What was read is therefore written
/// again and compared. Both are read once more if they differ, since a writer may commit in between.
fn read_meta(index: &Index) -> tantivy::Result<Option<IndexMeta>> {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let meta = index.load_metas()?;
        let read = index.directory().atomic_read(Path::new("meta.json"))?;
        let written = serde_json::to_vec_pretty(&meta).map_err(std::io::Error::from)?;
        let no_deletions =
            |segment: &SegmentMeta| segment.delete_opstamp().is_some() && !segment.has_deletes();
        if read.strip_suffix(b"\n") == Some(&written[..]) && !meta.segments.iter().any(no_deletions)
        {
            return Ok(Some(meta));
        }
    }
    Ok(None)
}

/// Returns whether a file matches its checksum. A file without room for a checksum is not passed to
/// tantivy, which would panic.
fn is_intact(folder: &Path, index: &Index, path: &Path) -> tantivy::Result<bool> {
    const MIN_BYTES: u64 = 8;
    let file = std::fs::metadata(folder.join(path)).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
        _ => OpenReadError::wrap_io_error(error, path.to_owned()),
    })?;
    Ok(file.len() >= MIN_BYTES && index.directory().validate_checksum(path)?)
}

/// Returns the paths of a segment's files, whether they exist or not: opening the segment reports a
/// missing file.
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
