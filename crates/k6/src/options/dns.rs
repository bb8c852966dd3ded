//! How host names are looked up.

use std::time::Duration;

use serde_json::Value;

use super::duration::OptionDuration;
use super::fields::{FieldName, Fields, FromJson, FromText, below, fields, mismatch};

fields! {
    /// How host names are looked up.
    pub struct DnsOptions {
        /// How long an address is kept.
        ttl: DnsTtl = "ttl";
        /// Which of several addresses is used.
        select: DnsSelect = "select";
        /// Which kinds of addresses are used.
        policy: DnsPolicy = "policy";
    }
}

/// How long an address is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsTtl {
    /// For the whole run.
    Forever,
    /// For so long; 0: each connection has a lookup of its own.
    For(Duration),
}

/// Which of several addresses of a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsSelect {
    /// Always the first.
    First,
    /// One at random each time.
    Random,
    /// One after the other.
    RoundRobin,
}

/// Which kinds of addresses are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsPolicy {
    /// IPv4 where the name has such an address, else IPv6.
    PreferIpv4,
    /// IPv6 where the name has such an address, else IPv4.
    PreferIpv6,
    /// IPv4 only.
    OnlyIpv4,
    /// IPv6 only.
    OnlyIpv6,
    /// Both.
    Any,
}

const SELECTS: [(&str, DnsSelect); 3] =
    [("first", DnsSelect::First), ("random", DnsSelect::Random), ("roundRobin", DnsSelect::RoundRobin)];
const POLICIES: [(&str, DnsPolicy); 5] = [
    ("preferIPv4", DnsPolicy::PreferIpv4),
    ("preferIPv6", DnsPolicy::PreferIpv6),
    ("onlyIPv4", DnsPolicy::OnlyIpv4),
    ("onlyIPv6", DnsPolicy::OnlyIpv6),
    ("any", DnsPolicy::Any),
];

impl FromJson for DnsOptions {
    fn from_json(value: &Value) -> Result<DnsOptions, String> {
        let mut dns = DnsOptions::default();
        // What is unknown here has no effect in k6 either.
        dns.set_all(value)?;
        Ok(dns)
    }
}

/// Pairs such as `ttl=5m,select=random`.
impl FromText for DnsOptions {
    fn from_text(text: &str) -> Result<DnsOptions, String> {
        let mut dns = DnsOptions::default();
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("{pair:?} has no value"))?;
            let value = Value::String(value.to_owned());
            if dns.set(key, &value).map_err(|reason| below(key, &reason))? == FieldName::Unknown {
                return Err(format!("there is no {key:?}; it has ttl, select and policy"));
            }
        }
        Ok(dns)
    }
}

impl FromJson for DnsTtl {
    fn from_json(value: &Value) -> Result<DnsTtl, String> {
        let text =
            value.as_str().ok_or_else(|| mismatch("a text such as \"5m\", \"0\" or \"inf\"", value))?;
        if text == "inf" {
            return Ok(DnsTtl::Forever);
        }
        let ttl = OptionDuration::parse_or_millis(text)?;
        ttl.unsigned().map(DnsTtl::For).ok_or_else(|| format!("must not be negative, but is {ttl}"))
    }
}

impl FromJson for DnsSelect {
    fn from_json(value: &Value) -> Result<DnsSelect, String> {
        one_of(&SELECTS, value)
    }
}

impl FromJson for DnsPolicy {
    fn from_json(value: &Value) -> Result<DnsPolicy, String> {
        one_of(&POLICIES, value)
    }
}

/// The choice of this name.
pub(super) fn one_of<T: Copy>(choices: &[(&str, T)], value: &Value) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| value.as_str() == Some(name));
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
        mismatch(&format!("one of {}", names.join(", ")), value)
    })
}
