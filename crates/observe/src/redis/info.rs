//! The answer to `INFO ALL`.

use std::collections::HashMap;

/// Its `name:value` lines. All of it is of one instant.
pub(super) struct Info<'a>(HashMap<&'a str, &'a str>);

impl<'a> Info<'a> {
    pub(super) fn read(text: &'a str) -> Info<'a> {
        Info(text.lines().filter_map(|line| line.trim_end().split_once(':')).collect())
    }

    pub(super) fn text(&self, field: &str) -> &'a str {
        self.0.get(field).copied().unwrap_or_default()
    }

    pub(super) fn number(&self, field: &str) -> Option<f64> {
        self.0.get(field)?.parse().ok().filter(|value: &f64| value.is_finite())
    }

    /// How often a command was called, such as `get` or `slowlog|reset`; none where the server does not say so.
    pub(super) fn calls(&self, command: &str) -> Option<u64> {
        let line = self.command(command)?;
        line.split(',').find_map(|field| field.strip_prefix("calls="))?.parse().ok()
    }

    /// What the server counts of a command.
    pub(super) fn command(&self, command: &str) -> Option<&'a str> {
        self.0.get(format!("cmdstat_{command}").as_str()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_calls_are_read() {
        let info =
            Info::read("# Stats\r\nkeyspace_hits:7\r\nrun_id:abc\r\ncmdstat_slowlog|get:calls=3,usec=9\r\n");
        assert_eq!((info.number("keyspace_hits"), info.text("run_id")), (Some(7.0), "abc"));
        assert_eq!((info.number("run_id"), info.number("absent"), info.text("absent")), (None, None, ""));
        assert_eq!((info.calls("slowlog|get"), info.calls("slowlog|reset")), (Some(3), None));
    }
}
