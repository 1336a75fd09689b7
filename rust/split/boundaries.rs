//! The boundaries of a text, found in one pass.

use super::cut::Cut;
use super::grain::{Grain, each_boundary};
use super::ruler::{Boundary, Ruler};
use super::scanner::Scanner;

/// The share of the budget below which only the better one of two neighbouring boundaries is kept.
const NEAR: f32 = 1.0 / 64.0;
/// The longest stretch without a boundary that thinning may leave, as a share of the budget.
const MAX_THINNED: f32 = 1.0 / 8.0;

/// The search for the boundaries of a text. Finer ones are searched for only in stretches that exceed
/// the budget.
pub(super) struct Boundaries<'a> {
    text: &'a str,
    ruler: Ruler<'a>,
    /// Bytes of the whitespace at the start of the text, after which there is no boundary.
    leading: usize,
    found: Vec<Boundary>,
}

impl<'a> Boundaries<'a> {
    /// Returns all boundaries in order, the start and the end of the text included; none if the text
    /// is blank.
    pub(super) fn find(text: &'a str, cuts: &[Cut], ruler: Ruler<'a>) -> Vec<Boundary> {
        let mut cuts = cuts.to_vec();
        cuts.sort_unstable();
        let mut cuts = cuts.as_slice();
        let start = Boundary {
            byte: 0,
            at: 0,
            token: 0,
            cost: 0.0,
        };
        let mut boundaries = Boundaries {
            text,
            ruler,
            leading: text.len() - text.trim_start().len(),
            found: vec![start],
        };
        let mut scanner = Scanner::default();
        let mut end = (0, 0);
        for (at, (byte, c)) in (0u32..).zip(text.char_indices()) {
            end = (at + 1, byte + c.len_utf8());
            if c.is_whitespace() {
                scanner.whitespace(c, byte);
                continue;
            }
            // A cut within whitespace moves to its end: whitespace belongs to the chunk before it.
            let passed = cuts.iter().take_while(|cut| cut.at <= at).count();
            let level = cuts[..passed].iter().map(|cut| cut.level).min();
            cuts = &cuts[passed..];
            if let Some(cost) = scanner.cost(&text[byte..], c, level) {
                boundaries.add(at, byte, cost, Grain::Sentence);
            }
            scanner.visible(text, c, byte, level);
        }
        if !scanner.started() {
            return Vec::new();
        }
        boundaries.add(end.0, end.1, 0.0, Grain::Sentence);
        // Thinning may have dropped the end, which every text needs.
        let last = boundaries.found[boundaries.found.len() - 1];
        if last.at < end.0 {
            boundaries
                .found
                .push(ruler.boundary(last, end.0, end.1, 0.0));
        }
        boundaries.found
    }

    /// Adds a boundary, and finer ones before it as long as the stretch exceeds the budget.
    fn add(&mut self, at: u32, byte: usize, cost: f32, grain: Grain) {
        let last = self.found[self.found.len() - 1];
        let boundary = self.ruler.boundary(last, at, byte, cost);
        match grain.finer() {
            Some(finer) if !self.ruler.fits(last, boundary) => {
                let stretch = &self.text[last.byte..byte];
                each_boundary(stretch, finer, |chars, bytes, cost| {
                    let (at, byte) = (last.at + chars, last.byte + bytes);
                    if byte > self.leading {
                        self.add(at, byte, cost, finer);
                    }
                });
                self.add(at, byte, cost, finer);
            }
            _ => self.keep(boundary),
        }
    }

    /// Adds a boundary unless a better one is near; drops a worse one that is near.
    fn keep(&mut self, boundary: Boundary) {
        if let [.., before, last] = self.found[..]
            && self.ruler.fill(last, boundary) < NEAR
        {
            if boundary.cost >= last.cost {
                return;
            }
            if self.ruler.fill(before, boundary) <= MAX_THINNED {
                self.found.pop();
            }
        }
        self.found.push(boundary);
    }
}
