//! Metrics, as targets expose them.

use observe::exposition::{ExpositionLine, lines};

use crate::Target;

pub(crate) const METRICS: Target = Target {
    name: "metrics",
    seeds: &[
        b"# HELP t Time.\n# TYPE t histogram\nt_bucket{endpoint=\"a\",le=\"0.1\"} 3\nt_bucket{endpoint=\"a\",le=\"+Inf\"} 5\nt_sum 1.5\n\
          t_count 5\n",
        b"# TYPE go_goroutines gauge\ngo_goroutines 12\n# TYPE go_gc summary\ngo_gc{quantile=\"0.5\"} 1e-05\ngo_gc_count 4 1395066363000\n",
        b"# TYPE requests counter\nrequests_total{code=\"200\",path=\"C:\\\\a \\\"b\\\"\\n\"} 1027 # {trace=\"x\"} 0.5 1.2\n# EOF",
    ],
    words: &[b"# TYPE ", b" counter\n", b"_bucket{le=\"", b"\"} ", b"NaN\n", b"+Inf", b"\\\"", b" # {"],
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let mut understood = false;
        for (_, line) in lines(&text) {
            if let Ok(ExpositionLine::Sample(sample)) = line {
                understood |= sample.read().is_ok();
            }
        }
        understood
    },
    ..Target::BASE
};
