//! A set of documents, to which a search can be restricted.

/// A set of document ids, as a bitmap: bit `doc` of word `doc / 64`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// Returns the set of these documents.
    ///
    /// # Panics
    /// If an id is negative.
    pub fn from_docs(docs: impl IntoIterator<Item = i64>) -> Self {
        let mut words = Vec::new();
        for doc in docs {
            let doc = usize::try_from(doc).unwrap_or_else(|_| panic!("negative document id"));
            if words.len() <= doc / 64 {
                words.resize(doc / 64 + 1, 0u64);
            }
            words[doc / 64] |= 1 << (doc % 64);
        }
        Filter { words }
    }

    /// Returns whether a document is in the set.
    #[inline]
    pub fn contains(&self, doc: i64) -> bool {
        self.words
            .get(doc as usize / 64)
            .is_some_and(|word| word >> (doc as usize % 64) & 1 == 1)
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}
