//! A connection whose replies are bounded: the client's own would read as much as a server sends.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ::redis::{
    Client, Cmd, ConnectionAddr, ConnectionLike, ErrorKind, Parser, RedisError, RedisResult, Value, cmd,
};

/// The longest reply that is read. `INFO ALL` of large servers has a tenth of it.
const MOST_BYTES: u64 = 1 << 20;

/// A connection that queries one command at a time.
pub(super) struct BoundedConnection {
    stream: Box<dyn Stream>,
    parser: Parser,
    patience: Duration,
    db: i64,
    is_open: bool,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

impl BoundedConnection {
    /// Connects to the server at `url` and authenticates; connecting, and each wait for a reply, may take `patience`.
    pub(super) fn open(url: &str, patience: Duration) -> RedisResult<BoundedConnection> {
        let client = Client::open(url)?;
        let info = client.get_connection_info();
        let (stream, server) = (connect(info.addr(), patience)?, info.redis_settings());
        let mut connection =
            BoundedConnection { stream, parser: Parser::new(), patience, db: server.db(), is_open: true };
        if let Some(password) = server.password() {
            let mut auth = cmd("AUTH");
            auth.arg(server.username()).arg(password).exec(&mut connection)?;
        }
        if server.db() != 0 {
            cmd("SELECT").arg(server.db()).exec(&mut connection)?;
        }
        Ok(connection)
    }
}

fn connect(address: &ConnectionAddr, patience: Duration) -> RedisResult<Box<dyn Stream>> {
    match address {
        ConnectionAddr::Tcp(host, port) => {
            let mut failure = io::Error::from(io::ErrorKind::NotFound);
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, patience) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_read_timeout(Some(patience))?;
                        stream.set_write_timeout(Some(patience))?;
                        return Ok(Box::new(stream));
                    }
                    Err(error) => failure = error,
                }
            }
            Err(failure.into())
        }
        ConnectionAddr::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(patience))?;
            Ok(Box::new(stream))
        }
        _ => {
            Err(RedisError::from((ErrorKind::InvalidClientConfig, "only TCP and Unix sockets are supported")))
        }
    }
}

impl ConnectionLike for BoundedConnection {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        let until = Instant::now() + self.patience;
        let reply = self.stream.write_all(command).map_err(RedisError::from).and_then(|()| {
            self.parser.parse_value(BoundedReply { stream: &mut *self.stream, left: MOST_BYTES, until })
        });
        // What follows a reply that was not read to its end is not the next one.
        self.is_open &= reply.is_ok();
        reply
    }

    fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
        Err(RedisError::from((ErrorKind::Client, "commands are sent one at a time")))
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.req_packed_command(&command.get_packed_command())
    }

    fn get_db(&self) -> i64 {
        self.db
    }

    fn check_connection(&mut self) -> bool {
        self.is_open
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

/// Reads one reply, up to the limits of size and time: a server may send a byte now and then for ever.
struct BoundedReply<'a> {
    stream: &'a mut dyn Stream,
    left: u64,
    until: Instant,
}

impl Read for BoundedReply<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(format!("it answers with more than {MOST_BYTES} bytes")));
        }
        if Instant::now() > self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let read = self.stream.take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_is_not_over_in_time_is_not_read_to_its_end() {
        let (mut stream, mut server) = UnixStream::pair().unwrap();
        server.write_all(b"+PONG\r\n").unwrap();
        let until = Instant::now() - Duration::from_millis(1);
        let late = Parser::new().parse_value(BoundedReply { stream: &mut stream, left: MOST_BYTES, until });
        assert!(late.unwrap_err().is_timeout());
        let until = Instant::now() + Duration::from_secs(3_600);
        let reply = Parser::new().parse_value(BoundedReply { stream: &mut stream, left: MOST_BYTES, until });
        assert_eq!(reply.unwrap(), Value::SimpleString("PONG".to_owned()));
    }
}
