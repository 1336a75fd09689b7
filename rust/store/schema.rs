//! The database schema and its format number.

/// The format number; it changes whenever an older crx could misread a new index.
pub(super) const FORMAT: i64 = 2;

/// "crx\0", the application id in the header of SQLite.
pub(super) const APPLICATION_ID: i64 = 0x6372_7800;

/// A table: its columns in order, without the hash at the end of every row.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static str,
    /// The number of columns.
    pub(super) width: usize,
}

impl Table {
    const fn new(name: &'static str, columns: &'static str) -> Self {
        let (bytes, mut at, mut commas) = (columns.as_bytes(), 0, 0);
        while at < bytes.len() {
            commas += (bytes[at] == b',') as usize;
            at += 1;
        }
        Table {
            name,
            columns,
            width: commas + 1,
        }
    }

    /// Returns the columns and the hash, qualified by the table's name.
    pub(super) fn select(&self) -> String {
        let columns = self.columns.split(", ").chain(["hash"]);
        columns
            .map(|column| format!("{}.{column}", self.name))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

pub(super) const SETTING: Table = Table::new("setting", "name, value");
pub(super) const BODY: Table = Table::new("body", "body, key, chars, marks");
pub(super) const PIECE: Table = Table::new("piece", "piece, body, start, chars, text");
pub(super) const PIECE_INDEX: Table = Table::new("piece_index", "piece, lines, marks");
pub(super) const DOCUMENT: Table = Table::new(
    "document",
    "doc, uri, title, lang, kind, metadata, source_hash, source_size, source_mtime_ns, body, \
     chunks",
);
pub(super) const CHUNK: Table = Table::new(
    "chunk",
    "chunk, doc, ordinal, start, end, token_start, token_end, section, outline, \
     context_key, wanted_key, vector_key",
);
pub(super) const CONTEXT: Table = Table::new("context", "key, generator, outcome, text");
pub(super) const VECTOR: Table = Table::new("vector", "key, dim, data");
pub(super) const CHANGE: Table = Table::new("change", "doc, seq");
pub(super) const DERIVED: Table = Table::new("derived", "name, file, seq, seal");
pub(super) const FAILURE: Table = Table::new("failure", "uri, reason");

/// All tables.
pub(super) const TABLES: [&Table; 11] = [
    &SETTING,
    &BODY,
    &PIECE,
    &PIECE_INDEX,
    &DOCUMENT,
    &CHUNK,
    &CONTEXT,
    &VECTOR,
    &CHANGE,
    &DERIVED,
    &FAILURE,
];

/// The table with the line breaks before each piece of a long text, and the marks around it. It is
/// created by the first writer if the index is older than it.
pub(super) const CREATE_PIECE_INDEX: &str = "
CREATE TABLE piece_index (
  piece INTEGER PRIMARY KEY REFERENCES piece ON DELETE CASCADE, lines INTEGER NOT NULL,
  marks TEXT NOT NULL, hash BLOB NOT NULL
) STRICT;
";

/// The SQL schema, without [`CREATE_PIECE_INDEX`]. Texts are stored in pieces, so that a chunk is
/// read without its whole document; the view `reading` shows whole texts to users of other SQLite
/// tools.
pub(super) const SQL: &str = "
CREATE TABLE setting (
  name TEXT PRIMARY KEY, value TEXT NOT NULL, hash BLOB NOT NULL
) STRICT;

-- A document's text and marks, by content: key = BLAKE3 of both.
CREATE TABLE body (
  body INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, chars INTEGER NOT NULL,
  marks TEXT NOT NULL, hash BLOB NOT NULL
) STRICT;

-- The text of a body: `chars` code points from code point `start`.
CREATE TABLE piece (
  piece INTEGER PRIMARY KEY AUTOINCREMENT, body INTEGER NOT NULL REFERENCES body,
  start INTEGER NOT NULL, chars INTEGER NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL,
  UNIQUE (body, start)
) STRICT;

CREATE TABLE document (
  doc INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
  lang TEXT NOT NULL, kind TEXT NOT NULL, metadata TEXT NOT NULL, source_hash BLOB NOT NULL,
  source_size INTEGER NOT NULL, source_mtime_ns INTEGER NOT NULL,
  body INTEGER NOT NULL REFERENCES body, chunks INTEGER NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE INDEX document_body ON document (body);

-- What a model wrote of a chunk, by content: never lost with its document.
CREATE TABLE context (
  key BLOB PRIMARY KEY, generator TEXT NOT NULL, outcome TEXT NOT NULL, text TEXT NOT NULL,
  hash BLOB NOT NULL
) STRICT;

-- Little-endian f16, by content.
CREATE TABLE vector (
  key BLOB PRIMARY KEY, dim INTEGER NOT NULL, data BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;

-- vector_key: the vector it has; wanted_key: the one it should have, NULL none.
CREATE TABLE chunk (
  chunk INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER NOT NULL REFERENCES document,
  ordinal INTEGER NOT NULL, start INTEGER NOT NULL, \"end\" INTEGER NOT NULL,
  token_start INTEGER NOT NULL, token_end INTEGER NOT NULL, section INTEGER NOT NULL,
  outline TEXT NOT NULL, context_key BLOB REFERENCES context, wanted_key BLOB,
  vector_key BLOB REFERENCES vector, hash BLOB NOT NULL,
  UNIQUE (doc, ordinal)
) STRICT;
CREATE INDEX chunk_context ON chunk (context_key) WHERE context_key IS NOT NULL;
CREATE INDEX chunk_vector ON chunk (vector_key) WHERE vector_key IS NOT NULL;
CREATE INDEX chunk_pending ON chunk (chunk) WHERE vector_key IS NOT wanted_key;
CREATE INDEX chunk_wanted ON chunk (wanted_key) WHERE vector_key IS NOT wanted_key;

-- The sequence number of the last change of each document that is or was.
CREATE TABLE change (
  doc INTEGER PRIMARY KEY, seq INTEGER NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE INDEX change_seq ON change (seq);

-- The published file below derived/ of each name.
CREATE TABLE derived (
  name TEXT PRIMARY KEY, file TEXT NOT NULL, seq INTEGER NOT NULL, seal BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;

CREATE TABLE failure (
  uri TEXT PRIMARY KEY, reason TEXT NOT NULL, hash BLOB NOT NULL
) STRICT;

CREATE VIEW reading AS SELECT doc, uri, title, lang, metadata,
  (SELECT group_concat(text, '') FROM
    (SELECT text FROM piece WHERE piece.body = document.body ORDER BY start)) AS text
FROM document;
";
