#![allow(clippy::unwrap_used)]

use super::number::{FixedPoint, push_general};
use super::rows::{NumberFormat, Row, SheetRows, Style, Value};
use super::strings::SharedStrings;

fn general(value: f64) -> String {
    let mut shown = String::new();
    push_general(&mut shown, value);
    shown
}

fn fixed_point(decimals: u16, shift: u16) -> FixedPoint {
    let (before, after) = (String::new(), if shift > 0 { "%" } else { "" }.to_string());
    FixedPoint {
        before,
        is_grouped: true,
        decimals,
        after,
        shift,
        is_signed: true,
    }
}

fn shown(value: f64, decimals: u16, shift: u16) -> String {
    let mut shown = String::new();
    fixed_point(decimals, shift).push(&mut shown, value);
    shown
}

fn rows(part: &str, piece: usize) -> Vec<Row> {
    let mut strings = SharedStrings::default();
    strings
        .feed(b"<sst><si><t>a  seal</t></si><si><r><t>har</t></r><r><t>bour</t></r></si></sst>")
        .unwrap();
    let date = Style {
        numbers: [const { NumberFormat::Other }; 3],
        formats_text: true,
    };
    let mut sheet = SheetRows::new(
        strings.close().unwrap(),
        vec![Style::default(), date],
        false,
    );
    let mut rows = vec![];
    for bytes in part.as_bytes().chunks(piece) {
        let values = sheet.feed(bytes).unwrap();
        let shown: Vec<String> = values
            .into_iter()
            .map(|(style, value)| match value {
                Value::Number(number) => format!("<{style} {number}>"),
                Value::Text(text) => format!("({text})"),
            })
            .collect();
        rows.extend(sheet.take_rows(&shown));
    }
    sheet.close().unwrap();
    rows
}

#[test]
fn a_number_has_the_15_digits_that_a_workbook_keeps() {
    for (value, written) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1234567890.12, "1234567890.12"),
        (0.1 + 0.2, "0.3"),
        (-1.0 / 3.0, "-0.333333333333333"),
        (1e15, "1000000000000000"),
        (1e20, "1E+20"),
        (1.5e-7, "1.5E-07"),
        (0.0001, "0.0001"),
        (f64::NAN, "nan"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(general(value), written);
    }
}

#[test]
fn a_number_in_places_is_rounded_half_up_from_what_was_entered() {
    assert_eq!(shown(1234567.885, 2, 0), "1,234,567.89");
    assert_eq!(shown(1.005, 2, 0), "1.01");
    assert_eq!(shown(0.157, 1, 2), "15.7%");
    assert_eq!(shown(-0.004, 2, 0), "0.00");
    assert_eq!(shown(-999.5, 0, 0), "-1,000");
    assert_eq!(shown(0.5, 0, 0), "1");
    assert_eq!(shown(0.04, 0, 0), "0");
}

#[test]
fn a_part_reads_the_same_in_pieces_of_any_length() {
    let part = "\u{feff}<?xml version='1.0'?><x:worksheet><!-- > --><sheetData>\
        <row r='3'><c r='C3' t='s'><v>1</v></c><c r='A3' s='1'><v>45000.5</v></c></row>\
        <row><c><v>1</v></c><c t='inlineStr'><is><t>é &amp; &#x41;_x0042_</t><rPh><t>no</t></rPh></is></c>\
        <c t='str' s='1'><f>A1</f><v><![CDATA[<b>]]></v></c><c s='1'><f>B1&gt;2</f></c><c t='b'><v>1</v></c></row>\
        <row r='9'/></sheetData></x:worksheet>";
    let row = |number, columns: &[u32], cells: &str| Row {
        number,
        columns: columns.to_vec(),
        cells: cells.into(),
    };
    let expected = vec![
        row(3, &[0, 2], "<1 45000.5>\tharbour"),
        row(4, &[0, 1, 2, 3, 4], "1\té & AB\t(<b>)\t=B1>2\tTRUE"),
    ];
    for piece in 1..part.len() + 1 {
        assert_eq!(rows(part, piece), expected, "pieces of {piece} bytes");
    }
}

fn refusal(part: &[u8]) -> String {
    let mut sheet = SheetRows::new(vec![].into(), vec![], false);
    let fed = sheet.feed(part).and_then(|_| sheet.close());
    fed.unwrap_err().to_string()
}

#[test]
fn a_part_that_is_no_xml_is_refused() {
    for part in ["", "<a>", "<a></b>", "<a/><a/>", "<a>&nbsp;</a>", "words"] {
        assert_eq!(refusal(part.as_bytes()), "is not well-formed XML", "{part}");
    }
}

#[test]
fn a_part_that_declares_entities_is_refused_used_or_not() {
    for subset in [
        "<!ENTITY e 'x'>",
        "<!ELEMENT a ANY><!ENTITY e 'x'>",
        "<!ENTITY % e 'x'>",
    ] {
        let part = format!("<!DOCTYPE a [{subset}]><a></a>");
        let expected = "declares XML entities, which crx does not expand";
        assert_eq!(refusal(part.as_bytes()), expected, "{part}");
    }
}

#[test]
fn a_token_of_more_than_16_megabytes_is_refused() {
    let part = [b"<a>".as_slice(), &vec![b'x'; 17 << 20]].concat();
    let expected = "has a cell or a tag of more than 16 MB; split or remove it";
    assert_eq!(refusal(&part), expected);
}
