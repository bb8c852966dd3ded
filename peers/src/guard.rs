//! A shell that runs on when our process has ended: its input ends then, for whatever reason, and it ends the server and
//! removes its folder. A process that ends normally ends the shell first.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{PeerError, Tried as _};

/// `$1` is the folder, `$2` the file in it whose first line is the server's process id, `$3` the server's name: a
/// process of another name has only inherited the number.
const SCRIPT: &str = r#"
while read -r _; do :; done
pid=$(head -n 1 "$1/$2" 2>/dev/null)
if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$3" ]; then
    kill -QUIT "$pid"
    kill -CONT "$pid"
    for _ in $(seq 200); do
        [ -e "/proc/$pid" ] || break
        sleep 0.1
    done
fi
rm -rf "$1"
"#;

/// A waiting shell; dropping it ends it before it does anything.
pub(crate) struct Guard {
    shell: Child,
}

/// What a guard ends and removes.
pub(crate) struct Watched<'a> {
    /// Removed in the end.
    pub(crate) folder: &'a Path,
    /// Relative to the folder; its first line is the process id.
    pub(crate) pid_file: &'a str,
    /// The process's name as the kernel has it.
    pub(crate) name: &'a str,
}

impl Guard {
    /// Starts one with the rights that `shell` was given.
    pub(crate) fn start(mut shell: Command, watched: &Watched<'_>) -> Result<Self, PeerError> {
        shell.args(["-c", SCRIPT, "guard"]).arg(watched.folder).args([watched.pid_file, watched.name]);
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C must reach only our own process: the guard has work to do just then.
        shell.process_group(0);
        Ok(Self { shell: shell.spawn().tried(|| "start the shell that guards a server".to_owned())? })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _gone = self.shell.kill();
        let _reaped = self.shell.wait();
    }
}
