//! Long responses to k6 scripts.

use testbed::CannedResponse;

use crate::k6_http::{run, site};

#[test]
fn a_script_gets_all_of_a_long_body() {
    const BYTES: usize = (16 << 20) + 1;
    let script = "export default function () {
            const long = http.get(`${B}/long`, { responseType: 'binary' });
            say(long.status, long.body.byteLength);
        }";
    let site = site().at("/long", CannedResponse::new(200).body(vec![b'x'; BYTES]).into());
    run(script, site).0.stderr_contains(&[&format!("INFO 200 {BYTES}")]);
}
