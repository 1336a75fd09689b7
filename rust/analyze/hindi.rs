//! The stemmer for Hindi of the Snowball project (BSD-3-Clause), after Ramanathan and Rao 2003: the
//! longest of its endings is dropped.

/// Endings that are dropped behind any letter, longest first.
const ENDINGS: &str = "अताएं अताओं अनाएं अनाओं आइयाँ आइयां आइयों आऊंगा आऊंगी आएंगी आएंगे ाइयाँ ाइयां \
    ाइयों ाऊंगा ाऊंगी ाएंगी ाएंगे अतीं आएगा आएगी आओगी आओगे आतीं इयाँ इयां इयों ऊंगा \
    ऊंगी एंगी एंगे ाएगा ाएगी ाओगी ाओगे ातीं ियाँ ियां ियों ूंगा ूंगी ेंगी ेंगे अकर \
    अता अती अते अना अनी अने आइए आईं आएं आओं आकर आता आती आते आना आने आया उआं उएं उओं \
    एगा एगी ओगी ओगे ाइए ाईं ाएं ाओं ाकर ाता ाती ाते ाना ाने ाया ुआं ुएं ुओं ेगा ेगी \
    ोगी ोगे आँ आं आई आए आओ इए ईं एं ओं ाँ ां ाई ाए ाओ िए ीं ें ों अ आ इ ई उ ऊ ए ओ ा ि \
    ी ु ू े ो ्";
/// Endings that are dropped behind a consonant alone, longest first.
const AFTER_CONSONANT: &str = "ताएं ताओं नाएं नाओं तीं कर ता ती ते ना नी ने";

/// Returns the stem of a word; its first letter is no part of an ending.
pub(super) fn stem(word: &str) -> &str {
    let first = word.chars().next().map_or(0, char::len_utf8);
    let rest = &word[first..];
    let longest = |endings: &'static str, suits: fn(&str) -> bool| {
        let dropped = |ending| rest.strip_suffix(ending).filter(|stem| suits(stem));
        endings.split(' ').find_map(dropped)
    };
    let any = longest(ENDINGS, |_| true);
    let after_consonant = longest(AFTER_CONSONANT, |stem| stem.ends_with(is_consonant));
    let kept = [any, after_consonant].into_iter().flatten();
    let kept = kept.map(str::len).min().unwrap_or(rest.len());
    &word[..first + kept]
}

fn is_consonant(c: char) -> bool {
    matches!(c, '\u{915}'..='\u{939}' | '\u{958}'..='\u{95F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_of_a_word_have_one_stem() {
        for (word, want) in [
            ("लड़का", "लड़क"),
            ("लड़के", "लड़क"),
            ("लड़कों", "लड़क"),
            ("भाषाओं", "भाष"),
            ("भाषाएं", "भाष"),
            ("जाती", "ज"),
            ("ई", "ई"),
            ("", ""),
        ] {
            assert_eq!(stem(word), want, "{word}");
        }
    }
}
