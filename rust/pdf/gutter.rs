//! Gutters: empty vertical strips that part columns, or the cells of a table.

use super::geometry::median;
use super::segment::Segment;

/// Segments that overlap vertically, by their numbers.
#[derive(Clone, Debug)]
pub struct Band {
    /// The numbers of the segments, from left to right.
    pub members: Vec<usize>,
    /// The covered stretches, from left to right.
    covered: Vec<(f32, f32)>,
}

/// A strip, and the bands that it runs through.
#[derive(Clone, Copy, Debug)]
pub struct Gutter {
    /// The left edge.
    pub left: f32,
    /// The right edge.
    pub right: f32,
    /// The first band.
    pub first: usize,
    /// The band after the last one.
    pub end: usize,
    /// How many segments are on the side that has fewer.
    pub support: usize,
}

// Bands on each side of one that are looked at: a page has fewer, a made-up file may have more.
const REACH: usize = 400;
// Times the usual height that a segment has at most.
const TALLEST: f32 = 1.3;
// How many gutters of one set are followed.
const MOST_SEEDS: usize = 200;

/// Returns the bands of segments, from the top.
pub fn bands(segments: &[Segment], set: &[usize]) -> Vec<Band> {
    // The type of a formula may be said to be several lines high.
    let usual = median(set.iter().map(|&at| segments[at].size).collect());
    let top = |segment: &Segment| segment.zone_top(TALLEST * usual);
    let mut ordered = set.to_vec();
    ordered.sort_by(|&a, &b| segments[b].baseline.total_cmp(&segments[a].baseline));
    let mut bands: Vec<Band> = Vec::new();
    let mut low = f32::INFINITY;
    for at in ordered {
        let segment = &segments[at];
        // The zones of two bands do not overlap by more than a touch.
        let overlap = top(segment) - low;
        let thin = top(segment) - segment.baseline;
        match bands.last_mut() {
            Some(band) if overlap > 0.3 * thin => band.members.push(at),
            _ => bands.push(Band {
                members: vec![at],
                covered: Vec::new(),
            }),
        }
        // The band stays that of its highest line: those of two columns would join all of a page.
        if overlap <= 0.3 * thin || !low.is_finite() {
            low = segment.baseline;
        }
    }
    for band in &mut bands {
        band.members
            .sort_by(|&a, &b| segments[a].rect.left.total_cmp(&segments[b].rect.left));
        for &at in &band.members {
            let rect = segments[at].rect;
            match band.covered.last_mut() {
                Some(last) if rect.left <= last.1 => last.1 = last.1.max(rect.right),
                _ => band.covered.push((rect.left, rect.right)),
            }
        }
    }
    bands
}

/// Returns the gutter with the most segments on both sides, at least `least` wide.
pub fn best_gutter(bands: &[Band], segments: &[Segment], least: f32) -> Option<Gutter> {
    let mut best: Option<Gutter> = None;
    let mut followed: Vec<Gutter> = Vec::new();
    for (at, band) in bands.iter().enumerate() {
        // The lines of two columns may stand at heights of their own.
        let both = bands.get(at + 1).map(|next| band.covered_with(next));
        let gaps = both.as_deref().unwrap_or(&band.covered).windows(2);
        for pair in band.covered.windows(2).chain(gaps) {
            let (left, right) = (pair[0].1, pair[1].0);
            let known =
                |g: &Gutter| g.first <= at && at < g.end && left < g.right && g.left < right;
            if right - left < least || followed.iter().any(known) {
                continue;
            }
            if followed.len() >= MOST_SEEDS {
                return best;
            }
            let gutter = follow(bands, segments, at, (left, right), least);
            if best.is_none_or(|best| gutter.support > best.support) {
                best = Some(gutter);
            }
            followed.push(gutter);
        }
    }
    best
}

/// Returns the gutter that goes through a gap of a band, as far up and down as it is wide enough.
fn follow(
    bands: &[Band],
    segments: &[Segment],
    seed: usize,
    gap: (f32, f32),
    least: f32,
) -> Gutter {
    let (mut left, mut right) = gap;
    let mut end = seed + 1;
    while end < bands.len().min(seed + REACH) {
        let Some(free) = bands[end].free(left, right).filter(|f| f.1 - f.0 >= least) else {
            break;
        };
        (left, right) = free;
        end += 1;
    }
    let mut first = seed;
    while first > seed.saturating_sub(REACH) {
        let Some(free) = bands[first - 1]
            .free(left, right)
            .filter(|f| f.1 - f.0 >= least)
        else {
            break;
        };
        (left, right) = free;
        first -= 1;
    }
    let middle = (left + right) / 2.0;
    let members = || bands[first..end].iter().flat_map(|band| &band.members);
    let on_left = members()
        .filter(|&&at| segments[at].rect.left < middle)
        .count();
    let on_right = members().count() - on_left;
    Gutter {
        left,
        right,
        first,
        end,
        support: on_left.min(on_right),
    }
}

impl Band {
    /// Returns the stretches that this band or another one covers, from left to right.
    fn covered_with(&self, other: &Self) -> Vec<(f32, f32)> {
        let mut all: Vec<(f32, f32)> = [&self.covered[..], &other.covered].concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f32, f32)> = Vec::with_capacity(all.len());
        for (start, end) in all {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        joined
    }

    /// Returns the widest stretch of an interval that the band leaves free.
    fn free(&self, left: f32, right: f32) -> Option<(f32, f32)> {
        let mut best: Option<(f32, f32)> = None;
        let mut at = left;
        let mut consider = |from: f32, to: f32| {
            if to > from && best.is_none_or(|b| to - from > b.1 - b.0) {
                best = Some((from, to));
            }
        };
        for &(start, end) in &self.covered {
            if start >= right {
                break;
            }
            if end <= at {
                continue;
            }
            consider(at, start.min(right));
            at = at.max(end);
        }
        consider(at, right);
        best
    }
}
