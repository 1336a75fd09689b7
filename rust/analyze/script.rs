//! Character classes, by which a text is split into runs.

use unicode_normalization::char::is_combining_mark;

/// The class of a character of clean text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit of a script with spaces.
    Word,
    /// A character of a script without spaces.
    Unspaced,
    /// A combining mark: part of the character before it.
    Mark,
    /// A pictograph: a term of its own.
    Symbol,
    /// Any other character; it ends a run.
    Other,
}

#[inline]
pub(super) fn class_of(c: char) -> Class {
    if c.is_ascii() {
        if c.is_ascii_alphanumeric() {
            Class::Word
        } else {
            Class::Other
        }
    } else {
        class_of_wide(c)
    }
}

fn class_of_wide(c: char) -> Class {
    if c < '\u{300}' {
        // U+02BC is an apostrophe, though Unicode calls it a letter.
        if c.is_alphanumeric() && c != '\u{2BC}' {
            Class::Word
        } else {
            Class::Other
        }
    } else if is_combining_mark(c) {
        Class::Mark
    } else if is_unspaced(c) {
        Class::Unspaced
    } else if c.is_alphanumeric() {
        Class::Word
    } else if matches!(c, '\u{2600}'..='\u{27BF}' | '\u{1F000}'..='\u{1F3FA}' | '\u{1F400}'..='\u{1FAFF}')
    {
        Class::Symbol
    } else {
        Class::Other
    }
}

/// Returns whether a character is a Han, kana, bopomofo, Hangul, Thai, Lao, Burmese or Khmer letter,
/// an iteration mark (々, ゝ, ヽ) or a length mark (ー). Digits of these scripts are not included.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0E3A}' | '\u{0E40}'..='\u{0E4E}' | '\u{0E81}'..='\u{0EC6}' | '\u{0EDC}'..='\u{0EDF}'
        | '\u{1000}'..='\u{103F}' | '\u{1050}'..='\u{108F}' | '\u{1780}'..='\u{17D3}' | '\u{17D7}'
        | '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}'
        | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{303C}'
        | '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{1B000}'..='\u{1B16F}' | '\u{20000}'..='\u{3FFFD}')
}

/// Returns whether a character is a letter of Thai, Lao, Burmese or Khmer: an alphabet, of which two
/// letters tell less than two characters of Han or Hangul.
pub(super) fn is_unspaced_alphabet(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_unspaced_scripts_are_distinguished_from_punctuation() {
        for c in "漢々〇カーヽあゝ한ㄅกກကក".chars() {
            assert_eq!(class_of(c), Class::Unspaced, "{c}");
        }
        for c in "、。・「（฿".chars() {
            assert_eq!(class_of(c), Class::Other, "{c}");
        }
        for c in "éßđжαع๒9z".chars() {
            assert_eq!(class_of(c), Class::Word, "{c}");
        }
    }
}
