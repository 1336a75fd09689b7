//! What the attributes of an element say of it: hidden, boilerplate, a link.
//!
//! Boilerplate is recognized by HTML's own elements and roles (WAI-ARIA), and by the class names and
//! ids of common generators (`DocBook`, Publican, Sphinx, Texinfo, `AsciiDoc`, `MkDocs`, `MediaWiki`).

use std::borrow::Cow;

use super::elements::Tag;
use super::whitespace::is_space;
use crate::analyze::is_unspaced;

/// The attributes of one element that are asked for; `None` for one that it does not have.
#[derive(Default)]
pub struct Attributes<'a> {
    pub class: Option<Cow<'a, str>>,
    pub id: Option<Cow<'a, str>>,
    pub role: Option<Cow<'a, str>>,
    pub href: Option<Cow<'a, str>>,
    pub style: Option<Cow<'a, str>>,
    pub aria_hidden: Option<Cow<'a, str>>,
    pub alt: Option<Cow<'a, str>>,
    pub hidden: bool,
}

impl<'a> Attributes<'a> {
    /// Keeps an attribute if it is asked for.
    pub fn set(&mut self, name: &str, value: Cow<'a, str>) {
        match name {
            "class" => self.class = Some(value),
            "id" => self.id = Some(value),
            "role" => self.role = Some(value),
            "href" => self.href = Some(value),
            "style" => self.style = Some(value),
            "aria-hidden" => self.aria_hidden = Some(value),
            "alt" => self.alt = Some(value),
            "hidden" => self.hidden = true,
            _ => {}
        }
    }

    /// Returns what describes a picture in words: a single one names an icon, unless its script has
    /// no spaces.
    pub fn description(&self) -> Option<String> {
        let alt = self.alt.as_deref()?.trim();
        let is_described = alt.contains(is_space) || alt.contains(is_unspaced);
        is_described.then(|| format!(" {alt} "))
    }

    /// Returns true for an element that a browser does not show, as far as attributes say so.
    pub fn is_hidden(&self) -> bool {
        self.hidden
            || self.aria_hidden.as_deref() == Some("true")
            || self.style.as_deref().is_some_and(is_hiding)
    }

    fn has_role(&self, roles: &[&str]) -> bool {
        self.role
            .as_deref()
            .is_some_and(|role| roles.contains(&role))
    }

    fn has_class(&self, names: &[&str], ignore_case: bool) -> bool {
        self.class.as_deref().is_some_and(|class| {
            class
                .split(is_space)
                .any(|word| is_one_of(word, names, ignore_case))
        })
    }

    fn has_id(&self, names: &[&str], ignore_case: bool) -> bool {
        self.id
            .as_deref()
            .is_some_and(|id| is_one_of(id, names, ignore_case))
    }
}

/// Returns true for boilerplate wherever it is.
pub fn is_boilerplate(
    name: &str,
    tag: Tag,
    attributes: &Attributes<'_>,
    ignore_case: bool,
) -> bool {
    name == "nav"
        || attributes.has_role(&ROLES)
        || attributes.has_class(&CLASSES, ignore_case)
        || attributes.has_id(&IDS, ignore_case)
        || (matches!(tag, Tag::Table | Tag::Division | Tag::BulletList)
            && attributes.has_class(&["nav"], ignore_case))
}

const ROLES: [&str; 6] = [
    "navigation",
    "search",
    "doc-toc",
    "menu",
    "menubar",
    "toolbar",
];
const CLASSES: [&str; 24] = [
    "navheader",
    "navfooter",
    "navbar",
    "nav-panel",
    "docnav",
    "navigation",
    "breadcrumb",
    "breadcrumbs",
    "toc",
    "TOC",
    "table-of-contents",
    "tableofcontents",
    "section-toc",
    "Contents_element",
    "Shortcontents_element",
    "element-contents",
    "element-shortcontents",
    "sphinxsidebar",
    "headerlink",
    "heading-anchor",
    "skip-link",
    "skip-to-content",
    "mw-editsection",
    "edit-page-link",
];
const IDS: [&str; 5] = [
    "toc",
    "SEC_Contents",
    "SEC_Shortcontents",
    "breadcrumbs",
    "catlinks",
];

/// Returns true for boilerplate unless it is part of an article.
pub fn is_around(name: &str, attributes: &Attributes<'_>, ignore_case: bool) -> bool {
    matches!(name, "footer" | "aside")
        || attributes.has_role(&["contentinfo"])
        || attributes.has_class(&["footer"], ignore_case)
        || attributes.has_id(&["footer", "footer-text", "banner"], ignore_case)
}

/// Returns true for boilerplate if it has no heading of its own and most of it is links.
pub fn is_boilerplate_of_links(name: &str, attributes: &Attributes<'_>, ignore_case: bool) -> bool {
    name == "header"
        || attributes.has_role(&["banner"])
        || attributes.has_class(&["header", "contents", "menu", "sidebar"], ignore_case)
        || attributes.has_id(&["header"], ignore_case)
}

/// Returns true for the role of a page's main element.
pub fn has_main_role(attributes: &Attributes<'_>) -> bool {
    attributes.has_role(&["main"])
}

fn is_one_of(word: &str, names: &[&str], ignore_case: bool) -> bool {
    names
        .iter()
        .any(|name| word == *name || (ignore_case && word.eq_ignore_ascii_case(name)))
}

/// Returns true for a style with `display: none` or `visibility: hidden`.
fn is_hiding(style: &str) -> bool {
    let written = |name: &str| style.contains(name);
    if !written("display") && !written("visibility") {
        return false;
    }
    let style = style.to_ascii_lowercase();
    has_declaration(&style, "display", "none") || has_declaration(&style, "visibility", "hidden")
}

fn has_declaration(style: &str, property: &str, value: &str) -> bool {
    style.split(property).skip(1).any(|after| {
        let after = after.trim_start().strip_prefix(':');
        after.is_some_and(|after| after.trim_start().starts_with(value))
    })
}
