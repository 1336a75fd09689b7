//! Boilerplate of a web page: navigation, breadcrumbs, tables of contents, page footers.
//!
//! What the names of elements, roles, classes and ids say of an element is known since the page was
//! read ([attributes](super::attributes)). Here links are counted: a list that only links to anchors
//! on the same page repeats its headings.

use std::collections::HashSet;

use super::elements::Tag;
use super::tree::{Content, Element, Tree};
use super::whitespace::is_blank;

/// The least share of a page's text that its main element contains, as one in so many, if the rest is
/// to be left out.
const MAIN_SHARE: usize = 4;
/// Links of a list to anchors on its own page that make it a table of contents.
const FEWEST_LINKS: usize = 3;

/// Returns the element that contains the page's content: its only `<main>`, or its root.
pub fn find_main(tree: &Tree<'_>) -> usize {
    let is_main = |&node: &usize| tree.element(node).is_some_and(|element| element.is_main);
    let mut mains = (0..tree.nodes().len()).filter(is_main);
    match (mains.next(), mains.next()) {
        (Some(main), None) if MAIN_SHARE * chars(tree, main) >= chars(tree, 0) => main,
        _ => 0,
    }
}

/// Returns the page's title, if it stands before a main element that has none: the last `<h1>` there
/// that is no link, such as that of a site.
pub fn find_title(tree: &Tree<'_>, main: usize) -> Option<usize> {
    let end = |node: usize| tree.nodes()[node].end;
    let is_title = |element: &Element| matches!(element.tag, Tag::Heading(1));
    let is_link = |node: usize| tree.element(node).is_some_and(|element| element.is_link);
    if (main..end(main)).any(|node| tree.element(node).is_some_and(is_title)) {
        return None;
    }
    let (mut found, mut node) = (None, 0);
    while node < main {
        let Some(element) = tree.element(node) else {
            node += 1;
            continue;
        };
        let is_skipped = element.is_hidden || element.is_dropped || element.is_boilerplate;
        if !is_skipped && is_title(element) && !(node..end(node)).any(is_link) {
            found = Some(node);
        }
        let is_inner = is_skipped || is_title(element) || element.is_link;
        node = if is_inner { end(node) } else { node + 1 };
    }
    found.filter(|&title| end(title) <= main)
}

/// Returns the characters of the text of a node.
fn chars(tree: &Tree<'_>, node: usize) -> usize {
    let nodes = tree.nodes();
    nodes[node..nodes[node].end]
        .iter()
        .map(|node| match &node.content {
            Content::Text(text) => text.chars().count(),
            Content::Element(_) => 0,
        })
        .sum()
}

/// Counts of an element: characters, those in links, links, those to the same page, headings.
#[derive(Default)]
struct Counts {
    chars: usize,
    linked: usize,
    links: usize,
    fragments: usize,
    headings: usize,
}

impl Counts {
    fn is_linked(&self) -> bool {
        2 * self.linked >= self.chars
    }

    fn is_contents(&self) -> bool {
        self.links == self.fragments && self.links >= FEWEST_LINKS && self.is_linked()
    }

    fn add(&mut self, inner: &Counts) {
        self.chars += inner.chars;
        self.linked += inner.linked;
        self.links += inner.links;
        self.fragments += inner.fragments;
        self.headings += inner.headings;
    }
}

/// An element around the present node.
struct Around {
    node: usize,
    element: Element,
    in_article: bool,
    counts: Counts,
}

/// Returns the elements at and below a root that are boilerplate.
pub fn find(tree: &Tree<'_>, root: usize) -> HashSet<usize> {
    let nodes = tree.nodes();
    // On a page without links no share of links says what a header or a list is.
    let is_counted = (root..nodes[root].end)
        .filter_map(|node| tree.element(node))
        .any(|element| element.is_link || element.is_around);
    let mut found = HashSet::new();
    let mut open: Vec<Around> = Vec::new();
    let (mut links, mut articles) = (0, 0);
    let mut close = |open: &mut Vec<Around>, links: &mut usize, articles: &mut usize| {
        let Some(inner) = open.pop() else { return };
        *links -= usize::from(inner.element.is_link);
        *articles -= usize::from(inner.element.is_article);
        if is_boilerplate(&inner, is_counted) {
            found.insert(inner.node);
        }
        if let Some(outer) = open.last_mut() {
            outer.counts.add(&inner.counts);
        }
    };
    for (node, each) in nodes.iter().enumerate().take(nodes[root].end).skip(root) {
        while open.last().is_some_and(|last| nodes[last.node].end <= node) {
            close(&mut open, &mut links, &mut articles);
        }
        match &each.content {
            Content::Text(text) => {
                let chars = text.chars().filter(|&char| !is_blank(char)).count();
                if let Some(around) = open.last_mut() {
                    around.counts.chars += chars;
                    around.counts.linked += if links > 0 { chars } else { 0 };
                }
            }
            Content::Element(element) => {
                open.push(Around {
                    node,
                    element: *element,
                    in_article: articles > 0,
                    counts: Counts {
                        links: usize::from(element.is_link),
                        fragments: usize::from(element.is_link && element.is_fragment),
                        headings: usize::from(matches!(element.tag, Tag::Heading(_))),
                        ..Counts::default()
                    },
                });
                links += usize::from(element.is_link);
                articles += usize::from(element.is_article);
            }
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut links, &mut articles);
    }
    found
}

fn is_boilerplate(around: &Around, is_counted: bool) -> bool {
    let (element, counts) = (&around.element, &around.counts);
    element.is_boilerplate
        || (element.is_around && !around.in_article)
        || (is_counted
            && element.is_boilerplate_of_links
            && counts.is_linked()
            && counts.headings == 0)
        || (element.tag.is_list() && counts.is_contents())
}
