//! A loop that is woken by the time limit of its poll offers the same load as one that has a timer descriptor.

use engine::Wakeup;
use evidence::{Instant, Metric};
use testbed::Behaviour;

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};

const RATE: f64 = 200.0;
const COUNT: u64 = 100;

#[test]
fn without_a_timer_descriptor_every_arrival_is_sent_and_none_before_it_is_due() {
    for wakeup in [Wakeup::TimerFd, Wakeup::PollTimeout] {
        let target = testbed::http(Behaviour::after(ms(15))).unwrap();
        let plan = Plan::of(target.addr()).scenario(scenario(
            "s",
            at_rate(RATE, ms(500)),
            sequence([get("home", "/")]),
        ));
        let ran = Drive::new(plan.compile()).wakeup(wakeup).run();
        let run = ran.assert_sound();
        let log = target.log();
        assert_eq!((run.all(Metric::Requests), log.len() as u64), (COUNT, COUNT), "{wakeup:?}");
        // By the target's clock: request n was due n / 200 s after the epoch, or later.
        let mut received: Vec<u64> = log.iter().map(|served| served.received_ns).collect();
        received.sort_unstable();
        for (n, received_ns) in received.into_iter().enumerate() {
            let due = Instant::EPOCH + ms(n as u64 * 5);
            assert!(ran.clock.monotonic_ns(due) <= received_ns, "{wakeup:?}: request {n} was sent early");
        }
    }
}
