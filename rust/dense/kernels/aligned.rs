//! A query at the start of a cache line.

use std::ops::Deref;

/// The values of a cache line.
const LINE: usize = 16;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; LINE]);

/// A copy of values that begins at a cache line: a register of AVX-512 is then loaded from one line in
/// instead of two.
pub struct Aligned {
    lines: Vec<Line>,
    length: usize,
}

impl Aligned {
    /// Copies the values.
    pub fn new(values: &[f32]) -> Self {
        let mut lines = vec![Line([0.0; LINE]); values.len().div_ceil(LINE)];
        for (line, values) in lines.iter_mut().zip(values.chunks(LINE)) {
            line.0[..values.len()].copy_from_slice(values);
        }
        Aligned {
            lines,
            length: values.len(),
        }
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: lines are arrays of f32 without padding, and there are as many as the values need.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}
