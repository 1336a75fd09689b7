//! The visible text of an HTML page, and its headings.
//!
//! [bounds] makes a page flatter on which the parser would take too long. The parser of the front builds the tree that HTML's rules prescribe for a page, however broken,
//! and serializes it. In that markup every element is closed in order, attributes are quoted, and
//! text is escaped, so that [tree] can read it in one pass without those rules. [boilerplate] finds
//! the main element and what surrounds the content, and [text] lays out the rest: a block is a line of
//! its own, a list item begins with its bullet or number, a row of a table is a line with its cells
//! separated by tabs, and `<pre>` is kept as it is.
//!
//! All passes go over an array of nodes in the order of the page and take time linear in its length.

mod attributes;
mod boilerplate;
mod bounds;
mod elements;
mod text;
mod tree;
mod whitespace;

pub use bounds::bounded;
pub use text::{Heading, PageText};

use std::collections::HashSet;

use tree::Tree;

/// Returns the main text of a page and its headings; all text of a page without a main one.
///
/// `markup` is the serialized body. Scripts, styles and hidden elements are left out. A page that has
/// nothing besides boilerplate and headings keeps its boilerplate. `ignore_case` is true for a page in
/// quirks mode, where classes and ids are compared without case.
pub fn page_text(markup: &str, ignore_case: bool) -> PageText {
    let tree = Tree::parse(markup, ignore_case);
    if tree.nodes().is_empty() {
        return PageText::default();
    }
    let root = boilerplate::find_main(&tree);
    let title = boilerplate::find_title(&tree, root);
    let left_out = boilerplate::find(&tree, root);
    let main = text::lay_out(&tree, title.into_iter().chain([root]), &left_out);
    let in_headings: usize = main
        .headings
        .iter()
        .map(|heading| heading.label.chars().count() + 2)
        .sum();
    if main.text.chars().count() > in_headings {
        return main;
    }
    text::lay_out(&tree, [0], &HashSet::new())
}

#[cfg(test)]
mod tests;
