//! A game's reward service: it grants once for each key, notes every request, and misbehaves as told.

use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What is done with a request. What is not told is granted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Answers this status (and `Retry-After`, in seconds) and grants nothing.
    Say(u16, Option<u32>),
    /// Ends the connection, having granted nothing.
    ResetUnheard,
    /// Grants, and ends the connection without an answer.
    ResetGranted,
    /// Grants, and answers when released.
    HoldGranted,
    /// Grants nothing, and answers an error when released.
    HoldUnheard,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

#[derive(Default)]
struct State {
    acts: VecDeque<Act>,
    asked: Vec<Asked>,
    /// How often each key was asked for since it was granted, the grant included.
    granted: BTreeMap<String, usize>,
    /// Answered for a key that was granted before.
    again: u16,
}

#[derive(Clone)]
pub(crate) struct RewardServer {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    release: Arc<Notify>,
}

impl RewardServer {
    pub(crate) async fn start(acts: &[Act]) -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").await.unwrap(), acts)
    }

    pub(crate) fn start_on(socket: TcpListener, acts: &[Act]) -> Self {
        let state = State { acts: acts.iter().copied().collect(), again: 200, ..State::default() };
        let (state, release) = (Arc::new(Mutex::new(state)), Arc::new(Notify::new()));
        let server = Self { address: socket.local_addr().unwrap(), state, release };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                let server = serving.clone();
                tokio::spawn(async move { server.converse(stream).await });
            }
        });
        server
    }

    /// What it answers for a key that was granted before, instead of 200.
    pub(crate) fn say_again(&self, status: u16) {
        self.state.lock().unwrap().again = status;
    }

    /// Lets one answer go that is held.
    pub(crate) fn release(&self) {
        self.release.notify_one();
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    pub(crate) fn attempts(&self) -> usize {
        self.state.lock().unwrap().asked.len()
    }

    /// The keys that were granted.
    pub(crate) fn granted(&self) -> Vec<String> {
        self.state.lock().unwrap().granted.keys().cloned().collect()
    }

    /// The settings of a service that has its rewards here, with little patience.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("REWARD_URL", format!("http://{}/v1/grants", self.address)),
            ("REWARD_TOKEN", "the-reward-token".to_owned()),
            ("REWARD_TIMEOUT_MS", "500".to_owned()),
        ]
    }

    async fn converse(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(asked) = read(&mut stream).await {
            let Some(answer) = self.act(asked).await else {
                // A reset instead of an orderly end.
                stream.get_ref().set_zero_linger().unwrap();
                return;
            };
            if stream.get_mut().write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn act(&self, asked: Asked) -> Option<String> {
        let key = asked.headers["idempotency-key"].clone();
        let act = {
            let mut state = self.state.lock().unwrap();
            state.asked.push(asked);
            state.acts.pop_front()
        };
        match act {
            Some(Act::Say(status, retry_after)) => Some(answer(status, retry_after)),
            Some(Act::ResetUnheard) => None,
            Some(Act::ResetGranted) => {
                self.grant(key);
                None
            }
            Some(Act::HoldGranted) => {
                let status = self.grant(key);
                self.release.notified().await;
                Some(answer(status, None))
            }
            Some(Act::HoldUnheard) => {
                self.release.notified().await;
                Some(answer(500, None))
            }
            None => Some(answer(self.grant(key), None)),
        }
    }

    fn grant(&self, key: String) -> u16 {
        let mut state = self.state.lock().unwrap();
        let times = state.granted.entry(key).or_default();
        *times += 1;
        if *times == 1 { 200 } else { state.again }
    }
}

fn answer(status: u16, retry_after: Option<u32>) -> String {
    let wait = retry_after.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default();
    format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 2\r\n{wait}\r\n{{}}")
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: BTreeMap<String, String> = lines[1..]
        .iter()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked { line: lines[0].clone(), headers, body: serde_json::from_slice(&body).unwrap() })
}
