//! Here is a text: where may it be cut?
//!
//! Edges (places for a cut, each with a cost) come from the reader's structure, from blank lines,
//! line breaks and the ends of sentences. Only a stretch between two of them that is over the
//! budget is searched again, for clauses, then words, then graphemes. Dynamic programming then
//! chooses the edges whose costs, with the cost of an uneven fill, are least in sum.
//!
//! Edges closer together than a 64th of the budget are thinned, so that the window of the dynamic
//! programming holds about 64 of them whatever the text: time is linear in it, and memory a small
//! multiple of it.

use unicode_segmentation::UnicodeSegmentation;

/// A place where the structure of the text allows a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// Code point before which to cut.
    pub at: u32,
    /// 1 is the strongest.
    pub level: u32,
}

/// How long chunks may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Tokens (or code points, where there are no tokens) of a chunk, its overlap included.
    pub budget: u32,
    /// How much of the chunk before it a chunk may repeat; less than the budget.
    pub overlap: u32,
}

// The costs were weighed against each other by the sizes of chunks they lead to. A chunk of fill f
// (its size over the budget) costs STRETCH * (f - EASE)^2 and the cut that ends it c, so text that
// offers cuts of cost c everywhere is cut at f = sqrt(EASE^2 + c / STRETCH): at half of the budget
// where structure ends a chunk, three quarters at paragraphs, seven eighths at sentences. A weak
// cut must be paid for by a full chunk; a whole section is kept whole even where it fills the
// budget; and small definitions share a chunk until it is about half full.
const EASE: f32 = 0.5;
const STRETCH: f32 = 4.0;

/// Structure costs nothing at level 1 and this much more a level, up to six levels.
const STRUCTURE_STEP: f32 = 0.15;
const PARAGRAPH: f32 = 1.4;
/// Of a blank line, for each column the next line is indented: inside a function is not between two.
const INDENT_STEP: f32 = 0.05;
/// A line break after a sentence, before a list's next item, or out of an indented block.
const LINE: f32 = 1.6;
const SENTENCE: f32 = 2.0;
/// A line break that may lie within a sentence.
const WRAP: f32 = 2.8;
const CLAUSE: f32 = 3.5;
const WORD: f32 = 4.5;
const GRAPHEME: f32 = 8.0;
/// Added between a heading (or a definition's first line) and what follows it.
const ORPHAN: f32 = 4.0;
/// Added before a deeper line or a closing bracket, and after a colon: the lines need each other.
const HANGING: f32 = 1.2;

/// A token stands for at most this many code points of the budget. A tokenizer may give one token
/// for a megabyte without blanks; a chunk should not be one.
const TOKEN_SPAN: u64 = 32;
/// Edges nearer to each other than this part of the budget are thinned to the better one.
const NEAR: f32 = 1.0 / 64.0;
/// The longest stretch that thinning leaves without an edge.
const THINNED: f32 = 1.0 / 8.0;

/// Cuts a text into chunks: half-open spans of code points, in order, that cover it.
///
/// Without overlap each starts where the last ended; with overlap it starts earlier, at the best
/// edge within it. None is over the budget, except where a single character (with the blanks that
/// follow it) is. `tokens` are the code points at which the document's tokens start, ascending; a
/// span holds the tokens that start in it. Blanks belong to the chunk before them; a text of
/// nothing but blanks has no chunks.
///
/// # Panics
/// Where the budget is not above the overlap.
pub fn split(text: &str, cuts: &[Cut], tokens: Option<&[u32]>, size: Size) -> Vec<(u32, u32)> {
    assert!(
        size.budget > size.overlap,
        "the budget must be above the overlap"
    );
    let ruler = Ruler {
        tokens,
        budget: size.budget - size.overlap,
    };
    let edges = Edges::find(text, cuts, ruler);
    let chosen = cheapest(&edges, ruler);
    let mut spans = Vec::with_capacity(chosen.len());
    for (chunk, ends) in chosen.windows(2).enumerate() {
        // A chunk that nothing can make fit repeats nothing either.
        let full = !ruler.fits(edges[ends[0]], edges[ends[1]]);
        let start = match (chunk, size.overlap) {
            (0, _) | (_, 0) => edges[ends[0]].at,
            _ if full => edges[ends[0]].at,
            (_, overlap) => repeat_from(text, &edges[chosen[chunk - 1]..=ends[0]], ruler, overlap),
        };
        spans.push((start, edges[ends[1]].at));
    }
    spans
}

/// A place for a cut, and what it costs to cut there.
#[derive(Debug, Clone, Copy)]
struct Edge {
    byte: usize,
    /// Code points before it.
    at: u32,
    /// Tokens that start before it; code points where there are no tokens.
    token: u32,
    cost: f32,
}

/// Measures stretches of text against the budget.
#[derive(Debug, Clone, Copy)]
struct Ruler<'a> {
    tokens: Option<&'a [u32]>,
    budget: u32,
}

impl Ruler<'_> {
    /// The edge at a code point that lies at or behind another.
    fn mark(self, before: Edge, at: u32, byte: usize, cost: f32) -> Edge {
        let token = self.tokens.map_or(at, |tokens| {
            let behind = &tokens[before.token as usize..];
            before.token + behind.iter().take_while(|&&start| start < at).count() as u32
        });
        Edge {
            byte,
            at,
            token,
            cost,
        }
    }

    fn size(self, from: Edge, to: Edge) -> u64 {
        let tokens = u64::from(to.token - from.token);
        tokens.max(u64::from(to.at - from.at).div_ceil(TOKEN_SPAN))
    }

    fn fits(self, from: Edge, to: Edge) -> bool {
        self.size(from, to) <= u64::from(self.budget)
    }

    /// The share of the budget; finer than `size`, so that it grows with every code point.
    fn fill(self, from: Edge, to: Edge) -> f32 {
        let tokens = (to.token - from.token) as f32;
        tokens.max((to.at - from.at) as f32 / TOKEN_SPAN as f32) / self.budget as f32
    }
}

/// How finely a stretch is searched for edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grain {
    Sentence,
    Clause,
    Word,
    Grapheme,
    Character,
}

impl Grain {
    fn finer(self) -> Option<Grain> {
        match self {
            Grain::Sentence => Some(Grain::Clause),
            Grain::Clause => Some(Grain::Word),
            Grain::Word => Some(Grain::Grapheme),
            Grain::Grapheme => Some(Grain::Character),
            Grain::Character => None,
        }
    }
}

/// The edges of a text, found in one pass; finer ones only where a stretch is over the budget.
struct Edges<'a> {
    text: &'a str,
    ruler: Ruler<'a>,
    /// Bytes of the blanks that the text begins with: no edge ends them.
    blanks: usize,
    found: Vec<Edge>,
}

impl<'a> Edges<'a> {
    /// All edges in order, from the text's start to its end; none where it is blank.
    fn find(text: &'a str, cuts: &[Cut], ruler: Ruler<'a>) -> Vec<Edge> {
        let mut cuts = cuts.to_vec();
        cuts.sort_unstable();
        let mut cuts = cuts.as_slice();
        let start = Edge {
            byte: 0,
            at: 0,
            token: 0,
            cost: 0.0,
        };
        let mut edges = Edges {
            text,
            ruler,
            blanks: text.len() - text.trim_start().len(),
            found: vec![start],
        };
        let mut reading = Reading::default();
        let mut end = (0, 0);
        for (at, (byte, c)) in (0u32..).zip(text.char_indices()) {
            end = (at + 1, byte + c.len_utf8());
            if c.is_whitespace() {
                reading.blank(c, byte);
                continue;
            }
            // A cut among blanks moves behind them: they belong to the chunk before.
            let passed = cuts.iter().take_while(|cut| cut.at <= at).count();
            let level = cuts[..passed].iter().map(|cut| cut.level).min();
            cuts = &cuts[passed..];
            if let Some(cost) = reading.cost(&text[byte..], c, level) {
                edges.reach(at, byte, cost, Grain::Sentence);
            }
            reading.letter(text, c, byte, level);
        }
        if !reading.started {
            return Vec::new();
        }
        edges.reach(end.0, end.1, 0.0, Grain::Sentence);
        // Thinning may have dropped the end; it is the one edge that every text needs.
        let last = edges.found[edges.found.len() - 1];
        if last.at < end.0 {
            edges.found.push(ruler.mark(last, end.0, end.1, 0.0));
        }
        edges.found
    }

    /// Adds an edge, and finer ones before it as long as the stretch is over the budget.
    fn reach(&mut self, at: u32, byte: usize, cost: f32, grain: Grain) {
        let last = self.found[self.found.len() - 1];
        let edge = self.ruler.mark(last, at, byte, cost);
        match grain.finer() {
            Some(finer) if !self.ruler.fits(last, edge) => {
                let stretch = &self.text[last.byte..byte];
                each_edge(stretch, finer, |chars, bytes, cost| {
                    let (at, byte) = (last.at + chars, last.byte + bytes);
                    if byte > self.blanks {
                        self.reach(at, byte, cost, finer);
                    }
                });
                self.reach(at, byte, cost, finer);
            }
            _ => self.keep(edge),
        }
    }

    /// Adds an edge unless a better one is near; drops a worse one that is near.
    fn keep(&mut self, edge: Edge) {
        if let [.., before, last] = self.found[..]
            && self.ruler.fill(last, edge) < NEAR
        {
            if edge.cost >= last.cost {
                return;
            }
            if self.ruler.fill(before, edge) <= THINNED {
                self.found.pop();
            }
        }
        self.found.push(edge);
    }
}

/// What has been read of the text so far, as far as the next edge depends on it.
#[derive(Debug, Default)]
struct Reading {
    /// Has anything but blanks been read?
    started: bool,
    /// Line breaks and columns since the last letter.
    breaks: u32,
    indent: u32,
    blank: bool,
    /// What the line read last began with.
    line_indent: u32,
    line_closes: bool,
    line_opens: Option<u32>,
    /// Where its word began, and whether the line began with it.
    word: usize,
    word_is_first: bool,
    stop: Stop,
    colon: bool,
}

/// Has a sentence ended?
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stop {
    #[default]
    No,
    /// If a blank follows.
    AtBlank,
    /// Whatever follows.
    Here,
}

impl Reading {
    fn blank(&mut self, c: char, byte: usize) {
        self.blank = true;
        self.word = byte + c.len_utf8();
        match c {
            '\n' | '\u{2028}' => (self.breaks, self.indent) = (self.breaks + 1, 0),
            '\u{c}' | '\u{2029}' => (self.breaks, self.indent) = (self.breaks + 2, 0),
            '\t' => self.indent += 4,
            _ => self.indent += 1,
        }
    }

    /// What a cut before `c`, with which `rest` begins, costs; None where it is no edge.
    fn cost(&self, rest: &str, c: char, level: Option<u32>) -> Option<f32> {
        if !self.started {
            return None;
        }
        let cost = match (level, self.breaks) {
            (Some(level), _) => STRUCTURE_STEP * level.clamp(1, 7).saturating_sub(1) as f32,
            (None, 0) => return self.sentence_ended(c).then_some(SENTENCE),
            (None, 1) => self.line_cost(rest, c),
            (None, _) => PARAGRAPH + INDENT_STEP * self.indent.min(16) as f32,
        };
        let orphans = self.breaks > 0
            && self
                .line_opens
                .is_some_and(|opens| level.is_none_or(|level| level > opens));
        let orphan = if orphans { ORPHAN } else { 0.0 };
        let hanging = if self.colon { HANGING } else { 0.0 };
        Some(cost + orphan + hanging)
    }

    fn line_cost(&self, rest: &str, c: char) -> f32 {
        if matches!(c, ')' | ']' | '}') || self.indent > self.line_indent {
            return WRAP + HANGING;
        }
        let ends = self.stop != Stop::No || self.line_closes || self.indent < self.line_indent;
        if ends || is_item(rest) { LINE } else { WRAP }
    }

    fn sentence_ended(&self, c: char) -> bool {
        match self.stop {
            Stop::No => false,
            // A lower-case letter goes on with the sentence: "e.g. this", "Wait... what?"
            Stop::AtBlank => self.blank && !c.is_lowercase(),
            Stop::Here => self.blank || !(is_closer(c) || stops(c) != Stop::No),
        }
    }

    fn letter(&mut self, text: &str, c: char, byte: usize, level: Option<u32>) {
        let begins_line = self.breaks > 0 || !self.started;
        if begins_line {
            self.line_indent = self.indent;
            self.line_closes = matches!(c, ')' | ']' | '}');
            self.line_opens = level;
        } else if let Some(level) = level {
            self.line_opens = Some(self.line_opens.map_or(level, |opens| opens.min(level)));
        }
        if begins_line || self.blank {
            self.word_is_first = begins_line;
        }
        let closes = is_closer(c) && !self.blank && self.stop != Stop::No;
        if !closes {
            self.stop = match stops(c) {
                Stop::AtBlank if c == '.' && self.abbreviates(&text[self.word..byte]) => Stop::No,
                stop => stop,
            };
        }
        self.colon = matches!(c, ':' | '：');
        (self.started, self.blank, self.breaks, self.indent) = (true, false, 0, 0);
    }

    /// Does a point after this word belong to the word?
    fn abbreviates(&self, word: &str) -> bool {
        // The bound keeps a megabyte of "a.b.c." from being read again at each point.
        if word.len() > 16 {
            return false;
        }
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let letters = |part: &str| {
            let mut chars = part.chars();
            chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
        };
        let numbers_item = || self.word_is_first && word.bytes().all(|b| b.is_ascii_digit());
        let initial = || letters(word) && word.chars().all(char::is_uppercase);
        let dotted = || word.contains('.') && word.split('.').all(letters);
        ABBREVIATIONS.contains(&word) || numbers_item() || initial() || dotted()
    }
}

/// Words that a point follows within a sentence, before a capital or a number.
const ABBREVIATIONS: [&str; 19] = [
    "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "vs", "cf", "Fig", "fig", "No", "no", "Nos", "Art",
    "art", "Sec", "Eq", "pp", "Mme",
];

/// UAX 29 is no help here: it ends a sentence at every line break and after every abbreviation.
fn stops(c: char) -> Stop {
    match c {
        '.' | '!' | '?' | '…' | '؟' | '۔' | '।' | '॥' | '։' | '။' | '។' | '።' => {
            Stop::AtBlank
        }
        '。' | '！' | '？' | '．' | '｡' => Stop::Here,
        _ => Stop::No,
    }
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '〕'
            | '*'
            | '_'
    )
}

fn is_opener(c: char) -> bool {
    matches!(
        c,
        '(' | '[' | '{' | '“' | '‘' | '«' | '「' | '『' | '（' | '【' | '《' | '〈' | '〔'
    )
}

/// Does a line begin as a list's item or a table's row does?
fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match (digits, line.chars().next()) {
        (0, Some('|')) => return true,
        (0, Some('-' | '*' | '+' | '•' | '–')) => line.chars().as_str(),
        (1..=3, _) if line[digits..].starts_with(['.', ')']) => &line[digits..],
        _ => return false,
    };
    rest.chars().nth(1).is_some_and(char::is_whitespace)
}

/// Calls `edge` with the code points, the bytes and the cost of each edge of this grain.
fn each_edge(stretch: &str, grain: Grain, mut edge: impl FnMut(u32, usize, f32)) {
    match grain {
        Grain::Sentence => {}
        Grain::Clause => each_clause(stretch, edge),
        Grain::Word => each_word(stretch, edge),
        // In ASCII a character is a grapheme, and need not be looked up.
        Grain::Grapheme if !stretch.is_ascii() => {
            let mut at = 0;
            for (byte, grapheme) in stretch.grapheme_indices(true) {
                if at > 0 && !grapheme.starts_with(char::is_whitespace) {
                    edge(at, byte, GRAPHEME);
                }
                at += grapheme.chars().count() as u32;
            }
        }
        Grain::Grapheme | Grain::Character => {
            for (at, (byte, c)) in (0..).zip(stretch.char_indices()) {
                if at > 0 && !c.is_whitespace() {
                    edge(at, byte, GRAPHEME);
                }
            }
        }
    }
}

fn each_clause(stretch: &str, mut edge: impl FnMut(u32, usize, f32)) {
    let (mut pause, mut blank, mut here) = (false, false, false);
    for (at, (byte, c)) in (0..).zip(stretch.char_indices()) {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if at > 0 && !is_closer(c) && (here || pause && blank) {
            edge(at, byte, CLAUSE);
        }
        here = matches!(c, '，' | '、' | '；' | '：');
        pause = matches!(c, ',' | ';' | ':' | ')' | '—' | '–') || stops(c) != Stop::No;
        blank = false;
    }
}

fn each_word(stretch: &str, mut edge: impl FnMut(u32, usize, f32)) {
    let mut at = 0;
    let mut before = None::<char>;
    for (byte, word) in stretch.split_word_bound_indices() {
        let first = word.chars().next();
        if let (Some(before), Some(first)) = (before, first)
            && !first.is_whitespace()
        {
            // Inside "a/b" and "well-known" only where nothing better is left. Scripts that are
            // written without blanks have nothing better; they have no upper case either.
            let blank = before.is_whitespace();
            let joined = first.is_alphanumeric() && !is_opener(before);
            let unspaced = joined && first.is_alphabetic() && !has_case(first);
            if blank || unspaced {
                edge(at, byte, WORD);
            } else if joined {
                edge(at, byte, WORD + HANGING);
            }
        }
        before = word.chars().next_back();
        at += word.chars().count() as u32;
    }
}

fn has_case(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase()
}

/// The edges at which chunks begin and end so that all costs are least in sum.
fn cheapest(edges: &[Edge], ruler: Ruler<'_>) -> Vec<usize> {
    let Some(end) = edges.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut best = vec![0.0f64; edges.len()];
    let mut back = vec![0u32; edges.len()];
    let mut first = 0;
    for to in 1..edges.len() {
        while first + 1 < to && !ruler.fits(edges[first], edges[to]) {
            first += 1;
        }
        best[to] = f64::INFINITY;
        for from in first..to {
            let uneven = ruler.fill(edges[from], edges[to]) - EASE;
            let cost = best[from] + f64::from(STRETCH * uneven * uneven + edges[to].cost);
            if cost < best[to] {
                (best[to], back[to]) = (cost, from as u32);
            }
        }
    }
    let mut chosen = vec![end];
    let mut at = end;
    while at > 0 {
        at = back[at] as usize;
        chosen.push(at);
    }
    chosen.reverse();
    chosen
}

/// Where a chunk that follows the chunk of these edges starts, to repeat up to `overlap` of it.
fn repeat_from(text: &str, edges: &[Edge], ruler: Ruler<'_>, overlap: u32) -> u32 {
    let end = edges[edges.len() - 1];
    let near = |edge: &Edge| ruler.size(*edge, end) <= u64::from(overlap);
    let inner = &edges[1..edges.len() - 1];
    if let Some(edge) = inner
        .iter()
        .filter(|edge| near(edge))
        .min_by(|a, b| a.cost.total_cmp(&b.cost))
    {
        return edge.at;
    }
    // No sentence is short enough: take its last words.
    let mut last = edges[edges.len() - 2];
    let (at, byte) = (last.at, last.byte);
    let mut start = end.at;
    each_word(&text[byte..end.byte], |chars, bytes, cost| {
        if start == end.at {
            last = ruler.mark(last, at + chars, byte + bytes, cost);
            start = if near(&last) { last.at } else { start };
        }
    });
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A token a word, as a tokenizer without subwords would have it.
    fn words(text: &str) -> Vec<u32> {
        let mut starts = Vec::new();
        let mut blank = true;
        for (at, c) in (0..).zip(text.chars()) {
            if blank && !c.is_whitespace() {
                starts.push(at);
            }
            blank = c.is_whitespace();
        }
        starts
    }

    fn slice(text: &str, (start, end): (u32, u32)) -> String {
        text.chars()
            .skip(start as usize)
            .take((end - start) as usize)
            .collect()
    }

    fn chunks(text: &str, cuts: &[(u32, u32)], budget: u32) -> Vec<String> {
        let cuts: Vec<Cut> = cuts.iter().map(|&(at, level)| Cut { at, level }).collect();
        split(text, &cuts, Some(&words(text)), Size { budget, overlap: 0 })
            .into_iter()
            .map(|span| slice(text, span))
            .collect()
    }

    #[test]
    fn a_short_text_is_one_chunk_and_a_blank_one_none() {
        assert_eq!(chunks("One. Two.\n", &[], 10), ["One. Two.\n"]);
        assert_eq!(chunks(" \n\n ", &[], 10), [] as [&str; 0]);
        assert_eq!(chunks("", &[], 10), [] as [&str; 0]);
    }

    #[test]
    fn a_small_budget_gives_a_sentence_a_chunk() {
        let text = "Revenue grew by 3.5 percent. Dr. Grey, i.e. the chair, left. \
                    \"Why now?\" asked J. Smith of the board. It fell.";
        assert_eq!(
            chunks(text, &[], 8),
            [
                "Revenue grew by 3.5 percent. ",
                "Dr. Grey, i.e. the chair, left. ",
                "\"Why now?\" asked J. Smith of the board. ",
                "It fell.",
            ]
        );
    }

    #[test]
    fn chinese_and_japanese_sentences_end_without_a_blank() {
        let text = "他说：“今天下雨。”我们留在家里。明日は晴れますか？はい、晴れます。";
        let spans = split(
            text,
            &[],
            None,
            Size {
                budget: 11,
                overlap: 0,
            },
        );
        let chunks: Vec<String> = spans.into_iter().map(|span| slice(text, span)).collect();
        assert_eq!(
            chunks,
            [
                "他说：“今天下雨。”",
                "我们留在家里。",
                "明日は晴れますか？",
                "はい、晴れます。"
            ]
        );
    }

    #[test]
    fn a_heading_stays_with_the_text_below_it() {
        let text = "alpha beta gamma delta\n\n# Head\n\nepsilon zeta eta theta\n";
        assert_eq!(
            chunks(text, &[(24, 1)], 6),
            [
                "alpha beta gamma delta\n\n",
                "# Head\n\nepsilon zeta eta theta\n"
            ]
        );
    }

    #[test]
    fn a_definition_that_fits_is_whole_and_small_ones_share_a_chunk() {
        let one = "fn a() {\n    1\n}\n\n";
        let long = format!("fn b() {{\n{}}}\n", "    call();\n\n".repeat(12));
        let text = format!("{one}{one}{long}");
        let at = one.len() as u32;
        assert_eq!(
            chunks(&text, &[(0, 1), (at, 1), (2 * at, 1)], 16),
            [format!("{one}{one}"), long]
        );
    }

    #[test]
    fn the_better_cut_wins_over_the_fuller_chunk() {
        let text = "a b c d. e f.\n\ng h i j. k l m n.";
        assert_eq!(
            chunks(text, &[], 10),
            ["a b c d. e f.\n\n", "g h i j. k l m n."]
        );
    }

    #[test]
    fn overlap_repeats_the_last_sentence_or_else_the_last_words() {
        let size = Size {
            budget: 7,
            overlap: 3,
        };
        let repeated = |text: &str| -> Vec<String> {
            split(text, &[], Some(&words(text)), size)
                .into_iter()
                .map(|span| slice(text, span))
                .collect()
        };
        assert_eq!(
            repeated("a b. c d. e f. g h. "),
            ["a b. c d. ", "c d. e f. g h. "]
        );
        assert_eq!(
            repeated("a b c d. e f g h."),
            ["a b c d. ", "b c d. e f g h."]
        );
    }

    #[test]
    fn one_token_does_not_hide_a_text_without_blanks() {
        let text = "x".repeat(10_000);
        let spans = split(
            &text,
            &[],
            Some(&[0]),
            Size {
                budget: 10,
                overlap: 0,
            },
        );
        assert!(spans.len() > 30);
        assert!(spans.iter().all(|(start, end)| end - start <= 320));
    }

    #[test]
    fn a_cut_is_moved_behind_the_blanks_it_lies_in() {
        assert_eq!(chunks("a b c  d e f", &[(5, 1)], 3), ["a b c  ", "d e f"]);
    }

    /// Texts of words, marks, breaks and the scripts that are written without blanks.
    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "word ",
            "word ",
            "Word ",
            "e.g. ",
            ". ",
            "? ",
            ", ",
            "\n",
            "\n\n",
            "  ",
            "\t",
            "- ",
            "{",
            "}",
            "。",
            "漢字",
            "カナ",
            "ไทย",
            "e\u{301}",
            "👩‍👩‍👧",
            "x/y_z",
            ":",
            "\"",
        ]);
        prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn a_chunk_that_is_too_long_already_repeats_nothing() {
        let size = Size {
            budget: 3,
            overlap: 1,
        };
        let spans = split("aaaaaa{word \n\n\n", &[], None, size);
        assert_eq!(spans.last(), Some(&(10, 15)));
    }

    proptest! {
        #[test]
        fn chunks_cover_the_text_in_order_within_the_budget(
            text in any_text(),
            cuts in prop::collection::vec((0u32..300, 0u32..9), 0..8),
            budget in 1u32..40,
            overlap in 0u32..20,
            by_token: bool,
        ) {
            let overlap = overlap.min(budget - 1);
            let cuts: Vec<Cut> = cuts.into_iter().map(|(at, level)| Cut { at, level }).collect();
            let starts = words(&text);
            let tokens = by_token.then_some(starts.as_slice());
            let spans = split(&text, &cuts, tokens, Size { budget, overlap });
            let chars: Vec<char> = text.chars().collect();
            prop_assert_eq!(spans.is_empty(), text.trim().is_empty());
            let size = |from: u32, to: u32| match tokens {
                Some(starts) => starts.iter().filter(|&&s| from <= s && s < to).count() as u32,
                None => to - from,
            };
            if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
                prop_assert_eq!((first.0, last.1 as usize), (0, chars.len()));
            }
            for pair in spans.windows(2) {
                let [(a, b), (c, d)] = [pair[0], pair[1]];
                prop_assert!(a < c && c <= b && b < d);
                prop_assert!(size(c, b) <= overlap);
                prop_assert!(!chars[c as usize].is_whitespace());
            }
            for &(start, end) in &spans {
                let letters = slice(&text, (start, end)).trim().chars().count();
                prop_assert!(letters > 0);
                prop_assert!(size(start, end) <= budget.max(1) + overlap || letters == 1);
                prop_assert!(size(start, end) <= budget || overlap > 0 || letters == 1);
            }
        }

        #[test]
        fn offsets_do_not_depend_on_the_bytes_of_a_letter(text in any_text(), budget in 1u32..40) {
            let wide: String =
                text.chars().map(|c| if c == 'w' { '\u{10428}' } else { c }).collect();
            let narrow: String = text.chars().map(|c| if c == 'w' { 'q' } else { c }).collect();
            let size = Size { budget, overlap: 0 };
            prop_assert_eq!(split(&wide, &[], None, size), split(&narrow, &[], None, size));
        }
    }
}
