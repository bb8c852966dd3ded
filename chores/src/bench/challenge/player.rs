//! A player's plain HTTP connection: for reading the data after a run, not for load.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// One kept connection to the players' port.
pub(super) struct Player {
    address: String,
    connection: BufReader<TcpStream>,
}

impl Player {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// When nothing listens there.
    pub(super) fn connect(address: &str) -> Result<Self> {
        let connection = TcpStream::connect(address).with_context(|| format!("cannot reach {address}"))?;
        connection.set_read_timeout(Some(PATIENCE)).context("cannot bound the wait")?;
        connection.set_nodelay(true).context("cannot send at once")?;
        Ok(Self { address: address.to_owned(), connection: BufReader::new(connection) })
    }

    /// The body of a response, whose status must be 200.
    ///
    /// # Errors
    /// When it is another.
    pub(super) fn request(&mut self, method: &str, path: &str, user: &str) -> Result<Vec<u8>> {
        let request = format!(
            "{method} /challenge/v1/{path} HTTP/1.1\r\nHost: {}\r\nx-mock-user-id: {user}\r\n\
             Content-Length: 0\r\n\r\n",
            self.address
        );
        self.connection.get_mut().write_all(request.as_bytes()).context("cannot send the request")?;
        let status = self.line()?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            length = content_length(&line).unwrap_or(length);
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).context("the response was cut off")?;
        ensure!(status.starts_with("HTTP/1.1 200"), "{method} {path} of {user} gave {status}");
        Ok(body)
    }

    /// The progress of one goal, as `initialize` returns it.
    ///
    /// # Errors
    /// When the goal is not among the user's.
    pub(super) fn progress(&mut self, user: &str, goal: &str) -> Result<u64> {
        let body = self.request("POST", "challenges/initialize", user)?;
        let response: Value = serde_json::from_slice(&body).context("the response is no JSON")?;
        let goals = response["assignedGoals"].as_array().into_iter().flatten();
        let row = goals.into_iter().find(|row| row["goalId"] == goal);
        row.and_then(|row| row["progress"].as_u64()).with_context(|| format!("{user} has no goal {goal}"))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.connection.read_line(&mut line).context("the response was cut off")?;
        ensure!(read > 0, "the connection was closed");
        Ok(line.trim_end().to_owned())
    }
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn responses_are_read_by_their_length_and_the_connection_is_reused() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the system has a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the player connects");
            let mut request = [0; 512];
            let body = r#"{"assignedGoals":[{"goalId":"g","progress":7}]}"#;
            for status in ["200 OK", "503 Service Unavailable"] {
                assert!(stream.read(&mut request).expect("a request") > 0);
                let length = body.len();
                write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").expect("sent");
            }
        });
        let mut player = Player::connect(&address).expect("it listens");
        assert_eq!(player.progress("a", "g").expect("it has it"), 7);
        let refused = player.progress("a", "g").expect_err("503").to_string();
        assert_eq!(refused, "POST challenges/initialize of a gave HTTP/1.1 503 Service Unavailable");
        server.join().expect("it ends");
    }

    #[test]
    fn header_names_are_read_in_any_case() {
        assert_eq!(content_length("CONTENT-length: 12"), Some(12));
        assert_eq!(content_length("content-type: json"), None);
    }
}
