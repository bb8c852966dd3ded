//! What other load generators run, which is not read here, and how their users come to a plan.

#[derive(Debug, PartialEq, Eq)]
pub struct OtherTool {
    /// What one of its files is.
    what: &'static str,
    /// A file has all texts of one of these groups.
    signs: &'static [&'static [&'static str]],
    /// What a user has of the same tool that is read here.
    instead: &'static str,
}

const TOOLS: [OtherTool; 6] = [
    OtherTool {
        what: "a Postman collection",
        signs: &[&["schema.getpostman.com"], &["\"_postman_id\""]],
        instead: "export it as OpenAPI, or record its requests in a browser as HAR",
    },
    OtherTool {
        what: "a Locust file (Python)",
        signs: &[&["from locust import"], &["import locust"]],
        instead: "results of `locust --csv PREFIX` are read by `plimsoll import PREFIX_stats.csv`",
    },
    OtherTool {
        what: "a test plan of JMeter",
        signs: &[&["<jmeterTestPlan"]],
        instead: "results of `jmeter -n -t FILE.jmx -l FILE.jtl` are read by `plimsoll import FILE.jtl`",
    },
    OtherTool {
        what: "a simulation of Gatling",
        signs: &[&["io.gatling."], &["@gatling.io/"]],
        instead: "its results are read by `plimsoll import simulation.log`",
    },
    OtherTool {
        what: "a script of Artillery",
        signs: &[&["config:", "phases:", "scenarios:"], &["config:", "target:", "scenarios:", "flow:"]],
        instead: "record its requests in a browser as HAR",
    },
    OtherTool {
        what: "a script of wrk (Lua)",
        signs: &[&["wrk.method"], &["wrk.format("], &["wrk.headers["]],
        instead: "several requests are a list: `plimsoll http --targets FILE`",
    },
];

impl OtherTool {
    /// The tool whose file begins with this text.
    pub(super) fn detect(text: &str) -> Option<&'static OtherTool> {
        let has_all = |group: &&[&str]| group.iter().all(|sign| text.contains(sign));
        TOOLS.iter().find(|tool| tool.signs.iter().any(has_all))
    }

    /// What it is and what to do with it.
    pub(super) fn advice(&self) -> String {
        format!(
            "is {}, which Plimsoll does not run: `plimsoll new URL` begins a plan; {}",
            self.what, self.instead
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_tools_are_known_by_their_texts() {
        for (text, what) in [
            ("from locust import HttpUser, task\n", "Locust"),
            ("{\"info\": {\"schema\": \"https://schema.getpostman.com/json/v2.1.0\"}}", "Postman"),
            ("<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">", "JMeter"),
            ("import io.gatling.core.Predef._\nclass A extends Simulation\n", "Gatling"),
            ("config:\n  target: http://h\n  phases:\n    - duration: 60\nscenarios:\n", "Artillery"),
            ("wrk.method = \"POST\"\n", "wrk"),
        ] {
            let tool = OtherTool::detect(text);
            assert!(tool.is_some_and(|tool| tool.advice().contains(what)), "{text}: {tool:?}");
        }
        assert_eq!(OtherTool::detect("version = 1\n[[scenarios]]\n"), None);
    }
}
