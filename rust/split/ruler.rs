//! Boundaries, and the size of the text between two of them.

/// A token counts as at most this many code points. A tokenizer may make one token of a megabyte
/// without blanks, which must not become one chunk.
const TOKEN_SPAN: u64 = 32;

/// A possible cut, and its cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boundary {
    /// Bytes before it.
    pub(super) byte: usize,
    /// Code points before it.
    pub(super) at: u32,
    /// Tokens that start before it; code points if the text has no tokens.
    pub(super) token: u32,
    pub(super) cost: f32,
}

/// A measure of the size of stretches of text, in proportion to the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ruler<'a> {
    /// The code points at which tokens start.
    pub(super) tokens: Option<&'a [u32]>,
    pub(super) budget: u32,
}

impl Ruler<'_> {
    /// Returns the boundary at a code point that is not before another boundary.
    pub(super) fn boundary(self, before: Boundary, at: u32, byte: usize, cost: f32) -> Boundary {
        let token = self.tokens.map_or(at, |tokens| {
            let rest = &tokens[before.token as usize..];
            before.token + rest.iter().take_while(|&&start| start < at).count() as u32
        });
        Boundary {
            byte,
            at,
            token,
            cost,
        }
    }

    /// Returns the size in tokens (or code points).
    pub(super) fn size(self, from: Boundary, to: Boundary) -> u64 {
        let tokens = u64::from(to.token - from.token);
        tokens.max(u64::from(to.at - from.at).div_ceil(TOKEN_SPAN))
    }

    /// Returns whether the size is within the budget.
    pub(super) fn fits(self, from: Boundary, to: Boundary) -> bool {
        self.size(from, to) <= u64::from(self.budget)
    }

    /// Returns the size as a share of the budget. It increases with every code point, unlike `size`.
    pub(super) fn fill(self, from: Boundary, to: Boundary) -> f32 {
        let tokens = (to.token - from.token) as f32;
        tokens.max((to.at - from.at) as f32 / TOKEN_SPAN as f32) / self.budget as f32
    }
}
