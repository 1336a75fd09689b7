//! The trigrams of a stretch of text, as bits at their hashes.

use super::ROWS;

/// Bytes of a trigram.
pub(crate) const GRAM: usize = 3;
/// Bits of a hash.
const HASH_BITS: u32 = ROWS.ilog2();

/// A set of trigrams; one that it reports may be another's with the same hash.
#[derive(Debug, Clone)]
pub(crate) struct Column(Box<[u64]>);

impl Column {
    /// Returns the trigrams of some texts.
    pub(crate) fn of<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Column {
        let mut bits = vec![0u64; ROWS / 64].into_boxed_slice();
        for text in texts {
            let mut gram = 0;
            for (at, byte) in folded_bytes(text).enumerate() {
                gram = (gram << 8 | u32::from(byte)) & 0xff_ffff;
                if at + 1 >= GRAM {
                    let row = usize::from(hash_of(gram));
                    bits[row / 64] |= 1 << (row % 64);
                }
            }
        }
        Column(bits)
    }

    /// Returns the hashes of its trigrams, ascending.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(64 * word + bit)
            })
        })
    }

    /// Returns whether it may have a trigram.
    #[cfg(test)]
    pub(crate) fn may_have(&self, hash: u16) -> bool {
        self.0[usize::from(hash) / 64] >> (hash % 64) & 1 == 1
    }
}

/// Yields the bytes of a text with the letters of ASCII in lower case.
///
/// Two characters beyond ASCII match such a letter in a pattern that ignores case: the long s and
/// the Kelvin sign.
pub(crate) fn folded_bytes(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (byte, after) = match rest {
            [0xc5, 0xbf, after @ ..] => (b's', after),
            [0xe2, 0x84, 0xaa, after @ ..] => (b'k', after),
            [byte, after @ ..] => (byte.to_ascii_lowercase(), after),
            [] => return None,
        };
        rest = after;
        Some(byte)
    })
}

/// Returns the hash of a trigram, whose bytes are the lower three of the number.
pub(crate) fn hash_of(gram: u32) -> u16 {
    (gram.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)) as u16
}
