//! The user that PostgreSQL runs as: our own, but never root.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::error::{PeerError, Tried as _};

/// Debian's packages make this user.
const NAME: &str = "postgres";

/// A user of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
}

/// The user that runs the server and all programs that use its files; `None` for our own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account(Option<User>);

impl Account {
    /// Our own user, or the user `postgres` when we are root.
    pub(super) fn find() -> Result<Self, PeerError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self(None));
        }
        let users = std::fs::read_to_string("/etc/passwd").tried(|| "read /etc/passwd".to_owned())?;
        let user = entry(&users, NAME);
        user.map(|user| Self(Some(user))).ok_or(PeerError::NoAccount { program: "PostgreSQL", account: NAME })
    }

    /// A command that runs as this user, with nothing of our environment but the search path.
    pub(super) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        if let Self(Some(user)) = self {
            command.uid(user.uid).gid(user.gid);
        }
        command
    }

    /// Gives this user a folder of ours.
    pub(super) fn own(self, folder: &Path) -> Result<(), PeerError> {
        let Self(Some(user)) = self else { return Ok(()) };
        std::os::unix::fs::chown(folder, Some(user.uid), Some(user.gid))
            .tried(|| format!("give {} to `{NAME}`", folder.display()))
    }
}

/// `name:password:uid:gid:…`
fn entry(users: &str, name: &str) -> Option<User> {
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = line.split(':').skip(1);
    Some(User { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let users =
            "root:x:0:0:root:/x:/bin/bash\npostgresql:x:7:7::/:\npostgres:x:101:104:admin,,,:/x:/bin/bash\n";
        assert_eq!(entry(users, "postgres"), Some(User { uid: 101, gid: 104 }));
        assert_eq!(entry(users, "postgre"), None);
    }
}
