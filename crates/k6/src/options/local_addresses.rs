//! `localIPs`: addresses, ranges of them, and networks.

use std::net::IpAddr;

use serde_json::Value;

use super::fields::{FromJson, FromText, mismatch};
use super::hosts::IpNetwork;

/// An address or more, as ranges from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddresses(Vec<(IpAddr, IpAddr)>);

impl LocalAddresses {
    /// # Errors
    /// A message, if a part of the list is not an address, no range such as `10.0.0.1-10.0.0.9` and no network such as
    /// `10.0.0.0/24`.
    pub fn parse(text: &str) -> Result<LocalAddresses, String> {
        let read = |part: &str| {
            range(part.trim()).ok_or_else(|| format!("{part} is not a valid IP, IP range or CIDR"))
        };
        text.split(',').map(read).collect::<Result<_, String>>().map(LocalAddresses)
    }

    /// The addresses, in their order, at most so many.
    pub fn first(&self, most: usize) -> Vec<IpAddr> {
        let all = self.0.iter().flat_map(|(first, last)| {
            let from = |number: u128| match first {
                IpAddr::V4(_) => IpAddr::V4((number as u32).into()),
                IpAddr::V6(_) => IpAddr::V6(number.into()),
            };
            (to_number(*first)..=to_number(*last)).map(from)
        });
        all.take(most).collect()
    }
}

fn to_number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn range(text: &str) -> Option<(IpAddr, IpAddr)> {
    if text.contains('/') {
        return Some(IpNetwork::parse(text).ok()?.host_range());
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (IpAddr, IpAddr) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first.is_ipv4() == last.is_ipv4() && first <= last).then_some((first, last))
}

impl FromText for LocalAddresses {
    fn from_text(text: &str) -> Result<LocalAddresses, String> {
        LocalAddresses::parse(text)
    }
}

impl FromJson for LocalAddresses {
    fn from_json(value: &Value) -> Result<LocalAddresses, String> {
        LocalAddresses::parse(value.as_str().ok_or_else(|| mismatch("a text", value))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_ranges_and_networks_are_listed_in_order() {
        let listed = |text: &str| {
            let addresses = LocalAddresses::parse(text)?.first(5);
            Ok(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        let ok = |text: &str| Ok::<_, String>(text.to_owned());
        assert_eq!(listed("127.0.0.2, 127.0.0.5-127.0.0.6"), ok("127.0.0.2 127.0.0.5 127.0.0.6"));
        // Without the addresses of the network itself and of all its hosts.
        assert_eq!(listed("127.0.0.0/30"), ok("127.0.0.1 127.0.0.2"));
        assert_eq!(listed("10.0.0.1/8"), ok("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5"));
        assert_eq!(listed("127.0.0.9/32,::1"), ok("127.0.0.9 ::1"));
        for wrong in ["nope", "", "1.2.3.4-1.2.3.3", "1.2.3.4-::1", "1.2.3.4/33"] {
            assert_eq!(listed(wrong), Err(format!("{wrong} is not a valid IP, IP range or CIDR")));
        }
    }
}
