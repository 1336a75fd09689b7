//! The kind of a document: source code, prose or data.

use super::path::{FileKind, kind_of};
use super::source::is_source_code;

/// What a document is, and with it each of its chunks. It is decided when the document is put, and
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Source code.
    Code,
    /// A text for people, whatever examples of source code it has.
    Prose,
    /// Data or configuration.
    Data,
}

impl Kind {
    /// Returns the kind of a document: by its path, else by its whole text.
    pub fn of(uri: &str, text: &str) -> Kind {
        Kind::of_path(uri).unwrap_or_else(|| Kind::of_text(text))
    }

    /// Returns the kind that a path tells; that of `bin/run` tells nothing.
    pub fn of_path(uri: &str) -> Option<Kind> {
        match kind_of(uri) {
            FileKind::Source(_) => Some(Kind::Code),
            FileKind::Prose => Some(Kind::Prose),
            FileKind::Data => Some(Kind::Data),
            FileKind::Unknown => None,
        }
    }

    /// Returns the kind of a text whose path does not tell.
    pub fn of_text(text: &str) -> Kind {
        match is_source_code(text) {
            true => Kind::Code,
            false => Kind::Prose,
        }
    }

    /// Returns the name: `code`, `prose` or `data`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Code => "code",
            Kind::Prose => "prose",
            Kind::Data => "data",
        }
    }

    /// Returns the kind of a name, `None` for another text.
    pub fn named(name: &str) -> Option<Kind> {
        [Kind::Code, Kind::Prose, Kind::Data]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_the_kind_before_the_text_does() {
        let code = "fn main() {\n    let x = f(&y);\n}\n";
        assert_eq!(Kind::of("a/README.md", code), Kind::Prose);
        assert_eq!(Kind::of("a/b.toml.gz", code), Kind::Data);
        assert_eq!(Kind::of("a/b.rs", "Boil."), Kind::Code);
        assert_eq!(Kind::of("bin/run", code), Kind::Code);
        assert_eq!(Kind::of("bin/run", "Boil."), Kind::Prose);
    }

    #[test]
    fn a_kind_is_that_of_its_name() {
        for kind in [Kind::Code, Kind::Prose, Kind::Data] {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        assert_eq!(Kind::named(""), None);
    }
}
