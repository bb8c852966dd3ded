//! A game's reward service: it grants once for each key, records every request, and fails in configured ways.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How the service handles a request; the default is to grant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RewardReaction {
    /// Answers with this status (and `Retry-After`, in seconds) and grants nothing.
    Refuse(u16, Option<u32>),
    /// Grants nothing, and resets the connection.
    ResetUngranted,
    /// Grants, and resets the connection without an answer.
    ResetGranted,
    /// Grants, and answers when released.
    HoldGranted,
    /// Grants nothing, and answers with an error when released.
    HoldUngranted,
}

/// A request that was received.
#[derive(Debug, Clone)]
pub(crate) struct RewardRequest {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

#[derive(Default)]
struct State {
    reactions: VecDeque<RewardReaction>,
    requests: Vec<RewardRequest>,
    /// How often each granted key was requested, the grant included.
    granted: BTreeMap<String, usize>,
    /// The status for a key that was granted before.
    repeated_status: u16,
}

#[derive(Clone)]
pub(crate) struct RewardServer {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    release: Arc<Notify>,
}

impl RewardServer {
    pub(crate) async fn start(reactions: &[RewardReaction]) -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").await.unwrap(), reactions)
    }

    pub(crate) fn start_on(socket: TcpListener, reactions: &[RewardReaction]) -> Self {
        let reactions = reactions.iter().copied().collect();
        let state = State { reactions, repeated_status: 200, ..State::default() };
        let (state, release) = (Arc::new(Mutex::new(state)), Arc::new(Notify::new()));
        let server = Self { address: socket.local_addr().unwrap(), state, release };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                let server = serving.clone();
                tokio::spawn(async move { server.serve(stream).await });
            }
        });
        server
    }

    /// Sets the status for a key that was granted before, instead of 200.
    pub(crate) fn set_repeated_status(&self, status: u16) {
        self.state.lock().unwrap().repeated_status = status;
    }

    /// Sends one held answer.
    pub(crate) fn release(&self) {
        self.release.notify_one();
    }

    pub(crate) fn requests(&self) -> Vec<RewardRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(crate) fn attempts(&self) -> usize {
        self.state.lock().unwrap().requests.len()
    }

    /// The keys that were granted.
    pub(crate) fn granted(&self) -> Vec<String> {
        self.state.lock().unwrap().granted.keys().cloned().collect()
    }

    /// The settings of a service that uses this server, with a short timeout.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("REWARD_URL", format!("http://{}/v1/grants", self.address)),
            ("REWARD_TOKEN", "the-reward-token".to_owned()),
            ("REWARD_TIMEOUT_MS", "500".to_owned()),
        ]
    }

    async fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read(&mut stream).await {
            let Some(answer) = self.react(request).await else {
                // A reset instead of an orderly close.
                stream.get_ref().set_zero_linger().unwrap();
                return;
            };
            if stream.get_mut().write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn react(&self, request: RewardRequest) -> Option<String> {
        let key = request.headers["idempotency-key"].clone();
        let reaction = {
            let mut state = self.state.lock().unwrap();
            state.requests.push(request);
            state.reactions.pop_front()
        };
        match reaction {
            Some(RewardReaction::Refuse(status, retry_after)) => Some(answer(status, retry_after)),
            Some(RewardReaction::ResetUngranted) => None,
            Some(RewardReaction::ResetGranted) => {
                self.grant(key);
                None
            }
            Some(RewardReaction::HoldGranted) => {
                let status = self.grant(key);
                self.release.notified().await;
                Some(answer(status, None))
            }
            Some(RewardReaction::HoldUngranted) => {
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
        if *times == 1 { 200 } else { state.repeated_status }
    }
}

fn answer(status: u16, retry_after: Option<u32>) -> String {
    let wait = retry_after.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default();
    format!("HTTP/1.1 {status} Status\r\ncontent-length: 2\r\n{wait}\r\n{{}}")
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<RewardRequest> {
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
    Some(RewardRequest { line: lines[0].clone(), headers, body: serde_json::from_slice(&body).unwrap() })
}
