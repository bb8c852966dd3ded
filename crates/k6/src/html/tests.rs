use super::selecting::finished;
use super::selector::Matching;
use super::*;

fn document(text: &str) -> Document {
    parse(text, &mut |_| true).unwrap()
}

fn found(document: &Document, selector: &str) -> Vec<NodeId> {
    document.find(&[NodeId::ROOT], &parse_selector(selector).unwrap()).unwrap()
}

#[test]
fn what_is_parsed_is_written_as_it_was() {
    let page =
        "<!DOCTYPE html><html><head></head><body><p a=\"&amp;&#34;\">x &lt; y<br/><!--c--></p></body></html>";
    assert_eq!(document(page).inner_html(NodeId::ROOT).as_deref(), Some(page));
}

#[test]
fn what_a_document_takes_is_asked_for_while_it_is_made() {
    let text = "<p>x".repeat(10_000);
    let (mut taken, mut asked) = (0, 0);
    let document = parse(&text, &mut |by| {
        (taken, asked) = (taken + by, asked + 1);
        true
    });
    assert_eq!(found(&document.unwrap(), "p").len(), 10_000);
    assert!(taken > 20_000 * size_of::<tree::Node>() && asked > 100, "{taken} bytes, {asked} times");

    let mut left = 100_000;
    let refused = parse(&text, &mut |by| {
        left -= i64::try_from(by).unwrap();
        left >= 0
    });
    assert_eq!(refused.unwrap_err(), ParseError::NoMemory);
    assert!(left > -200_000, "{left}: the parser goes on after that");
}

#[test]
fn elements_that_are_begun_again_in_each_paragraph_are_limited_by_how_deep_they_are() {
    let formats: String = (0..2_000).map(|index| format!("<b id={index}>")).collect();
    let text = format!("<p>{formats}{}", "<p>x".repeat(2_000));
    let mut taken = 0;
    let refused = parse(&text, &mut |by| {
        taken += by;
        true
    });
    assert_eq!(refused.unwrap_err(), ParseError::TooDeep);
    assert!(taken < 1 << 20, "{taken}");
}

#[test]
fn a_selector_that_looks_at_too_many_nodes_is_refused() {
    let document = document(&"<i></i>".repeat(1_000));
    let all = found(&document, "i");
    let group = parse_selector("i:nth-child(2)").unwrap();
    for (steps, expected) in [(10_000, Err(TooManySteps)), (10_000_000, Ok(vec![all[1]]))] {
        let matching = Matching::new(&document, steps);
        let matched = all.iter().copied().filter(|node| matching.group(&group, *node)).collect();
        assert_eq!(finished(&matching, matched), expected);
    }
}

#[test]
fn selectors_within_selectors_are_limited() {
    let nested = |depth: usize| format!("{}i{}", ":not(".repeat(depth), ")".repeat(depth));
    assert!(parse_selector(&nested(30)).is_some());
    assert!(parse_selector(&nested(40)).is_none());
}
