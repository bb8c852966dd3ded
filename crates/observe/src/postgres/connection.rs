//! A connection whose answers are bounded: the driver's own would read as much as a server sends.

use std::future::Future;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Runtime;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Error, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::rows::Rows;

/// The most that is read of one answer, to all statements of a transaction.
const MOST_BYTES: usize = 8 << 20;
/// The most rows of one answer.
const MOST_ROWS: usize = 100_000;
/// What a connection reads beside rows. The driver keeps some of it, such as parameters of the session.
const MOST_OTHER_BYTES: usize = 4 << 20;

/// How long the answer to all statements of a transaction may take. The server ends each of them earlier, and says why.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why an answer is missing.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    #[error(transparent)]
    Driver(#[from] Error),
    #[error("{0}")]
    Connect(#[from] io::Error),
    #[error("it did not answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("it answers with more than {MOST_ROWS} rows")]
    TooManyRows,
}

pub(super) struct BoundedConnection {
    runtime: Runtime,
    client: Client,
    /// None once it has ended.
    driver: Option<Driver>,
    allowance: Allowance,
    other_bytes: usize,
}

type Driver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl BoundedConnection {
    /// Connects to the first of the hosts in `config` that accepts, and begins a session, each within `patience`.
    pub(super) fn open(
        config: &Config,
        tls: MakeRustlsConnect,
        patience: Duration,
    ) -> Result<BoundedConnection, AnswerError> {
        let (names, addresses) = (config.get_hosts(), config.get_hostaddrs());
        let mut failure = io::Error::new(io::ErrorKind::InvalidInput, "its URL names no host").into();
        for index in 0..names.len().max(addresses.len()) {
            let ports = config.get_ports();
            let place = ServerPlace {
                name: names.get(index),
                address: addresses.get(index).map(ToString::to_string),
                port: ports.get(index).or(ports.first()).copied().unwrap_or(5432),
            };
            let opened = open_at(&place, config, tls.clone(), patience);
            match opened.and_then(|connection| connection.with(config.get_target_session_attrs())) {
                Ok(connection) => return Ok(connection),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Whether it has read so much that another should take its place.
    pub(super) fn is_used_up(&self) -> bool {
        self.other_bytes > MOST_OTHER_BYTES
    }

    /// The rows of each statement of `sql`, in order.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Rows>, AnswerError> {
        self.allowance.renew();
        let (mut answers, mut rows, mut row_bytes) = (Vec::new(), Rows::new(), 0);
        let (runtime, client, driver) = (&self.runtime, &self.client, &mut self.driver);
        let answered = driven(driver, async {
            let mut count = 0;
            let mut messages = pin!(client.simple_query_raw(sql).await?);
            while let Some(message) = messages.try_next().await? {
                count += 1;
                if count > MOST_ROWS {
                    return Err(AnswerError::TooManyRows);
                }
                match message {
                    SimpleQueryMessage::Row(row) => {
                        let values = (0..row.len()).map(|column| row.get(column).map(str::to_owned));
                        let values: Vec<Option<String>> = values.collect();
                        row_bytes +=
                            values.iter().flatten().fold(7 + 4 * values.len(), |sum, v| sum + v.len());
                        rows.push(values);
                    }
                    SimpleQueryMessage::CommandComplete(_) => answers.push(std::mem::take(&mut rows)),
                    _ => {}
                }
            }
            Ok(())
        });
        runtime.block_on(within(PATIENCE, answered))?;
        self.other_bytes += self.allowance.used().saturating_sub(row_bytes);
        Ok(answers)
    }

    /// Itself, if the server may be written to or not, as `wanted`.
    fn with(mut self, wanted: TargetSessionAttrs) -> Result<BoundedConnection, AnswerError> {
        let wanted = match wanted {
            TargetSessionAttrs::ReadWrite => "off",
            TargetSessionAttrs::ReadOnly => "on",
            _ => return Ok(self),
        };
        let answers = self.query("SHOW transaction_read_only")?;
        let found = answers.first().and_then(|rows| rows.first()?.first()?.as_deref());
        if found == Some(wanted) {
            Ok(self)
        } else {
            Err(io::Error::other("the session is not as the URL asks for it").into())
        }
    }
}

/// Runs `answer`, whose server may never give it.
async fn within<T, E>(
    patience: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, AnswerError>
where
    AnswerError: From<E>,
{
    let answered = tokio::time::timeout(patience, answer).await;
    Ok(answered.map_err(|_| AnswerError::Late(patience))??)
}

/// Runs `query` and the connection that carries it, whose own error says more.
async fn driven<T>(
    driver: &mut Option<Driver>,
    query: impl Future<Output = Result<T, AnswerError>>,
) -> Result<T, AnswerError> {
    let mut query = pin!(query);
    if let Some(running) = driver {
        let ended = tokio::select! {
            biased;
            answer = &mut query => return answer,
            ended = running => ended,
        };
        *driver = None;
        ended?;
    }
    query.await
}

/// One of the places that a URL names.
struct ServerPlace<'a> {
    name: Option<&'a Host>,
    address: Option<String>,
    port: u16,
}

fn open_at(
    place: &ServerPlace<'_>,
    config: &Config,
    mut tls: MakeRustlsConnect,
    patience: Duration,
) -> Result<BoundedConnection, AnswerError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let allowance = Allowance::new();
    let (client, driver) = runtime.block_on(async {
        let mut config = config.clone();
        let (socket, name): (Box<dyn Socket>, &str) = match (place.name, &place.address) {
            (Some(Host::Unix(folder)), None) => {
                // There is no TLS over Unix sockets.
                config.ssl_mode(SslMode::Disable);
                (Box::new(connect_unix(folder, place.port)?), "")
            }
            (Some(Host::Tcp(name)), address) => {
                (Box::new(connect_tcp(address.as_ref().unwrap_or(name), place.port, patience)?), name)
            }
            (_, Some(address)) => (Box::new(connect_tcp(address, place.port, patience)?), address),
            (_, None) => return Err(io::Error::from(io::ErrorKind::NotFound).into()),
        };
        let tls = MakeTlsConnect::<Bounded>::make_tls_connect(&mut tls, name);
        let tls = tls.map_err(|error| io::Error::other(error.to_string()))?;
        let bounded = Bounded { socket, allowance: allowance.clone() };
        let (client, driver) = within(patience, config.connect_raw(bounded, tls)).await?;
        Ok::<_, AnswerError>((client, Box::pin(driver) as Driver))
    })?;
    let other_bytes = allowance.used();
    Ok(BoundedConnection { runtime, client, driver: Some(driver), allowance, other_bytes })
}

/// What is sent and not acknowledged for so long ends the connection.
#[cfg(target_os = "linux")]
fn limit_silence(stream: &TcpStream, patience: Duration) -> io::Result<()> {
    let patience_ms = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, patience_ms)?)
}

/// This system has its own limit.
#[cfg(not(target_os = "linux"))]
fn limit_silence(_stream: &TcpStream, _patience: Duration) -> io::Result<()> {
    Ok(())
}

fn connect_tcp(host: &str, port: u16, patience: Duration) -> io::Result<tokio::net::TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                limit_silence(&stream, patience)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                return tokio::net::TcpStream::from_std(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn connect_unix(folder: &Path, port: u16) -> io::Result<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")))?;
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

/// How many bytes may be read until the next query.
#[derive(Debug, Clone)]
struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    fn new() -> Allowance {
        Allowance(Arc::new(AtomicUsize::new(MOST_BYTES)))
    }

    fn renew(&self) {
        self.0.store(MOST_BYTES, Ordering::Relaxed);
    }

    fn used(&self) -> usize {
        MOST_BYTES.saturating_sub(self.0.load(Ordering::Relaxed))
    }
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// A socket of which no more is read than allowed.
struct Bounded {
    socket: Box<dyn Socket>,
    allowance: Allowance,
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.allowance.0.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Ready(Err(io::Error::other(format!(
                "it answers with more than {MOST_BYTES} bytes"
            ))));
        }
        let before = out.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, out);
        let read_bytes = out.filled().len() - before;
        self.allowance.0.store(left.saturating_sub(read_bytes), Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
