//! One shared connection to Redis. A broken connection is replaced in the background; meanwhile commands fail at once
//! instead of waiting.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionAddr, FromRedisValue, RedisError, cmd};

/// The beginning of every key. In a Redis Cluster its hash tag puts all keys on one node, to which the link connects.
pub(crate) const TAG: &str = "{listings}";
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// Redis answers from memory; a slower answer counts as none.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(150);
/// The pause between a failure and the next attempt to connect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// Redis does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisUnreachable;

/// A script, by its index in [`SCRIPTS`]; every new connection loads them all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptId(usize);

#[derive(Clone)]
struct LiveConnection {
    /// Distinguishes this connection from earlier ones.
    number: u64,
    connection: MultiplexedConnection,
    /// The `run_id` of the Redis process: after a restart, Redis may have old data or none.
    run_id: Arc<str>,
    digests: Arc<[String]>,
}

struct NewConnection {
    connection: MultiplexedConnection,
    run_id: Arc<str>,
    digests: Arc<[String]>,
}

#[derive(Default)]
struct LinkState {
    live: Option<LiveConnection>,
    failed_at: Option<Instant>,
    connections: u64,
}

/// The connection. Clones share it.
#[derive(Clone)]
pub struct RedisLink {
    client: Arc<Client>,
    scripts: &'static [&'static str],
    state: Arc<Mutex<LinkState>>,
    connecting: Arc<tokio::sync::Mutex<()>>,
}

impl fmt::Debug for RedisLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisLink")
    }
}

impl RedisLink {
    /// A link to the Redis at `url`; it does not connect yet.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn new(url: &str) -> Result<Self, RedisError> {
        Ok(Self {
            client: Arc::new(Client::open(url)?),
            scripts: &SCRIPTS,
            state: Arc::default(),
            connecting: Arc::default(),
        })
    }

    /// Whether there is a connection and its last command succeeded.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.lock().live.is_some()
    }

    /// Tries to connect now.
    pub async fn warm_up(&self) {
        self.connect_once().await;
    }

    /// Runs a script. `keys` gets the run id of the Redis process, which every key must contain.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        ScriptId(script): ScriptId,
        keys: impl FnOnce(&str) -> Vec<String>,
        arguments: &[&[u8]],
    ) -> Result<T, RedisUnreachable> {
        let live = self.connection()?;
        let keys = keys(&live.run_id);
        let mut command = cmd("EVALSHA");
        command.arg(&live.digests[script]).arg(keys.len()).arg(&keys);
        for argument in arguments {
            command.arg(*argument);
        }
        self.query(live, &command).await
    }

    async fn query<T: FromRedisValue>(
        &self,
        mut live: LiveConnection,
        command: &Cmd,
    ) -> Result<T, RedisUnreachable> {
        match command.query_async(&mut live.connection).await {
            Ok(value) => Ok(value),
            Err(error) => {
                self.disconnect(live.number, &error);
                Err(RedisUnreachable)
            }
        }
    }

    fn disconnect(&self, number: u64, error: &RedisError) {
        let mut state = self.lock();
        if state.live.as_ref().is_some_and(|live| live.number == number) {
            tracing::warn!(%error, "Redis does not answer; the service continues without it");
            state.live = None;
            state.failed_at = Some(Instant::now());
        }
    }

    /// The connection, if there is one. Otherwise a new one is made in the background, for later commands.
    fn connection(&self) -> Result<LiveConnection, RedisUnreachable> {
        self.current().unwrap_or_else(|| {
            let link = self.clone();
            tokio::spawn(async move { link.connect_once().await });
            Err(RedisUnreachable)
        })
    }

    /// Connects, unless another task is already connecting.
    async fn connect_once(&self) {
        let Ok(_only_attempt) = self.connecting.try_lock() else { return };
        if self.current().is_some() {
            return;
        }
        let made = tokio::time::timeout(2 * CONNECT_TIMEOUT, self.connect()).await;
        let mut state = self.lock();
        if let Ok(Ok(NewConnection { connection, run_id, digests })) = made {
            state.connections += 1;
            state.live = Some(LiveConnection { number: state.connections, connection, run_id, digests });
            state.failed_at = None;
        } else {
            state.failed_at = Some(Instant::now());
        }
    }

    /// The connection, or an error during the pause after a failure; `None` when it is time to connect.
    fn current(&self) -> Option<Result<LiveConnection, RedisUnreachable>> {
        let state = self.lock();
        match (&state.live, state.failed_at) {
            (Some(live), _) => Some(Ok(live.clone())),
            (None, Some(at)) if at.elapsed() < RECONNECT_PAUSE => Some(Err(RedisUnreachable)),
            (None, _) => None,
        }
    }

    async fn connect(&self) -> Result<NewConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(ANSWER_TIMEOUT));
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        if let Err(error) = cmd("EXISTS").arg(TAG).query_async::<i64>(&mut connection).await {
            let moved_to = error.redirect_node().and_then(|(address, _slot)| address.rsplit_once(':'));
            let (host, port) = moved_to.ok_or_else(|| error.clone())?;
            let node = self.at(host, port.parse().map_err(|_| error.clone())?)?;
            connection = node.get_multiplexed_async_connection_with_config(&config).await?;
        }
        let info: String = cmd("INFO").arg("server").query_async(&mut connection).await?;
        let run_id = info.lines().find_map(|line| line.strip_prefix("run_id:")).unwrap_or("unknown");
        let mut digests = Vec::new();
        for script in self.scripts {
            digests.push(cmd("SCRIPT").arg("LOAD").arg(*script).query_async(&mut connection).await?);
        }
        Ok(NewConnection { connection, run_id: run_id.into(), digests: digests.into() })
    }

    /// A client of another node of the same cluster.
    fn at(&self, host: &str, port: u16) -> Result<Client, RedisError> {
        let info = self.client.get_connection_info().clone();
        let address = match info.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: host.to_owned(),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.to_owned(), port),
        };
        Client::open(info.set_addr(address))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The scripts, by [`ScriptId`].
const SCRIPTS: [&str; 5] = [LOOK_UP_TEXT, ADD_TEXT, CLOSE_TEXT, OPEN_TEXT, COUNT_CALL_TEXT];
pub(crate) const LOOK_UP: ScriptId = ScriptId(0);
pub(crate) const ADD: ScriptId = ScriptId(1);
pub(crate) const CLOSE: ScriptId = ScriptId(2);
pub(crate) const OPEN: ScriptId = ScriptId(3);
pub(crate) const COUNT_CALL: ScriptId = ScriptId(4);

/// Returns for each key its token and the answer in a field; a key without a token gets the new one. Arguments: the
/// field, the new token, milliseconds until a new key expires.
const LOOK_UP_TEXT: &str = "
    local found = {}
    for index, key in ipairs(KEYS) do
        local token = redis.call('HGET', key, 't')
        local answer = false
        if token then
            answer = redis.call('HGET', key, 'f' .. ARGV[1])
        else
            token = ARGV[2]
            redis.call('HSET', key, 't', token)
            redis.call('PEXPIRE', key, ARGV[3])
        end
        found[2 * index - 1] = token
        found[2 * index] = answer
    end
    return found";
/// Adds an answer to a key that still has this token, in the place of another where there are many. Arguments: the field, the token, the answer.
const ADD_TEXT: &str = "
    if redis.call('HGET', KEYS[1], 't') == ARGV[2] then
        local other = redis.call('HLEN', KEYS[1]) > 64 and redis.call('HRANDFIELD', KEYS[1])
        if other and other ~= 't' then redis.call('HDEL', KEYS[1], other) end
        redis.call('HSET', KEYS[1], 'f' .. ARGV[1], ARGV[3])
    end
    return 1";
/// Discards the answers of the keys and gives the keys a closing token, with which no answer can be added. Arguments:
/// the closing token, milliseconds until it expires.
const CLOSE_TEXT: &str = "
    for _, key in ipairs(KEYS) do
        redis.call('DEL', key)
        redis.call('HSET', key, 't', ARGV[1])
        redis.call('PEXPIRE', key, ARGV[2])
    end
    return 1";
/// Deletes the keys, except those that another write has closed since. Arguments: the closing token of this write.
const OPEN_TEXT: &str = "
    for _, key in ipairs(KEYS) do
        local token = redis.call('HGET', key, 't')
        if not token or token == ARGV[1] or string.sub(token, 1, 1) ~= '!' then
            redis.call('DEL', key)
        end
    end
    return 1";
/// The sliding window of `limiter::window`, by the clock of Redis. Calls counted in the future, before the clock was
/// set back, count as of now. Arguments: calls in a window, milliseconds of a step, steps. Returns 0, or after how many
/// milliseconds another call will be admitted.
const COUNT_CALL_TEXT: &str = "
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local max, step, steps = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local current = math.floor(now / step)
    local sum, future, oldest, expired = 0, 0, nil, {}
    local fields = redis.call('HGETALL', KEYS[1])
    for index = 1, #fields, 2 do
        local at, count = tonumber(fields[index]), tonumber(fields[index + 1])
        if at <= current - steps then
            expired[#expired + 1] = fields[index]
        elseif at > current then
            expired[#expired + 1] = fields[index]
            future = future + count
        else
            sum = sum + count
            if not oldest or at < oldest then oldest = at end
        end
    end
    sum = sum + future
    if #expired > 0 then redis.call('HDEL', KEYS[1], unpack(expired)) end
    local more = future
    if sum < max then more = future + 1 end
    if more > 0 then
        redis.call('HINCRBY', KEYS[1], string.format('%d', current), more)
        redis.call('PEXPIRE', KEYS[1], step * (steps + 1))
    end
    if sum < max then
        return 0
    end
    return math.max(1, ((oldest or current) + steps) * step - now)";
