//! What options say of connections: whose they are, where they lead, their TLS.

mod tls;

use std::net::IpAddr;
use std::time::Duration;

use engine::program::{MetOrigin, OriginRules};
use engine::tls_offer::TlsOffer;
use workload::connection::{Connecting, Resumption, Reuse, TlsSettings};

use crate::options::{
    DnsOptions, DnsPolicy, DnsSelect, DnsTtl, HostPattern, Hosts, IpNetwork, Options, OptionsError,
};

/// What the reasons begin with for which nothing is sent, and k6's code and error for each.
const REFUSALS: [(&str, u16, &str); 2] =
    [("IP (", 1110, "ip is blacklisted"), ("hostname (", 1111, "hostname is blocked")];

/// How the servers that a script names are connected to.
#[derive(Debug)]
pub struct NetworkRules {
    reuse: Reuse,
    hosts: Hosts,
    blocked_addresses: Vec<IpNetwork>,
    blocked_names: Vec<HostPattern>,
    select: DnsSelect,
    policy: DnsPolicy,
    dns_ttl: Duration,
    insecure: bool,
    tls: TlsOffer,
    max_idle: usize,
    local_addresses: Vec<IpAddr>,
}

impl NetworkRules {
    /// What these options say.
    ///
    /// # Errors
    /// [`OptionsError`] where they ask for what cannot be done.
    pub fn from_options(options: &Options) -> Result<NetworkRules, OptionsError> {
        let is_set = |option: Option<bool>| option == Some(true);
        let dns = options.dns.clone().unwrap_or_default();
        let rules = NetworkRules {
            reuse: match () {
                () if is_set(options.no_connection_reuse) => Reuse::Never,
                () if is_set(options.no_vu_connection_reuse) => Reuse::Iteration,
                () => Reuse::User,
            },
            hosts: options.hosts.clone().unwrap_or_default(),
            blocked_addresses: options.blacklist_ips.clone().unwrap_or_default(),
            blocked_names: options.block_hostnames.clone().unwrap_or_default(),
            select: dns.select.unwrap_or(DnsSelect::Random),
            dns_ttl: dns_ttl(&dns),
            policy: dns.policy.unwrap_or(DnsPolicy::PreferIpv4),
            insecure: is_set(options.insecure_skip_tls_verify),
            tls: tls::offer(options)?,
            max_idle: max_idle(options),
            local_addresses: local_addresses(options)?,
        };
        if !rules.tls.identities.is_empty() {
            let checked = rules.met(Connecting::default()).check_tls();
            checked.map_err(|why| OptionsError::Problems(vec![format!("tlsAuth: {why}")]))?;
        }
        Ok(rules)
    }

    fn met(&self, connecting: Connecting) -> MetOrigin {
        // As in k6, each handshake is a full one.
        let tls =
            TlsSettings { insecure: self.insecure, resumption: Resumption::Off, ..TlsSettings::default() };
        let (reuse, dns_ttl) = (Some(self.reuse), Some(self.dns_ttl));
        let connecting = Connecting { reuse, dns_ttl, tls, ..connecting };
        MetOrigin { connecting, tls_offer: self.tls.clone(), max_idle: Some(self.max_idle) }
    }
}

impl OriginRules for NetworkRules {
    fn connecting(&self, host: &str, port: u16) -> Result<MetOrigin, String> {
        if let Some(pattern) = self.blocked_names.iter().find(|pattern| pattern.matches(host)) {
            return Err(format!("hostname ({host}) is in a blocked pattern ({pattern})"));
        }
        let instead = self.hosts.find(host, port);
        let connect_to = instead.map(|address| (address.ip.to_string(), address.port.unwrap_or(port)));
        Ok(self.met(Connecting { connect_to, ..Connecting::default() }))
    }

    fn local_addresses(&self) -> Vec<IpAddr> {
        self.local_addresses.clone()
    }

    fn choose(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, String> {
        let mut chosen = by_policy(self.policy, addresses);
        if self.select == DnsSelect::First {
            chosen.truncate(1);
        }
        let block = |ip: &IpAddr| self.blocked_addresses.iter().find(|network| network.contains(*ip));
        let refusal = chosen.first().and_then(|ip| Some((*ip, block(ip)?)));
        chosen.retain(|ip| block(ip).is_none());
        match refusal.filter(|_| chosen.is_empty()) {
            Some((ip, network)) => Err(format!("IP ({ip}) is in a blacklisted range ({network})")),
            None => Ok(chosen),
        }
    }
}

/// The addresses that virtual users connect from.
fn local_addresses(options: &Options) -> Result<Vec<IpAddr>, OptionsError> {
    /// Further ones are not used.
    const MOST: usize = 65_536;
    let addresses = options.local_ips.as_ref().map(|addresses| addresses.first(MOST)).unwrap_or_default();
    // A connection needs two addresses of one kind.
    match addresses.iter().all(IpAddr::is_ipv4) || addresses.iter().all(IpAddr::is_ipv6) {
        true => Ok(addresses),
        false => {
            let reason = "give those of one kind";
            Err(OptionsError::Unsupported { option: "localIPs of IPv4 and IPv6".to_owned(), reason })
        }
    }
}

/// How many connections to one host a virtual user keeps open without a request.
fn max_idle(options: &Options) -> usize {
    /// Where the option sets no number.
    const LEAST: u32 = 2;
    let everywhere = if options.batch == Some(0) { u32::MAX } else { options.batch() };
    options.batch_per_host().unwrap_or(LEAST).min(everywhere) as usize
}

/// The addresses of the kinds that are used.
fn by_policy(policy: DnsPolicy, addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = addresses.iter().partition(|ip| ip.is_ipv4());
    match policy {
        DnsPolicy::OnlyIpv4 => v4,
        DnsPolicy::OnlyIpv6 => v6,
        DnsPolicy::PreferIpv4 if !v4.is_empty() => v4,
        DnsPolicy::PreferIpv6 if !v6.is_empty() => v6,
        DnsPolicy::PreferIpv4 | DnsPolicy::PreferIpv6 | DnsPolicy::Any => addresses,
    }
}

/// For how long the addresses of a name are used: as in k6, five minutes where nothing is set.
fn dns_ttl(dns: &DnsOptions) -> Duration {
    match dns.ttl {
        None => Duration::from_secs(300),
        Some(DnsTtl::For(ttl)) => ttl,
        Some(DnsTtl::Forever) => Duration::MAX,
    }
}

/// k6's code and error of a request for which nothing was sent for this reason; none where it is another one.
pub(crate) fn refusal(reason: &str) -> Option<(u16, &'static str)> {
    let refusal = REFUSALS.iter().find(|(beginning, ..)| reason.starts_with(beginning));
    refusal.map(|(_, code, error)| (*code, *error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::{Layer, consolidate};

    fn rules(options: serde_json::Value) -> NetworkRules {
        let options = consolidate([Layer::of_script(&options).unwrap()]).unwrap().options;
        NetworkRules::from_options(&options).unwrap()
    }

    #[test]
    fn addresses_are_chosen_by_policy_and_selection_and_blocked_ones_left_out() {
        let all = ["::1", "10.0.0.1", "fd00::1", "10.0.0.2"].map(|ip| ip.parse().unwrap()).to_vec();
        let chosen = |dns: &str, blocked: &[&str]| {
            let chosen =
                rules(json!({ "dns": { "policy": dns.split(' ').next(), "select": dns.split(' ').nth(1) },
                "blacklistIPs": blocked }))
                .choose(all.clone());
            chosen.map(|ips| ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(chosen("preferIPv4 random", &[]), ok("10.0.0.1 10.0.0.2"));
        assert_eq!(chosen("preferIPv6 roundRobin", &[]), ok("::1 fd00::1"));
        assert_eq!(chosen("any first", &[]), ok("::1"));
        assert_eq!(chosen("onlyIPv4 first", &[]), ok("10.0.0.1"));
        assert_eq!(chosen("onlyIPv4 random", &["10.0.0.1/32"]), ok("10.0.0.2"));
        let why = chosen("onlyIPv4 random", &["10.0.0.0/8"]).unwrap_err();
        assert_eq!(why, "IP (10.0.0.1) is in a blacklisted range (10.0.0.0/8)");
        assert_eq!(refusal(&why), Some((1110, "ip is blacklisted")));
    }

    #[test]
    fn addresses_are_used_as_long_as_the_option_says() {
        let ttl = |dns: serde_json::Value| {
            rules(json!({ "dns": dns })).connecting("a.test", 80).unwrap().connecting.dns_ttl()
        };
        assert_eq!(ttl(json!({})), Duration::from_secs(300));
        assert_eq!(ttl(json!({ "ttl": "1s" })), Duration::from_secs(1));
        assert_eq!(ttl(json!({ "ttl": "0" })), Duration::ZERO);
        assert_eq!(ttl(json!({ "ttl": "inf" })), Duration::MAX);
    }

    #[test]
    fn names_are_blocked_or_lead_elsewhere() {
        let rules = rules(
            json!({ "hosts": { "a.test": "127.0.0.1:1", "*.b.test": "::1" }, "blockHostnames": ["*.c.test"] }),
        );
        let leads_to = |host: &str| rules.connecting(host, 80).map(|met| met.connecting.connect_to);
        assert_eq!(leads_to("a.test"), Ok(Some(("127.0.0.1".to_owned(), 1))));
        assert_eq!(leads_to("x.b.test"), Ok(Some(("::1".to_owned(), 80))));
        assert_eq!(leads_to("d.test"), Ok(None));
        let why = leads_to("x.c.test").unwrap_err();
        assert_eq!(why, "hostname (x.c.test) is in a blocked pattern (*.c.test)");
        assert_eq!(refusal(&why), Some((1111, "hostname is blocked")));
    }
}
