//! The elements of HTML that the layout of a page's text knows.

/// An element, by what its name means for the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `a`.
    Link,
    /// `div`, to which some names of boilerplate belong.
    Division,
    /// `h1` to `h6`, with the level.
    Heading(u8),
    /// `li`.
    Item,
    /// `main`.
    Main,
    /// `ol`.
    NumberedList,
    /// `p`.
    Paragraph,
    /// `pre`.
    Preformatted,
    /// `tr`.
    Row,
    /// `table`.
    Table,
    /// `td`, `th`.
    Cell,
    /// `template`, whose content is not part of the page.
    Template,
    /// `ul`.
    BulletList,
    /// `dl`.
    DefinitionList,
    /// `dd`.
    Definition,
    /// `mfrac`.
    Fraction,
    /// `msup`.
    Power,
    /// Any other.
    Other,
}

impl Tag {
    /// Returns the tag of a name.
    pub fn of(name: &str) -> Self {
        match name {
            "a" => Tag::Link,
            "div" => Tag::Division,
            "h1" => Tag::Heading(1),
            "h2" => Tag::Heading(2),
            "h3" => Tag::Heading(3),
            "h4" => Tag::Heading(4),
            "h5" => Tag::Heading(5),
            "h6" => Tag::Heading(6),
            "li" => Tag::Item,
            "main" => Tag::Main,
            "ol" => Tag::NumberedList,
            "p" => Tag::Paragraph,
            "pre" => Tag::Preformatted,
            "tr" => Tag::Row,
            "table" => Tag::Table,
            "td" | "th" => Tag::Cell,
            "template" => Tag::Template,
            "ul" => Tag::BulletList,
            "dl" => Tag::DefinitionList,
            "dd" => Tag::Definition,
            "mfrac" => Tag::Fraction,
            "msup" => Tag::Power,
            _ => Tag::Other,
        }
    }

    /// Returns true for a list, whose links may be a table of contents.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Tag::BulletList | Tag::NumberedList | Tag::DefinitionList
        )
    }

    /// Returns what stands between the parts of a formula; HTML shows it by their height alone.
    pub fn operator(self) -> Option<&'static str> {
        match self {
            Tag::Fraction => Some("/"),
            Tag::Power => Some("^"),
            _ => None,
        }
    }

    /// Returns true for what a table's cell contains if the table lays out a page.
    pub fn is_layout(self) -> bool {
        self.is_list() || matches!(self, Tag::Table | Tag::Heading(_) | Tag::Preformatted)
    }
}

/// Returns the newlines around an element: two make a blank line, none is for one within a line.
pub fn newlines(name: &str) -> u8 {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table" | "pre"
        | "blockquote" | "figure" | "section" | "article" | "main" | "header" | "footer"
        | "aside" | "hr" => 2,
        "div" | "li" | "tr" | "dt" | "dd" | "br" | "caption" | "figcaption" | "address"
        | "form" | "fieldset" | "details" | "summary" | "option" | "text" | "textarea" => 1,
        _ => 0,
    }
}

/// Returns true for an element whose content is no text of the page.
///
/// Readings of ruby would part the words that they are for; a formula's annotation repeats it, and
/// the title of a drawing is that of an icon.
pub fn is_dropped(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "rt"
            | "rp"
            | "rtc"
            | "annotation"
            | "annotation-xml"
            | "title"
            | "desc"
            | "defs"
            | "metadata"
            | "iframe"
            | "object"
            | "canvas"
            | "audio"
            | "video"
            | "button"
            | "select"
            | "input"
            | "head"
    )
}

/// Returns true for an element in which a footer or an aside is content.
pub fn is_article(name: &str) -> bool {
    matches!(
        name,
        "main" | "article" | "section" | "blockquote" | "figure"
    )
}

/// Returns true for an element that has no content, and no end in the markup.
pub fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "basefont"
            | "bgsound"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "keygen"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Returns true for an element whose text is not escaped in the markup.
pub fn is_raw(name: &str) -> bool {
    matches!(
        name,
        "script" | "style" | "xmp" | "iframe" | "noembed" | "noframes" | "plaintext"
    )
}
