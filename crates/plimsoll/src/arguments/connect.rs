//! The options for connections to the target.

use std::net::IpAddr;

use clap::Args;
use conduct::environment::{Environment, environment};
use workload::Template;
use workload::address::authority_of;
use workload::observation::filled_address;
use workload::proxy::Proxy;
use workload::redact::env_value;
use workload::template::Value;

/// How connections are made.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectArguments {
    /// Accept any certificate
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Trust the authorities in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<String>,
    /// Client certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "key", hide_short_help = true)]
    pub(crate) cert: Option<String>,
    /// Private key of --cert, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert", hide_short_help = true)]
    pub(crate) key: Option<String>,
    /// Connect to this host and port; requests and certificates still name the target
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port, hide_short_help = true)]
    pub(crate) connect_to: Option<(String, u16)>,
    /// Connect to this Unix socket instead
    #[arg(long, value_name = "PATH", conflicts_with_all = ["connect_to", "local_address"], hide_short_help = true)]
    pub(crate) unix_socket: Option<String>,
    /// Go through this HTTP proxy instead of the one that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name; its
    /// password may be ${env.NAME}
    #[arg(short = 'x', long, value_name = "URL", value_parser = proxy, conflicts_with_all = ["connect_to", "unix_socket"], hide_short_help = true)]
    pub(crate) proxy: Option<Proxy>,
    /// Local address to connect from; several, separated by commas, are used in turn
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) local_address: Vec<IpAddr>,
    /// Use IPv4 addresses only
    #[arg(long, conflicts_with = "ipv6", hide_short_help = true)]
    pub(crate) ipv4: bool,
    /// Use IPv6 addresses only
    #[arg(long, hide_short_help = true)]
    pub(crate) ipv6: bool,
}

/// A proxy, whose user may be in environment variables.
fn proxy(text: &str) -> Result<Proxy, String> {
    let template = Template::parse(text).map_err(|error| error.to_string())?;
    let mut env = Environment::new();
    for value in template.values() {
        let Value::Env(name) = value else { return Err(format!("`${{{value}}}` has no value here")) };
        env.insert(name.clone(), env_value(name, &environment)?);
    }
    let place = text.rsplit('@').next().unwrap_or_default();
    if place.contains("${") {
        return Err(
            "`${env.NAME}` may be the user or the password, not the place, which is not a secret".to_owned()
        );
    }
    Proxy::parse(&filled_address(text, &env))
}

fn host_and_port(text: &str) -> Result<(String, u16), String> {
    authority_of(text, None)
}
