//! How many connections this machine can open to a target that gets a new one for each request or iteration.

use std::fs;
use std::ops::RangeInclusive;

use evidence::{TerminalText, visible};
use report::number;
use workload::{Reuse, Workload};

/// For how long Linux keeps the port of a connection that this side closed (TIME_WAIT).
const KEPT_S: u64 = 60;
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Say it of each target whose connections are not kept.
pub(super) fn add_ports(text: &mut TerminalText, workload: &Workload) {
    let Some(range) = fs::read_to_string(RANGE).ok().and_then(|content| range_of(&content)) else { return };
    for (name, target) in &workload.targets {
        let closes_first = match target.connecting.reuse {
            Some(Reuse::Iteration) => true,
            Some(Reuse::Never) => false,
            Some(Reuse::User | Reuse::Pool) | None => continue,
        };
        let sources = target.connecting.local_addresses.len().max(1) as u64;
        text.line("").line(line(name, &range, sources, closes_first));
    }
}

fn line(target: &str, range: &RangeInclusive<u16>, sources: u64, closes_first: bool) -> String {
    let ports = range.clone().count() as u64 * sources;
    let from = match sources {
        1 => "one source address".to_owned(),
        several => format!("{several} source addresses"),
    };
    let a_second = number::count(ports / KEPT_S);
    let rate = match closes_first {
        true => format!("{a_second} new ones a second: a closed one keeps its port for {KEPT_S} s"),
        false => format!(
            "{a_second} new ones a second where the target leaves closing to this machine (a closed one keeps its port for {KEPT_S} s), \
             more where the target closes first, as HTTP/1.1 servers do"
        ),
    };
    format!(
        "connections to `{}`: from {from} this machine can have {} to each address of it at once, and {rate}",
        visible(target),
        number::count(ports),
    )
}

/// The first and the last local port, as the kernel writes them.
fn range_of(content: &str) -> Option<RangeInclusive<u16>> {
    let mut ports = content.split_whitespace().map(str::parse);
    match (ports.next()?, ports.next()?) {
        (Ok(first), Ok(last)) => Some(first..=last),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_a_second_follow_from_ports_and_source_addresses() {
        let range = range_of("32768\t60999\n").unwrap();
        insta::assert_snapshot!(line("shop", &range, 1, false), @"connections to `shop`: from one source address this machine can have 28,232 to each address of it at once, and 470 new ones a second where the target leaves closing to this machine (a closed one keeps its port for 60 s), more where the target closes first, as HTTP/1.1 servers do");
        insta::assert_snapshot!(line("shop", &range, 4, true), @"connections to `shop`: from 4 source addresses this machine can have 112,928 to each address of it at once, and 1,882 new ones a second: a closed one keeps its port for 60 s");
        assert_eq!(range_of("many"), None);
    }
}
