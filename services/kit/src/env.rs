//! Typed reading of environment variables. Every error names the variable, its value and the values that it may have.

use std::collections::HashMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A variable that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?} cannot be used: {expected}")]
pub struct EnvError {
    pub name: &'static str,
    pub value: String,
    /// The values that it may have.
    pub expected: String,
}

/// A snapshot of the environment. A variable set to nothing counts as unset.
#[derive(Debug, Clone, Default)]
pub struct Env {
    values: HashMap<String, String>,
}

impl Env {
    /// The environment of this process. Variables that are not Unicode are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let pairs =
            std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { values: pairs.filter(|(_, v)| !v.is_empty()).collect() }
    }

    /// An environment made of the given pairs.
    #[must_use]
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned()));
        Self { values: owned.filter(|(_, v)| !v.is_empty()).collect() }
    }

    /// The same environment in which a variable `PREFIX` + `NAME` also sets `NAME`. It overrides the bare name, and the
    /// first prefix overrides the others.
    #[must_use]
    pub fn with_prefixes(mut self, prefixes: &[&str]) -> Self {
        for prefix in prefixes.iter().rev() {
            let named =
                self.values.iter().filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, value)));
            let named: Vec<_> = named.map(|(name, value)| (name.to_owned(), value.clone())).collect();
            self.values.extend(named);
        }
        self
    }

    /// The same environment in which `name` has this value, unless it is set already.
    #[must_use]
    pub fn with_default(mut self, name: &str, value: &str) -> Self {
        self.values.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        self
    }

    /// The same environment in which names of other programs have set ours, where ours are not set: each pair is their name
    /// and ours.
    #[must_use]
    pub fn with_names_of_others(mut self, names: &[(&str, &str)]) -> Self {
        for (theirs, ours) in names {
            if let Some(value) = self.text(theirs).map(str::to_owned) {
                self = self.with_default(ours, &value);
            }
        }
        self
    }

    /// The same environment in which `REDIS_HOST`, `REDIS_PORT`, `REDIS_PASSWORD` and `REDIS_DB` have set `REDIS_URL`,
    /// unless it is set.
    ///
    /// # Errors
    /// When the port or the number of the database cannot be used.
    pub fn with_redis_url(self) -> Result<Self, EnvError> {
        let Some(host) = self.text("REDIS_HOST") else { return Ok(self) };
        let port = self.port("REDIS_PORT", 6379)?;
        let database = self.within("REDIS_DB", 0, 0..=1_000_000)?;
        let password = self.text("REDIS_PASSWORD").map(|password| {
            format!(
                ":{}@",
                percent_encoding::utf8_percent_encode(password, percent_encoding::NON_ALPHANUMERIC)
            )
        });
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let url = format!("redis://{}{host}:{port}/{database}", password.unwrap_or_default());
        Ok(self.with_default("REDIS_URL", &url))
    }

    /// A line for each of these variables that is set: its name, and why it has no effect.
    #[must_use]
    pub fn without_effect(&self, names: &[(&str, &str)]) -> Vec<String> {
        let set = names.iter().filter(|(name, _)| self.text(name).is_some());
        set.map(|(name, why)| format!("{name} is set and has no effect: {why}")).collect()
    }

    /// The names of all variables that are set, in any order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The text of `name`, when set.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// `name` as a `T`, or `default`.
    ///
    /// # Errors
    /// When the text is no `T`.
    pub fn parsed<T>(&self, name: &'static str, default: T) -> Result<T, EnvError>
    where
        T: FromStr<Err: Display>,
    {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().map_err(|e: T::Err| error(name, text, e.to_string()))
    }

    /// `name` as a whole number within `range`, or `default`.
    ///
    /// # Errors
    /// When it is not a whole number or lies outside.
    pub fn within(
        &self,
        name: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, EnvError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        let number = text.parse().map_err(|_| error(name, text, expected()))?;
        if range.contains(&number) { Ok(number) } else { Err(error(name, text, expected())) }
    }

    /// A TCP port, 0 meaning "any free one".
    ///
    /// # Errors
    /// When it is not a port.
    pub fn port(&self, name: &'static str, default: u16) -> Result<u16, EnvError> {
        let number = self.within(name, default.into(), 0..=u16::MAX.into())?;
        Ok(u16::try_from(number).unwrap_or(default))
    }

    /// The address of a port: the IP address in `BIND_ADDRESS`, else in the variable of this port (`HTTP_HOST` for
    /// `HTTP_PORT`), else in `HOST`, by default that of the loopback interface; with the port as in [`Env::port`].
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn address(&self, port: &'static str, default: u16) -> Result<SocketAddr, EnvError> {
        let of_port = match port {
            "HTTP_PORT" => "HTTP_HOST",
            "GRPC_PORT" => "GRPC_HOST",
            _ => "HOST",
        };
        let variables = ["BIND_ADDRESS", of_port, "HOST"];
        let variable = variables.into_iter().find(|name| self.text(name).is_some()).unwrap_or("HOST");
        let ip: IpAddr = self.parsed(variable, Ipv4Addr::LOCALHOST.into())?;
        Ok(SocketAddr::new(ip, self.port(port, default)?))
    }

    /// One of a few words, each with its value; the first choice is the default.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn choice<T: Copy>(&self, name: &'static str, choices: &[(&str, T)]) -> Result<T, EnvError> {
        let text = self.text(name).unwrap_or(choices[0].0);
        let found = choices.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            error(name, text, format!("one of {}", words.join(", ")))
        })
    }
}

fn error(name: &'static str, value: &str, expected: String) -> EnvError {
    EnvError { name, value: value.to_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_variable() {
        let env = Env::from_pairs([("PORT", "70000"), ("MODE", "loud"), ("EMPTY", "")]);
        let port = env.port("PORT", 1).unwrap_err();
        assert_eq!(port.to_string(), "PORT=\"70000\" cannot be used: a whole number from 0 to 65535");
        let mode = env.choice("MODE", &[("on", 1), ("off", 2)]).unwrap_err();
        assert_eq!(mode.to_string(), "MODE=\"loud\" cannot be used: one of on, off");
        assert!(env.parsed::<std::net::IpAddr>("PORT", [127, 0, 0, 1].into()).is_err());
    }

    #[test]
    fn host_sets_the_address_where_bind_address_does_not() {
        let address = |pairs: &[(&str, &str)]| {
            let address = Env::from_pairs(pairs.iter().copied()).address("PORT", 80);
            address.map(|address| address.to_string()).map_err(|error| error.name)
        };
        assert_eq!(address(&[]), Ok("127.0.0.1:80".to_owned()));
        assert_eq!(address(&[("HOST", "::"), ("PORT", "8")]), Ok("[::]:8".to_owned()));
        assert_eq!(address(&[("HOST", "::"), ("BIND_ADDRESS", "0.0.0.0")]), Ok("0.0.0.0:80".to_owned()));
        assert_eq!(address(&[("HOST", "localhost")]), Err("HOST"));
        let of_http = |pairs: &[(&str, &str)]| {
            Env::from_pairs(pairs.iter().copied()).address("HTTP_PORT", 80).map(|address| address.to_string())
        };
        assert_eq!(of_http(&[("HOST", "::"), ("HTTP_HOST", "10.0.0.1")]), Ok("10.0.0.1:80".to_owned()));
        assert_eq!(of_http(&[("GRPC_HOST", "::")]), Ok("127.0.0.1:80".to_owned()));
        let both = [("BIND_ADDRESS", "::1"), ("HTTP_HOST", "10.0.0.1")];
        assert_eq!(of_http(&both), Ok("[::1]:80".to_owned()));
        assert_eq!(address(&[("HOST", "::"), ("BIND_ADDRESS", "localhost")]), Err("BIND_ADDRESS"));
    }

    #[test]
    fn names_of_others_set_ours_and_ours_decide() {
        let names = [("CONFIG_PATH", "OUR_CONFIG")];
        let env = Env::from_pairs([("CONFIG_PATH", "a")]).with_names_of_others(&names);
        assert_eq!(env.text("OUR_CONFIG"), Some("a"));
        let env = Env::from_pairs([("CONFIG_PATH", "a"), ("OUR_CONFIG", "b")]).with_names_of_others(&names);
        assert_eq!(env.text("OUR_CONFIG"), Some("b"));
        let lines = Env::from_pairs([("A", "1")]).without_effect(&[("A", "b decides"), ("C", "never")]);
        assert_eq!(lines, ["A is set and has no effect: b decides"]);
    }

    #[test]
    fn the_parts_of_a_redis_make_its_url() {
        let url = |pairs: &[(&str, &str)]| {
            let env = Env::from_pairs(pairs.iter().copied()).with_redis_url();
            env.map(|env| env.text("REDIS_URL").map(str::to_owned)).map_err(|error| error.name)
        };
        let host = ("REDIS_HOST", "cache");
        assert_eq!(url(&[host]), Ok(Some("redis://cache:6379/0".to_owned())));
        let all = [host, ("REDIS_PORT", "7000"), ("REDIS_PASSWORD", "p@s/s"), ("REDIS_DB", "2")];
        assert_eq!(url(&all), Ok(Some("redis://:p%40s%2Fs@cache:7000/2".to_owned())));
        assert_eq!(url(&[host, ("REDIS_URL", "redis://other/")]), Ok(Some("redis://other/".to_owned())));
        assert_eq!(url(&[("REDIS_HOST", "::1")]), Ok(Some("redis://[::1]:6379/0".to_owned())));
        assert_eq!(url(&[("REDIS_PORT", "x")]), Ok(None));
        assert_eq!(url(&[host, ("REDIS_PORT", "x")]), Err("REDIS_PORT"));
        assert_eq!(url(&[host, ("REDIS_DB", "-1")]), Err("REDIS_DB"));
    }

    #[test]
    fn unset_and_empty_take_the_default() {
        let env = Env::from_pairs([("EMPTY", "")]);
        assert_eq!(env.port("EMPTY", 8000), Ok(8000));
        assert_eq!(env.choice("MODE", &[("off", 2), ("on", 1)]), Ok(2));
        assert_eq!(env.text("EMPTY"), None);
    }
}
