use super::tree::Content;
use super::*;

fn text(body: &str) -> String {
    page_text(&format!("<body>{body}</body>"), false).text
}

#[test]
fn blocks_are_lines_and_white_space_collapses() {
    assert_eq!(text("<p>a\n  b</p><p>c</p>"), "a b\n\nc");
    assert_eq!(text("<div>a</div><div>b</div>"), "a\nb");
    assert_eq!(text("<ol><li>a</li><li>b</li></ol>"), "1. a\n2. b");
    assert_eq!(text("<pre>a\n  b</pre>"), "a\n  b");
    let rows = "<table><tr><th>a</th><td>b</td></tr><tr><td>c</td><td></td></tr></table>";
    assert_eq!(text(rows), "a\tb\nc");
}

#[test]
fn a_row_whose_first_cells_are_empty_has_its_own_line() {
    let rows = "<table><tr><td>Mon</td><td>9</td></tr><tr><td></td><td>10</td></tr>\
                <tr><td><img src=\"a\"></td><td>11</td></tr></table>";
    assert_eq!(text(rows), "Mon\t9\n\t10\n\t11");
    let mixed = "<table><tr><td><p>a</p><p>b</p></td><td>9</td></tr></table>";
    assert_eq!(text(mixed), "a\n\nb\t9");
}

#[test]
fn headings_have_code_points_and_levels() {
    let page = page_text("<body><p>é</p><h2>Two <b>words</b></h2>x</body>", false);
    assert_eq!(page.text, "é\n\nTwo words\n\nx");
    let label = "Two words".to_owned();
    let (start, level) = (3, 2);
    assert_eq!(
        page.headings,
        [Heading {
            start,
            label,
            level
        }]
    );
}

#[test]
fn escaped_characters_are_decoded_but_not_those_of_raw_elements() {
    assert_eq!(text("&lt;b&gt; &amp;amp;&nbsp;x"), "<b> &amp;\u{a0}x");
    assert_eq!(text("<xmp><b>&amp;</xmp>"), "<b>&amp;");
    let plaintext = "<plaintext>a</plaintext>b</plaintext>";
    assert_eq!(text(plaintext), "a</plaintext>b");
}

#[test]
fn what_is_hidden_or_no_part_of_the_page_is_left_out() {
    for hidden in [
        "<script>x</script>",
        "<template><p>x</p></template>",
        "<p hidden=\"\">x</p>",
        "<p aria-hidden=\"true\">x</p>",
        "<p style=\"color: red; display : NONE\">x</p>",
        "<nav>x</nav>",
        "<div class=\"page toc\">x</div>",
        "<!-- <p>x</p> -->",
    ] {
        assert_eq!(text(&format!("<p>a</p>{hidden}")), "a", "{hidden}");
    }
}

#[test]
fn pictures_are_described_by_their_alternative_texts_of_several_words() {
    let picture = |alt: &str| text(&format!("<p>a<img alt=\"{alt}\">b</p>"));
    assert_eq!(picture("The lock in 1930"), "a The lock in 1930 b");
    assert_eq!(picture("港の地図"), "a 港の地図 b");
    for icon in ["logo", "", "lock.png", "Menü", "Логотип"] {
        assert_eq!(picture(icon), "ab");
    }
    assert_eq!(text("<img aria-hidden=\"true\" alt=\"The lock\">b"), "b");
}

#[test]
fn what_a_form_s_text_area_holds_is_a_line() {
    assert_eq!(
        text("<form>a<textarea>b &lt;c</textarea></form>"),
        "a\nb <c"
    );
}

#[test]
fn readings_of_ruby_do_not_part_words() {
    let ruby = "<ruby>図<rp>(</rp><rt>と</rt><rp>)</rp>書<rt>しょ</rt></ruby>は";
    assert_eq!(text(ruby), "図書は");
}

#[test]
fn formulas_and_labels_of_drawings_are_text() {
    let math = "<math><mi>E</mi><mo>=</mo><mi>m</mi><annotation>E=m</annotation></math>";
    assert_eq!(text(math), "E=m");
    let half = "<p>a <math><mfrac><mn>1</mn> <mn>2</mn></mfrac></math> of";
    assert_eq!(text(half), "a 1/2 of");
    let square =
        "<math><mfrac><msup><mi>x</mi><mn>2</mn></msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow>";
    assert_eq!(text(square), "(x^2)/(a+b)");
    let labels = "<text>North quay</text><g><text>South <tspan>quay</tspan></text></g>";
    let drawing = format!("<p>a</p><svg><title>icon</title><style>x</style>{labels}</svg>");
    assert_eq!(text(&drawing), "a\n\nNorth quay\nSouth quay");
}

#[test]
fn classes_are_compared_without_case_only_in_quirks_mode() {
    let markup = "<body><p>a</p><p class=\"NavHeader\">b</p></body>";
    assert_eq!(page_text(markup, false).text, "a\n\nb");
    assert_eq!(page_text(markup, true).text, "a");
}

#[test]
fn a_list_of_links_to_its_own_page_is_a_table_of_contents() {
    let list = |target: &str| {
        let item = format!("<li><a href=\"{target}\">x</a></li>");
        text(&format!("<p>a</p><ul>{}</ul>", item.repeat(3)))
    };
    assert_eq!(list("#s"), "a");
    assert_eq!(list("b.html"), "a\n\n- x\n- x\n- x");
}

#[test]
fn the_only_main_element_of_a_page_is_its_content() {
    let main = "<p>around</p><main role=\"main\">what the page says</main>";
    assert_eq!(text(main), "what the page says");
    let small = "<p>nearly all of the text of this page</p><main>x</main>";
    assert!(text(small).starts_with("nearly"));
}

#[test]
fn a_title_before_the_main_element_is_kept_unless_it_is_that_of_the_site() {
    let page = |head: &str, main: &str| text(&format!("{head}<p>ad</p><main>{main}</main>"));
    let head = "<header><h1>Oars</h1><p>by Al</p></header>";
    assert_eq!(page(head, "<p>of ash wood</p>"), "Oars\n\nof ash wood");
    assert_eq!(page(head, "<h1>Ash</h1><p>wood</p>"), "Ash\n\nwood");
    let site = "<header><h1><a href=\"/\">Oars</a></h1></header>";
    assert_eq!(page(site, "<p>of ash wood</p>"), "of ash wood");
}

#[test]
fn broken_markup_is_read_without_a_panic() {
    for markup in [
        "", "<", "</", "<a", "<a ", "<a =", "<a b=\"c", "<!--", "<!", "</b>", "<p>x", "<script>",
        "&", "<a>&</a>", "x",
    ] {
        page_text(markup, false);
        page_text(&format!("<body>{markup}"), true);
    }
    let deep = "<div>".repeat(100_000);
    assert_eq!(page_text(&format!("{deep}x"), false).text, "x");
}

#[test]
fn nodes_end_after_what_they_contain() {
    let tree = Tree::parse("<body><p>a<br>b</p><hr></body>", false);
    let ends: Vec<usize> = tree.nodes().iter().map(|node| node.end).collect();
    assert_eq!(ends, [6, 5, 3, 4, 5, 6]);
    assert!(matches!(&tree.nodes()[2].content, Content::Text(text) if text == "a"));
}

#[test]
fn a_page_that_is_deeper_than_browsers_show_is_flattened_and_keeps_its_text() {
    let page = |depth: usize| {
        format!(
            "{}a{}<p>b</p>",
            "<i-j>".repeat(depth),
            "</i-j>".repeat(depth)
        )
    };
    assert_eq!(bounded(&page(512)), None);
    assert_eq!(bounded(&page(700)), Some(page(512)));
}

#[test]
fn elements_that_end_without_a_tag_are_not_deep() {
    for part in [
        "<p>a",
        "<ul><li>a<li>b</ul>",
        "<dl><dt>a<dd>b</dl>",
        "<table><tr><td>a<td>b<tr><td>c</table>",
        "<a name=b>",
        "<h1>a",
        "<p><button>a",
        "<svg><path/><g/></svg>",
        "<!--<div>--><script>'<div>'</script><title><div></title>",
        "<img><br><div title='<div>'></div>",
    ] {
        assert_eq!(bounded(&part.repeat(1_000)), None, "{part}");
    }
}

#[test]
fn attributes_that_are_too_many_are_left_out() {
    let written = |count: usize| (0..count).map(|n| format!(" a{n}='>'")).collect::<String>();
    assert_eq!(bounded(&format!("<p{}>a", written(256))), None);
    let kept = bounded(&format!("<p{}>a", written(300)));
    assert_eq!(kept, Some(format!("<p{} >a", written(256))));
    let bodies = "<body a b c d>".repeat(100);
    let kept = bounded(&bodies).unwrap_or_default();
    assert_eq!(kept.matches(" a").count(), 64);
}
