//! The sums of scores in a window of chunks.
//!
//! A term that is in many chunks of a window is scored in all of them at once: its frequencies are
//! written to an array first, so that no chunk's norm and sum are gathered.

use super::bm25::saturation;
use super::postings::WINDOW;

/// No score is larger, and an i32 has room for it.
const LARGEST: f32 = (1 << 30) as f32;

/// A bitmap of the chunks of a window.
type Bits = [u64; WINDOW / 64];

/// The sums of a window's chunks, and a bitmap of those that have one.
pub(super) struct Sums {
    sums: Box<[i32; WINDOW]>,
    changed: Bits,
    /// Whether any chunk may have a sum, whatever the bitmap says.
    dense: bool,
}

impl Sums {
    pub(super) fn new() -> Self {
        Sums {
            sums: Box::new([0; WINDOW]),
            changed: [0; WINDOW / 64],
            dense: false,
        }
    }

    /// Returns whether this processor adds to all sums of a window fast. With SSE2 it takes longer than
    /// adding the postings of any term one by one; AVX-512 gains nothing over AVX2.
    pub(super) fn adds_all() -> bool {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Adds a score to the sum of one chunk.
    #[inline(always)]
    pub(super) fn add(&mut self, at: usize, score: i32) {
        let at = at % WINDOW;
        self.sums[at] += score;
        self.changed[at / 64] |= 1 << (at % 64);
    }

    /// Adds the scores of a term in all chunks of a window, from its weighted frequencies there, 0
    /// where it is missing, and the chunks' norms.
    pub(super) fn add_all(&mut self, ceiling: f32, freqs: &[f32; WINDOW], norms: &[f32]) {
        self.dense = true;
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the feature.
            return unsafe { add_all_avx2(&mut self.sums, ceiling, freqs, norms) };
        }
        add_all(&mut self.sums, ceiling, freqs, norms);
    }

    /// Returns the number of chunks with a sum of at least this, and not 0.
    pub(super) fn count(&self, least: i32) -> usize {
        let mut bits = [0; WINDOW / 64];
        mark(&self.sums, least, &mut bits);
        bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Calls `f` with each chunk whose sum is at least this, and not 0, and the sum; all sums are 0
    /// then.
    #[inline(always)]
    pub(super) fn drain(&mut self, least: i32, mut f: impl FnMut(u32, i32)) {
        let dense = std::mem::take(&mut self.dense);
        if dense {
            mark(&self.sums, least, &mut self.changed);
        }
        for i in 0..self.changed.len() {
            let mut word = std::mem::take(&mut self.changed[i]);
            while word != 0 {
                let at = i * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let sum = std::mem::take(&mut self.sums[at]);
                if sum >= least {
                    f(at as u32, sum);
                }
            }
        }
        if dense {
            self.sums.fill(0);
        }
    }
}

/// Sets the bits of the sums that are at least this, and not 0, and clears the others.
#[inline(always)]
fn mark(sums: &[i32; WINDOW], least: i32, bits: &mut Bits) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return unsafe { mark_avx2(sums, least, bits) };
    }
    mark_by_words(sums, least, bits);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mark_avx2(sums: &[i32; WINDOW], least: i32, bits: &mut Bits) {
    mark_by_words(sums, least, bits);
}

#[inline(always)]
fn mark_by_words(sums: &[i32; WINDOW], least: i32, bits: &mut Bits) {
    let least = least.max(1);
    for (word, sums) in bits.iter_mut().zip(sums.as_chunks::<64>().0) {
        *word = (0..64).fold(0, |word, at| word | u64::from(sums[at] >= least) << at);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_all_avx2(sums: &mut [i32; WINDOW], ceiling: f32, freqs: &[f32; WINDOW], norms: &[f32]) {
    add_all(sums, ceiling, freqs, norms);
}

#[inline(always)]
#[expect(clippy::manual_clamp, reason = "`clamp` of NaN is NaN")]
fn add_all(sums: &mut [i32; WINDOW], ceiling: f32, freqs: &[f32; WINDOW], norms: &[f32]) {
    for ((sum, &tf), &norm) in sums.iter_mut().zip(freqs).zip(norms) {
        // The least number makes 0 of 0 / 0, and changes no other sum.
        let score = ceiling * saturation(tf, norm + f32::MIN_POSITIVE);
        // 0 of NaN, as the cast that checks: of an infinite frequency, or a ceiling that is NaN.
        let score = score.max(0.0).min(LARGEST);
        // SAFETY: it is a number that an i32 has room for.
        *sum += unsafe { score.to_int_unchecked::<i32>() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::topk::score;

    /// Returns about a third of the chunks with a frequency, and the norms of all.
    fn some_chunks(norm: f32) -> ([f32; WINDOW], Vec<f32>) {
        let tf = |at: usize| [0.0, 0.0, 1.0 + (at % 7) as f32][at % 3];
        let norms = (0..WINDOW).map(|at| norm * (at % 11) as f32);
        (std::array::from_fn(tf), norms.collect())
    }

    fn drained(mut sums: Sums, least: i32) -> Vec<(u32, i32)> {
        let mut found = Vec::new();
        sums.drain(least, |at, sum| found.push((at, sum)));
        assert_eq!((sums.sums.iter().max(), sums.count(1)), (Some(&0), 0));
        found
    }

    #[test]
    fn scores_added_at_once_are_those_added_one_by_one() {
        for norm in [0.0, 0.3] {
            let (freqs, norms) = some_chunks(norm);
            let (mut at_once, mut one_by_one) = (Sums::new(), Sums::new());
            for ceiling in [1e9, 3e5] {
                at_once.add_all(ceiling, &freqs, &norms[..4000]);
                for at in (0..4000).filter(|&at| freqs[at] > 0.0) {
                    let score = score(ceiling, saturation(freqs[at], norms[at]));
                    one_by_one.add(at, score);
                }
            }
            at_once.add(7, 5);
            one_by_one.add(7, 5);
            let least = 900_000_000;
            assert_eq!(at_once.count(least), one_by_one.count(least));
            assert!(at_once.count(least) < at_once.count(0));
            assert_eq!(at_once.count(0), 1334);
            assert_eq!(drained(at_once, least), drained(one_by_one, least));
        }
    }

    #[test]
    fn what_is_no_number_adds_nothing() {
        let (mut freqs, norms) = some_chunks(0.3);
        (freqs[0], freqs[1]) = (f32::INFINITY, f32::MAX);
        let mut sums = Sums::new();
        sums.add_all(1e9, &freqs, &norms);
        sums.add_all(f32::NAN, &freqs, &norms);
        let expected = [0, 1].map(|at| score(1e9, saturation(freqs[at], norms[at])));
        assert_eq!(sums.sums[..2], expected);
        assert_eq!(sums.sums[0], 0);
    }

    #[test]
    fn all_processors_add_and_mark_the_same() {
        let (freqs, norms) = some_chunks(0.3);
        let mut sums = Sums::new();
        sums.add_all(1e9, &freqs, &norms);
        let mut plain = [0; WINDOW];
        add_all(&mut plain, 1e9, &freqs, &norms);
        assert_eq!(*sums.sums, plain);
        let (mut bits, mut words) = ([0; WINDOW / 64], [!0; WINDOW / 64]);
        mark(&plain, 900_000_000, &mut bits);
        mark_by_words(&plain, 900_000_000, &mut words);
        assert_eq!(bits, words);
    }
}
