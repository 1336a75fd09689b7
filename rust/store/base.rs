//! The folder that the stored URIs of files are relative to.
//!
//! A folder of documents that is moved or copied together with its index then keeps its documents:
//! below the base, the URI of `docs/a.md` and the path in its metadata are stored as `./docs/a.md`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What stored URIs below the base begin with.
pub(super) const RELATIVE: &str = "./";

/// The base of stored URIs, as a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    folder: String,
    /// What URIs below the folder begin with.
    inside: String,
}

impl Base {
    pub(super) fn new(folder: &str) -> Self {
        Base {
            folder: folder.to_string(),
            inside: format!("{}/", folder.trim_end_matches('/')),
        }
    }

    /// Returns the URI of the folder.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns what URIs below the folder begin with.
    pub(super) fn inside(&self) -> &str {
        &self.inside
    }

    /// Returns the stored form of a URI.
    pub(super) fn stored<'a>(&self, uri: &'a str) -> Cow<'a, str> {
        if uri.starts_with(RELATIVE) {
            // Not the URI of a file: kept apart from those.
            return Cow::Owned(format!("{RELATIVE}{uri}"));
        }
        if uri == self.folder {
            return Cow::Borrowed(RELATIVE);
        }
        match uri.strip_prefix(&self.inside) {
            Some(rest) => Cow::Owned(format!("{RELATIVE}{rest}")),
            None => Cow::Borrowed(uri),
        }
    }

    /// Returns the URI of a stored form.
    pub(super) fn absolute<'a>(&self, stored: &'a str) -> Cow<'a, str> {
        match stored.strip_prefix(RELATIVE) {
            None => Cow::Borrowed(stored),
            Some("") => Cow::Owned(self.folder.clone()),
            Some(rest) if rest.starts_with(RELATIVE) => Cow::Borrowed(rest),
            Some(rest) => Cow::Owned(format!("{}{rest}", self.inside)),
        }
    }

    /// Returns metadata with the stored form of its path.
    pub(super) fn stored_metadata<'a>(&self, metadata: &'a str) -> Cow<'a, str> {
        with_path(metadata, |path| self.stored(path).into_owned())
    }

    /// Returns metadata with the URI of its stored path.
    pub(super) fn absolute_metadata<'a>(&self, metadata: &'a str) -> Cow<'a, str> {
        with_path(metadata, |path| self.absolute(path).into_owned())
    }
}

/// The path of a document in its metadata.
#[derive(Deserialize)]
struct PathField<'a> {
    #[serde(borrow, default)]
    path: Option<&'a RawValue>,
}

/// Returns the text of `path` in metadata, if it is one, and the JSON of that text.
fn path_field(metadata: &str) -> Option<(String, &str)> {
    let field: PathField<'_> = serde_json::from_str(metadata).ok()?;
    let json = field.path?.get();
    Some((serde_json::from_str(json).ok()?, json))
}

/// Returns the path in metadata.
pub(super) fn path_of(metadata: &str) -> Option<String> {
    path_field(metadata).map(|(path, _)| path)
}

/// Returns metadata with its path changed; all other bytes stay.
fn with_path(metadata: &str, change: impl Fn(&str) -> String) -> Cow<'_, str> {
    let Some((path, json)) = path_field(metadata) else {
        return Cow::Borrowed(metadata);
    };
    // `json` is a part of `metadata`.
    let start = json.as_ptr() as usize - metadata.as_ptr() as usize;
    let (before, after) = (&metadata[..start], &metadata[start + json.len()..]);
    let changed = serde_json::Value::from(change(&path));
    Cow::Owned(format!("{before}{changed}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_below_the_base_are_stored_relative_to_it() {
        for (folder, uri, stored) in [
            ("/a", "/a/b.md", "./b.md"),
            ("/a", "/a", "./"),
            ("/a", "/ab", "/ab"),
            ("/a", "mem:1", "mem:1"),
            ("/a", "./b.md", "././b.md"),
            ("/a", "././b.md", "./././b.md"),
            ("/", "/b.md", "./b.md"),
            ("/", "/", "./"),
        ] {
            let base = Base::new(folder);
            assert_eq!(base.stored(uri), stored, "{folder} {uri}");
            assert_eq!(base.absolute(stored), uri, "{folder} {stored}");
        }
    }

    #[test]
    fn only_the_path_of_metadata_changes() {
        let base = Base::new("/ä \"q\"");
        let metadata = "{\"a\":{\"path\":\"/x\"},\"path\":\"/ä \\\"q\\\"/b\\n.md\",\"z\":1.50}";
        let stored = "{\"a\":{\"path\":\"/x\"},\"path\":\"./b\\n.md\",\"z\":1.50}";
        assert_eq!(base.stored_metadata(metadata), stored);
        assert_eq!(base.absolute_metadata(stored), metadata);
        for same in [
            "{}",
            "{\"path\":1}",
            "{\"path\":[\"/a\"]}",
            "{\"path\":null}",
            "no JSON",
        ] {
            assert_eq!(base.stored_metadata(same), same);
        }
    }
}
