//! A graph in memory, and its construction.

use std::hash::{Hash, Hasher};

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use rustc_hash::FxHasher;

use super::near::Near;
use super::walk::{LINKS, Links, NONE, Rows, Scratch, Scratches, Walk};
use crate::dense::kernels::{Aligned, Kernel, kernel_pair};
use crate::pool;

/// Rows that are kept while a row is added.
const EXPANSION_ADD: usize = 128;

/// The number of rows that are added at a time, at most a `BATCH_SHARE`-th of the rows before them. The
/// rows of a batch do not become neighbours of each other, so a row lacks few of its neighbours.
const BATCH: usize = 512;
const BATCH_SHARE: usize = 32;

/// A layer: the rows in it, ascending, and a list of neighbours for each of them.
pub(super) struct Layer {
    /// Empty in the lowest layer, which has a list for each row; that of a duplicate is empty.
    pub(super) rows: Vec<u32>,
    pub(super) links: Vec<u32>,
    /// The length of a list.
    pub(super) width: usize,
}

impl Layer {
    fn new(mut rows: Vec<u32>, count: usize, width: usize) -> Self {
        rows.sort_unstable();
        Layer {
            rows,
            links: vec![NONE; count * width],
            width,
        }
    }
}

/// Returns where a list of neighbours begins in a layer with these rows.
///
/// The rows of the lowest layer are not listed, and each has its own number.
pub(super) fn position(rows: &[u32], row: u32) -> Option<usize> {
    if rows.is_empty() {
        return Some(row as usize);
    }
    rows.binary_search(&row).ok()
}

/// The layers, the lowest first, and the row where a search begins.
///
/// Of equal rows the first alone is linked: a row would have only its equals as neighbours, and a walk
/// could not leave them.
pub(super) struct Graph {
    pub(super) layers: Vec<Layer>,
    pub(super) entry: u32,
    /// Rows that are equal to one before them, ascending by that one.
    pub(super) duplicates: Vec<Duplicate>,
}

/// A row that is equal to one before it, of which `first` is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Duplicate {
    pub(super) first: u32,
    pub(super) row: u32,
}

impl Links for Graph {
    #[inline]
    fn of(&self, layer: usize, row: u32) -> &[u32] {
        let layer = &self.layers[layer];
        let at = position(&layer.rows, row).map(|at| at * layer.width);
        at.map_or(&[], |at| &layer.links[at..at + layer.width])
    }

    #[inline]
    fn prefetch(&self, row: u32) {
        crate::dense::kernels::prefetch(self.of(0, row));
    }
}

/// A link to be added to the list of `target`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    layer: usize,
    target: u32,
    from: Near,
}

type AllRows<'a> = Rows<'a, fn(usize) -> bool>;

impl Graph {
    /// Builds the graph of all rows of `dim` values (algorithm 1 of Malkov and Yashunin 2016).
    ///
    /// The rows of a batch are compared with the rows before it by all threads, and linked after
    /// that, so the graph does not depend on the number of threads. Their order is random, since
    /// neighbouring rows are of one document, and rows of one batch are not linked.
    pub(super) fn build(values: &[f16], dim: usize) -> Self {
        let rows = AllRows {
            values,
            dim,
            check: |_| true,
        };
        let count = (values.len() / dim) as u32;
        let duplicates = duplicates_in(&rows, count);
        let mut is_linked = vec![true; count as usize];
        for duplicate in &duplicates {
            is_linked[duplicate.row as usize] = false;
        }
        let mut order: Vec<u32> = (0..count).filter(|&row| is_linked[row as usize]).collect();
        // Rows of high layers have small numbers, so they come first.
        order.sort_unstable_by_key(|&row| mix(row));
        let mut graph = Graph::unlinked(&order, count as usize, duplicates);
        let scratches = Scratches::default();
        let mut added = order.len().min(1);
        while added < order.len() {
            let size = (added / BATCH_SHARE).clamp(1, BATCH);
            let batch = &order[added..order.len().min(added + size)];
            graph.add(&rows, batch, &scratches);
            added += batch.len();
        }
        graph.connect(&rows, &order, &scratches);
        graph
    }

    /// Returns the layers of `count` rows, of which these are linked in this order, without links.
    fn unlinked(order: &[u32], count: usize, duplicates: Vec<Duplicate>) -> Self {
        let top = order.first().map_or(0, |&row| level(row));
        let layers = (0..=top).map(|layer| match layer {
            0 => Layer::new(Vec::new(), count, 2 * LINKS),
            _ => {
                let count = order.partition_point(|&row| level(row) >= layer);
                Layer::new(order[..count].to_vec(), count, LINKS)
            }
        });
        Graph {
            layers: layers.collect(),
            entry: order.first().copied().unwrap_or(0),
            duplicates,
        }
    }

    /// Adds rows.
    fn add(&mut self, rows: &AllRows<'_>, batch: &[u32], scratches: &Scratches) {
        let found: Vec<Vec<Vec<Near>>> = pool::install(|| {
            let found = batch.par_iter().map_init(
                || scratches.lend(),
                |scratch, &row| self.neighbours_of(rows, row, scratch),
            );
            found.collect()
        });
        let mut links = Vec::new();
        for (&row, found) in batch.iter().zip(found) {
            for (layer, near) in found.into_iter().enumerate() {
                let chosen: Vec<u32> = near.iter().map(|near| near.row()).collect();
                self.set(layer, row, &chosen);
                links.extend(near.iter().map(|near| Link {
                    layer,
                    target: near.row(),
                    from: Near::new(near.score(), row),
                }));
            }
        }
        links.sort_unstable();
        let same = |a: &Link, b: &Link| (a.layer, a.target) == (b.layer, b.target);
        let groups: Vec<&[Link]> = links.chunk_by(same).collect();
        let lists: Vec<Vec<u32>> = pool::install(|| {
            groups
                .par_iter()
                .map(|group| self.extended(rows, group))
                .collect()
        });
        for (group, list) in groups.into_iter().zip(lists) {
            self.set(group[0].layer, group[0].target, &list);
        }
    }

    /// Returns the neighbours that a new row gets in each of its layers, the lowest first.
    fn neighbours_of(&self, rows: &AllRows<'_>, row: u32, scratch: &mut Scratch) -> Vec<Vec<Near>> {
        let query = query_of(rows, row);
        let walk = Walk::new(self, rows, &query);
        let level = level(row);
        let mut entry = walk.descend(self.entry, self.layers.len() - 1, level, scratch);
        let mut found = Vec::with_capacity(level + 1);
        for layer in (0..=level).rev() {
            walk.search(layer, entry, EXPANSION_ADD, scratch);
            let near = scratch.take_sorted();
            entry = near.first().map_or(entry, |near| near.row());
            found.push(choose(rows, &near, LINKS));
        }
        found.reverse();
        found
    }

    /// Returns the list of a row with new links, of which those that do not fit are left out.
    fn extended(&self, rows: &AllRows<'_>, new: &[Link]) -> Vec<u32> {
        let (layer, target) = (new[0].layer, new[0].target);
        let present = self
            .of(layer, target)
            .iter()
            .take_while(|&&row| row != NONE);
        let mut list: Vec<u32> = present.copied().collect();
        let width = self.layers[layer].width;
        if list.len() + new.len() <= width {
            list.extend(new.iter().map(|link| link.from.row()));
            return list;
        }
        let product = kernel_pair();
        let subject = rows.row(target);
        let mut near: Vec<Near> = list
            .iter()
            .map(|&row| Near::new(product(subject, rows.row(row)), row))
            .chain(new.iter().map(|link| link.from))
            .collect();
        near.sort_unstable_by(|a, b| b.cmp(a));
        let chosen = choose(rows, &near, width);
        chosen.into_iter().map(Near::row).collect()
    }

    /// Links each row that no walk in the lowest layer can reach, because all lists that had it were
    /// full and now have nearer rows.
    fn connect(&mut self, rows: &AllRows<'_>, order: &[u32], scratches: &Scratches) {
        let mut reached = vec![false; rows.values.len() / rows.dim];
        if order.is_empty() {
            return;
        }
        self.reach(self.entry, &mut reached);
        for &row in order {
            if reached[row as usize] {
                continue;
            }
            // A walk finds rows that can be reached, and the lists of most of them have room.
            let near = self.nearest(rows, row, &mut scratches.lend());
            let near: Vec<u32> = near.iter().map(|near| near.row()).collect();
            match near.iter().find(|&&near| self.has_room(near)) {
                Some(&near) => self.append(near, row),
                None => self.insert(near[0], row),
            }
            self.reach(row, &mut reached);
        }
    }

    /// Marks the rows that a walk in the lowest layer can reach from a row.
    fn reach(&self, from: u32, reached: &mut [bool]) {
        let mut ahead = vec![from];
        reached[from as usize] = true;
        while let Some(row) = ahead.pop() {
            for &next in self.of(0, row).iter().take_while(|&&row| row != NONE) {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    ahead.push(next);
                }
            }
        }
    }

    fn nearest(&self, rows: &AllRows<'_>, row: u32, scratch: &mut Scratch) -> Vec<Near> {
        let query = query_of(rows, row);
        let walk = Walk::new(self, rows, &query);
        walk.search(0, self.entry, EXPANSION_ADD, scratch);
        scratch.take_sorted()
    }

    fn has_room(&self, row: u32) -> bool {
        self.of(0, row).last() == Some(&NONE)
    }

    /// Adds a link to a list of the lowest layer that has room.
    fn append(&mut self, row: u32, link: u32) {
        let width = self.layers[0].width;
        let list = &mut self.layers[0].links[row as usize * width..][..width];
        if let Some(slot) = list.iter_mut().find(|slot| **slot == NONE) {
            *slot = link;
        }
    }

    /// Replaces with a row that cannot be reached the last link of a full list of the lowest
    /// layer, and the link that was there into that row's list, so that its target can still be reached.
    fn insert(&mut self, row: u32, unreached: u32) {
        let width = self.layers[0].width;
        let slot = (row as usize + 1) * width - 1;
        let replaced = std::mem::replace(&mut self.layers[0].links[slot], unreached);
        let list = &mut self.layers[0].links[unreached as usize * width..][..width];
        if !list.contains(&replaced) {
            let free = list.iter().position(|&slot| slot == NONE);
            list[free.unwrap_or(width - 1)] = replaced;
        }
    }

    fn set(&mut self, layer: usize, row: u32, list: &[u32]) {
        let layer = &mut self.layers[layer];
        if let Some(at) = position(&layer.rows, row) {
            let slots = &mut layer.links[at * layer.width..][..layer.width];
            slots.fill(NONE);
            slots[..list.len()].copy_from_slice(list);
        }
    }
}

/// Returns the rows that are equal to one before them. A collision of hashes may leave out some.
fn duplicates_in(rows: &AllRows<'_>, count: u32) -> Vec<Duplicate> {
    let bits = |row: u32| rows.row(row).reinterpret_cast();
    let hash = |row: u32| {
        let mut hasher = FxHasher::default();
        u16::hash_slice(bits(row), &mut hasher);
        (hasher.finish(), row)
    };
    let mut hashes: Vec<(u64, u32)> =
        pool::install(|| (0..count).into_par_iter().map(hash).collect());
    hashes.sort_unstable();
    let mut duplicates = Vec::new();
    for same in hashes.chunk_by(|a, b| a.0 == b.0) {
        let first = same[0].1;
        let equal = same[1..]
            .iter()
            .filter(|&&(_, row)| bits(row) == bits(first));
        duplicates.extend(equal.map(|&(_, row)| Duplicate { first, row }));
    }
    duplicates.sort_unstable();
    duplicates
}

/// Returns a row as a query.
fn query_of(rows: &AllRows<'_>, row: u32) -> Aligned {
    let values: Vec<f32> = rows.row(row).iter().map(|value| value.to_f32()).collect();
    Aligned::new(&values)
}

/// Returns at most `count` of the rows near a subject, sorted by their scores with it: those that are
/// nearer to it than to any that was chosen before (algorithm 4 of Malkov and Yashunin 2016).
fn choose(rows: &AllRows<'_>, near: &[Near], count: usize) -> Vec<Near> {
    let product: Kernel<f16, f16> = kernel_pair();
    let mut chosen: Vec<Near> = Vec::with_capacity(count);
    for &candidate in near {
        if chosen.len() == count {
            break;
        }
        let row = rows.row(candidate.row());
        let is_apart = |other: &Near| product(row, rows.row(other.row())) <= candidate.score();
        if chosen.iter().all(is_apart) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// Returns the highest layer that a row is in: each has a sixteenth of the rows of the one below.
fn level(row: u32) -> usize {
    const _: () = assert!(LINKS == 16, "four bits of the hash a layer");
    mix(row).leading_zeros() as usize / 4
}

/// Returns a hash of a row's number, another one for each (splitmix64, Steele et al. 2014).
fn mix(row: u32) -> u64 {
    let mixed = u64::from(row)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of rows of the graph that a walk can reach, with their duplicates.
    fn reached(values: &[f16], dim: usize) -> usize {
        let graph = Graph::build(values, dim);
        let mut reached = vec![false; values.len() / dim];
        graph.reach(graph.entry, &mut reached);
        let linked = reached.into_iter().filter(|reached| *reached).count();
        linked + graph.duplicates.len()
    }

    /// Returns rows of two dimensions at these angles.
    fn at_angles(angles: impl Iterator<Item = f32>) -> Vec<f16> {
        let rows = angles.flat_map(|angle| [angle.cos(), angle.sin()]);
        rows.map(f16::from_f32).collect()
    }

    #[test]
    fn every_row_can_be_reached_also_if_many_are_equal_or_nearly_so() {
        let equal =
            at_angles((0..3_000).map(|row| if row < 2_500 { 0.5 } else { row as f32 / 450.0 }));
        assert_eq!(reached(&equal, 2), 3_000);
        assert_eq!(reached(&equal[..600], 2), 300);
        // Of equal products, although the rows differ.
        let mut near = vec![f16::ZERO; 4 * 1_500];
        for (row, values) in (0u16..).zip(near.chunks_exact_mut(4)) {
            values[0] = f16::ONE;
            values[1] = f16::from_bits(row);
        }
        assert_eq!(reached(&near, 4), 1_500);
        assert_eq!(Graph::build(&near, 4).duplicates.len(), 0);
    }

    #[test]
    fn a_row_that_gets_into_a_full_list_keeps_what_it_replaces_within_reach() {
        let order: Vec<u32> = (0..40).collect();
        let mut graph = Graph::unlinked(&order, 40, Vec::new());
        let full: Vec<u32> = (1..=32).collect();
        graph.set(0, 0, &full);
        graph.insert(0, 33);
        graph.set(0, 34, &full);
        graph.insert(0, 34);
        let mut reached = vec![false; 40];
        graph.reach(0, &mut reached);
        assert!((0..40).all(|row| reached[row] == (row < 35)), "{reached:?}");
    }

    #[test]
    fn duplicates_are_listed_with_the_first_row_that_they_equal() {
        let values = at_angles([1.0, 2.0, 1.0, 3.0, 2.0, 1.0].into_iter());
        let found = Graph::build(&values, 2).duplicates;
        let found: Vec<_> = found.iter().map(|pair| (pair.first, pair.row)).collect();
        assert_eq!(found, [(0, 2), (0, 5), (1, 4)]);
    }

    #[test]
    fn no_rows_have_an_empty_graph() {
        assert!(Graph::build(&[], 2).layers[0].links.is_empty());
    }

    #[test]
    fn a_row_is_in_a_layer_with_a_sixteenth_of_the_rows_below() {
        let in_layer = |layer: usize| (0..100_000).filter(|&row| level(row) >= layer).count();
        assert_eq!(in_layer(0), 100_000);
        assert!((5_900..6_600).contains(&in_layer(1)), "{}", in_layer(1));
        assert!((320..460).contains(&in_layer(2)), "{}", in_layer(2));
    }

    #[test]
    fn a_list_has_no_row_twice_and_not_its_own() {
        let rows = (0..500).flat_map(|row| [(row as f32).cos(), (row as f32).sin()]);
        let values: Vec<f16> = rows.map(f16::from_f32).collect();
        let graph = Graph::build(&values, 2);
        for row in 0..500 {
            let mut list: Vec<u32> = graph.of(0, row).to_vec();
            list.retain(|&linked| linked != NONE);
            let length = list.len();
            list.sort_unstable();
            list.dedup();
            assert!(list.len() == length && !list.contains(&row), "{row}");
        }
    }
}
