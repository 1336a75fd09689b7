use super::geometry::Rect;
use super::{Glyph, GlyphSource, Kind, Style, read_page};

/// A page of texts at positions, each drawn in type of one size; a letter is half of it wide. A tab
/// is white space without a width.
struct Page(Vec<(f32, f32, f32, &'static str)>);

impl GlyphSource for Page {
    fn glyphs(&self) -> (Vec<Glyph>, usize) {
        let mut glyphs = Vec::new();
        for &(x, y, size, text) in &self.0 {
            let mut left = x;
            for character in text.chars() {
                glyphs.push(Glyph {
                    character,
                    rect: Rect {
                        left,
                        low: y,
                        right: left + size / 2.0,
                        high: y + size / 2.0,
                    },
                    origin: (left, y),
                    style: Style {
                        size,
                        angle: 0.0,
                        bold: false,
                    },
                });
                left += if character == '\t' { 0.0 } else { size / 2.0 };
            }
        }
        (glyphs, 0)
    }
}

fn texts(page: Vec<(f32, f32, f32, &'static str)>) -> Vec<String> {
    let (lines, _, _) = read_page(&Page(page), &[]);
    lines.into_iter().map(|line| line.text).collect()
}

const PROSE: [&str; 4] = [
    "the first column has lines",
    "of text that are as wide as",
    "the column, and they go on",
    "until the page has no room",
];

#[test]
fn columns_are_read_one_after_the_other_though_lines_are_drawn_across() {
    let page = (0..4)
        .flat_map(|at| {
            let y = 700.0 - 12.0 * at as f32;
            [(50.0, y, 10.0, PROSE[at]), (200.0, y, 10.0, PROSE[3 - at])]
        })
        .collect();
    let expected: Vec<&str> = PROSE.into_iter().chain(PROSE.into_iter().rev()).collect();
    assert_eq!(texts(page), expected);
}

#[test]
fn three_columns_at_heights_of_their_own_whose_lines_are_drawn_across_are_columns() {
    let page = (0..4)
        .flat_map(|at| {
            [(50.0, 700.0), (200.0, 694.0), (350.0, 697.0)]
                .map(|(left, top)| (left, top - 12.0 * at as f32, 10.0, PROSE[at]))
        })
        .collect();
    assert_eq!(texts(page), [PROSE; 3].concat());
}

#[test]
fn a_space_between_letters_that_are_one_pitch_apart_is_none() {
    let line = "th\te har\tbour o\tf the \ttown (\tsee";
    assert_eq!(
        texts(vec![(50.0, 700.0, 10.0, line)]),
        ["the harbour of the town ( see"]
    );
}

#[test]
fn a_title_above_two_columns_comes_first() {
    let mut page = vec![(100.0, 740.0, 14.0, "A title across both columns")];
    for left in [50.0, 200.0] {
        page.extend((0..4).map(|at| (left, 700.0 - 12.0 * at as f32, 10.0, PROSE[at])));
    }
    assert_eq!(texts(page)[..2], ["A title across both columns", PROSE[0]]);
}

#[test]
fn columns_whose_lines_stand_at_heights_of_their_own_are_columns_below_a_wide_line() {
    let mut page = vec![(
        50.0,
        712.0,
        10.0,
        "A line that is as wide as both columns and their gap",
    )];
    page.extend((0..4).map(|at| (50.0, 700.0 - 12.0 * at as f32, 10.0, PROSE[at])));
    page.extend((0..4).map(|at| (200.0, 694.0 - 12.0 * at as f32, 10.0, PROSE[at])));
    let expected: Vec<&str> = PROSE.into_iter().chain(PROSE).collect();
    assert_eq!(texts(page)[1..], expected);
}

#[test]
fn a_table_above_two_columns_is_read_by_rows() {
    let rows = [
        ["Name", "2022"],
        ["Sales", "10"],
        ["Costs", "7"],
        ["Taxes", "1"],
    ];
    let mut page = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let y = 760.0 - 12.0 * at as f32;
        page.extend([(50.0, y, 10.0, row[0]), (200.0, y, 10.0, row[1])]);
    }
    for left in [50.0, 200.0] {
        page.extend((0..4).map(|at| (left, 690.0 - 12.0 * at as f32, 10.0, PROSE[at])));
    }
    let read = texts(page);
    assert_eq!(
        read[..4],
        ["Name\t2022", "Sales\t10", "Costs\t7", "Taxes\t1"]
    );
    assert_eq!(read[4..8], PROSE);
}

#[test]
fn a_row_of_a_table_is_one_line() {
    let rows = [
        ["Name", "2022", "2023"],
        ["Sales", "10", "12"],
        ["Costs", "7", "8"],
    ];
    let mut page = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let (x, y) = (50.0 + 100.0 * column as f32, 700.0 - 12.0 * at as f32);
            page.push((x, y, 10.0, *cell));
        }
    }
    let (lines, _, _) = read_page(&Page(page), &[]);
    assert!(lines.iter().all(|line| line.kind == Kind::Row));
    let read: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(read, ["Name\t2022\t2023", "Sales\t10\t12", "Costs\t7\t8"]);
}

#[test]
fn a_cell_of_two_lines_is_one_cell() {
    let page = vec![
        (50.0, 700.0, 10.0, "-a"),
        (150.0, 700.0, 10.0, "lists all files, also"),
        (150.0, 688.0, 10.0, "those with a dot"),
        (50.0, 676.0, 10.0, "-l"),
        (150.0, 676.0, 10.0, "lists sizes"),
        (150.0, 664.0, 10.0, "in full, and"),
        (150.0, 652.0, 10.0, "their owners"),
    ];
    assert_eq!(
        texts(page),
        [
            "-a\tlists all files, also those with a dot",
            "-l\tlists sizes in full, and their owners"
        ]
    );
}

#[test]
fn dots_that_lead_to_a_number_are_left_out() {
    let page = vec![
        (50.0, 700.0, 10.0, "Sales . . . . ."),
        (200.0, 700.0, 10.0, "10"),
        (50.0, 688.0, 10.0, "Costs . . . . ."),
        (200.0, 688.0, 10.0, "7"),
    ];
    assert_eq!(texts(page), ["Sales\t10", "Costs\t7"]);
}

#[test]
fn characters_one_below_the_other_are_columns_from_the_right() {
    let columns = ["吾輩は猫である", "名前はまだ無い"];
    let glyphs = |(column, text): (usize, &'static str)| {
        text.chars().enumerate().map(move |(at, character)| Glyph {
            character,
            rect: Rect {
                left: 300.0 - 20.0 * column as f32,
                low: 700.0 - 10.0 * at as f32,
                right: 310.0 - 20.0 * column as f32,
                high: 710.0 - 10.0 * at as f32,
            },
            origin: (300.0 - 20.0 * column as f32, 700.0 - 10.0 * at as f32),
            style: Style {
                size: 10.0,
                angle: 0.0,
                bold: false,
            },
        })
    };
    struct Vertical(Vec<Glyph>);
    impl GlyphSource for Vertical {
        fn glyphs(&self) -> (Vec<Glyph>, usize) {
            (self.0.clone(), 0)
        }
    }
    let page = Vertical(columns.into_iter().enumerate().flat_map(glyphs).collect());
    let lines: Vec<String> = read_page(&page, &[])
        .0
        .into_iter()
        .map(|line| line.text)
        .collect();
    assert_eq!(lines, columns);
}

#[test]
fn the_same_page_gives_the_same_lines() {
    let page = || {
        (0..200)
            .map(|at| {
                let (x, y) = ((at * 37 % 500) as f32, (at * 91 % 700) as f32);
                (x, y, 5.0 + (at % 7) as f32, "word and word")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(page()), texts(page()));
}
