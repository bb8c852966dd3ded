//! Recorded exchanges, in the order of the page.

use super::super::super::markup::Node;
use super::super::{Form, parts};

pub(super) fn all(form: &mut Form, document: &mut Node) {
    for kind in ["failed", "slowest"] {
        for section in document.take(&format!("section#{kind}-exchanges")) {
            for (index, exchange) in section.all("details.exchange").into_iter().enumerate() {
                one(form, &format!("exchange/{kind}/{index}"), exchange);
            }
        }
    }
}

fn one(form: &mut Form, what: &str, exchange: &Node) {
    let summary = exchange.first("summary").unwrap();
    form.show(format!("{what}/outcome"), &summary.first("span.badge").unwrap().text());
    form.show(format!("{what}/endpoint"), &summary.first("b").unwrap().text());
    form.show(format!("{what}/response time"), &summary.first("span.took").unwrap().text());
    let about = summary.all("span")[1].text();
    let [phase, due] = parts("{}, due at {}", &about);
    form.show(format!("{what}/phase"), phase);
    form.show(format!("{what}/due"), due);
    let hint = exchange.first("p.hint").unwrap().text();
    let [response, service] = parts("Response time {}, service time {}.", &hint);
    form.show(format!("{what}/response time"), response);
    form.show(format!("{what}/service time"), service);
}
