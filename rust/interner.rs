//! Numbers of words: hash tables made for the many short keys of indexing.
//!
//! Each token of a text is looked up, so what counts is the number of cache lines that a lookup
//! touches. Words of up to 15 bytes lie in the table itself and are compared as two integers.

/// Longest word that lies in the table.
const INLINE: usize = 15;
/// The last byte of the key of a longer word; that of others is their length and one.
const LONG: u64 = 0xFF << 56;
/// The key of a free slot.
const FREE: [u64; 2] = [0; 2];
/// Slots of the first table.
const SLOTS: usize = 64;
/// Odd constants with bytes that no UTF-8 text has, so that no word cancels them.
const MIX: [u64; 2] = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53];

/// A map from words to integers.
#[derive(Default)]
pub struct WordMap {
    /// Open addressing with linear probing; at most half of the slots are used. A power of two.
    slots: Vec<Slot>,
    used: usize,
    long: Vec<Box<[u8]>>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// The word and its length; or the hash of a longer word and its index in `long`.
    key: [u64; 2],
    value: u32,
}

impl WordMap {
    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Returns the value of a word.
    #[inline]
    pub fn get(&self, word: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = &self.slots[self.find(word, key_of(word))];
        (slot.key != FREE).then_some(slot.value)
    }

    /// Returns the value of a word, which is set to `value` if the word is new.
    #[inline]
    pub fn get_or_insert(&mut self, word: &[u8], value: u32) -> u32 {
        if self.slots.len() <= 2 * self.used {
            self.grow();
        }
        let mut key = key_of(word);
        let at = self.find(word, key);
        if self.slots[at].key != FREE {
            return self.slots[at].value;
        }
        if key[1] == LONG {
            key[1] |= self.long.len() as u64;
            self.long.push(word.into());
        }
        self.slots[at] = Slot { key, value };
        self.used += 1;
        value
    }

    /// Returns the slot of a word, or the free one where it belongs.
    #[inline]
    fn find(&self, word: &[u8], key: [u64; 2]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash_of(key) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.key == FREE
                || key[1] < LONG && slot.key == key
                || key[1] == LONG && self.is_long(slot, key, word)
            {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn is_long(&self, slot: &Slot, key: [u64; 2], word: &[u8]) -> bool {
        slot.key[0] == key[0]
            && slot.key[1] >= LONG
            && *self.long[(slot.key[1] ^ LONG) as usize] == *word
    }

    #[cold]
    fn grow(&mut self) {
        let size = SLOTS.max(2 * self.slots.len());
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        for slot in old.into_iter().filter(|slot| slot.key != FREE) {
            let [low, high] = slot.key;
            let key = if high < LONG { slot.key } else { [low, LONG] };
            let mut at = hash_of(key) as usize & (size - 1);
            while self.slots[at].key != FREE {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

/// Words, each with its number: that of the words before it.
#[derive(Default)]
pub struct Interner {
    numbers: WordMap,
    /// The words, one after the other.
    text: Vec<u8>,
    /// Where each word ends in `text`.
    ends: Vec<usize>,
}

impl Interner {
    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the word with this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn word(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    /// Returns the number of a word, which is added if it is new.
    pub fn intern(&mut self, word: &[u8]) -> u32 {
        let next = self.ends.len() as u32;
        let number = self.numbers.get_or_insert(word, next);
        if number == next {
            self.text.extend_from_slice(word);
            self.ends.push(self.text.len());
        }
        number
    }
}

/// Returns the key of a word. Different words of up to [`INLINE`] bytes have different keys.
#[inline]
fn key_of(word: &[u8]) -> [u64; 2] {
    if word.len() > INLINE {
        return [hash_of_long(word), LONG];
    }
    let mut bytes = [0; 16];
    bytes[..word.len()].copy_from_slice(word);
    bytes[INLINE] = word.len() as u8 + 1;
    halves(bytes)
}

fn hash_of_long(word: &[u8]) -> u64 {
    let mut state = word.len() as u64;
    for part in word.chunks(16) {
        let mut bytes = [0; 16];
        bytes[..part.len()].copy_from_slice(part);
        let [low, high] = halves(bytes);
        state = hash_of([low ^ state, high ^ state.rotate_left(32)]);
    }
    state
}

#[inline]
fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let value = u128::from_le_bytes(bytes);
    [value as u64, (value >> 64) as u64]
}

/// Folds the 128 bits of a product, as wyhash does (Wang Yi, 2019).
#[inline]
fn hash_of(key: [u64; 2]) -> u64 {
    let product = u128::from(key[0] ^ MIX[0]) * u128::from(key[1] ^ MIX[1]);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_have_the_numbers_of_their_first_occurrence(
            words in proptest::collection::vec(
                prop_oneof!["[ab]{0,4}", "[a-c]{13,18}", "a{0,40}", any::<String>()],
                0..400,
            ),
        ) {
            let mut interner = Interner::default();
            let mut expected: HashMap<&str, u32> = HashMap::new();
            for word in &words {
                let next = expected.len() as u32;
                let number = *expected.entry(word).or_insert(next);
                prop_assert_eq!(interner.intern(word.as_bytes()), number);
            }
            prop_assert_eq!(interner.len(), expected.len());
            for (word, number) in expected {
                prop_assert_eq!(interner.word(number), word.as_bytes());
            }
        }

        #[test]
        fn a_map_has_the_first_value_of_each_word(
            entries in proptest::collection::vec(("[ab]{0,3}|[ab]{15,17}", any::<u32>()), 0..200),
        ) {
            let mut map = WordMap::default();
            let mut expected: HashMap<&str, u32> = HashMap::new();
            for (word, value) in &entries {
                prop_assert_eq!(map.get(word.as_bytes()), expected.get(&**word).copied());
                let first = *expected.entry(word).or_insert(*value);
                prop_assert_eq!(map.get_or_insert(word.as_bytes(), *value), first);
            }
            prop_assert_eq!(map.len(), expected.len());
        }
    }
}
