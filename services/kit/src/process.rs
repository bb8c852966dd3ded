//! The life of a service's process, the same for every service: it starts, reports that it is ready, serves until a
//! signal, drains, and ends with an exit code.

use std::fmt::Display;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use tokio::runtime::Runtime;

use crate::drain::Signals;
use crate::env::{Env, EnvError};
use crate::probe::{self, NotReady};

/// Why a command failed.
pub type Failure = Box<dyn std::error::Error>;

/// A service that was started.
pub trait Service {
    /// The addresses of its ports, for the line that reports that it is ready.
    fn addresses(&self) -> impl Display;

    /// Returns when it can do its work.
    fn ready(&self) -> impl Future<Output = ()>;

    /// Finishes what is in progress, within its own bounds, and ends.
    fn stop(self) -> impl Future<Output = ()>;
}

/// The exit code of a command: 0 for success, 1 when the process that [`health`] asked is not ready, 2 when the settings,
/// the input, a port or a store cannot be used. The reason goes to standard error.
#[must_use]
pub fn exit(program: &str, outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    let _stderr_closed = writeln!(std::io::stderr(), "{program}: {failure}");
    ExitCode::from(if failure.is::<NotReady>() { 1 } else { 2 })
}

/// Asks the process with this admin port whether it is ready.
///
/// # Errors
/// When it is not, or the address cannot be used.
pub fn health(admin: Result<SocketAddr, EnvError>) -> Result<(), Failure> {
    Ok(probe::ask(admin?)?)
}

/// Writes a command's result to standard output.
///
/// # Errors
/// When standard output is closed.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The runtime, with as many threads as the variable `threads` says: by default one for each processor, up to 4.
///
/// # Errors
/// When the variable cannot be used, or the system refuses a thread.
pub fn runtime(env: &Env, threads: &'static str) -> Result<Runtime, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let workers = env.within(threads, cores.min(4), 1..=64)?;
    let workers = usize::try_from(workers)?;
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?)
}

/// Starts a service, prints `ready` with its addresses once it is, and stops it at the first SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot be started, or standard output is closed.
pub async fn serve<S: Service, E: Into<Failure>>(
    start: impl Future<Output = Result<S, E>>,
) -> Result<(), Failure> {
    let mut signals = Signals::catch()?;
    let service = start.await.map_err(Into::into)?;
    let signal = tokio::select! {
        signal = signals.first() => signal,
        () = service.ready() => {
            let addresses = service.addresses().to_string();
            tracing::info!(addresses, "ready");
            print(&format!("ready {addresses}\n"))?;
            signals.first().await
        }
    };
    tracing::info!(signal, "draining");
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}
