//! One connection to Redis for everything that asks it, remade when it breaks. While it is broken everybody is told so
//! at once instead of waiting.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError, cmd};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const CONNECT_WITHIN: Duration = Duration::from_millis(300);
/// Redis answers from memory; what takes longer is not waited for.
const ANSWER_WITHIN: Duration = Duration::from_millis(150);
/// After a failure nothing is tried for so long.
const PAUSE: Duration = Duration::from_millis(200);

/// Redis does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable;

/// A script by its digest, which every new connection loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptId(usize);

#[derive(Clone)]
struct Live {
    number: u64,
    connection: MultiplexedConnection,
    /// Of this very process of Redis: another one holds nothing of what this one was told.
    run: Arc<str>,
    digests: Arc<[String]>,
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    failed: Option<Instant>,
    connections: u64,
}

/// The connection. Clones share it.
#[derive(Clone)]
pub struct RedisLink {
    client: Client,
    scripts: &'static [&'static str],
    state: Arc<Mutex<State>>,
    connecting: Arc<tokio::sync::Mutex<()>>,
}

impl fmt::Debug for RedisLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisLink")
    }
}

impl RedisLink {
    /// To the Redis at `url`; nothing is connected yet. It runs these scripts and no other.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn new(url: &str) -> Result<Self, RedisError> {
        Ok(Self {
            client: Client::open(url)?,
            scripts: &SCRIPTS,
            state: Arc::default(),
            connecting: Arc::default(),
        })
    }

    /// Whether it answered when last asked. A connection that was never made counts as none.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.lock().live.is_some()
    }

    /// Connects now, if it can be done.
    pub async fn warm_up(&self) {
        self.connect_once().await;
    }

    /// Runs a script. `keys` gets the name of the process of Redis that is asked, which every key must begin with.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        ScriptId(script): ScriptId,
        keys: impl FnOnce(&str) -> Vec<String>,
        arguments: &[&[u8]],
    ) -> Result<T, Unreachable> {
        let live = self.live()?;
        let keys = keys(&live.run);
        let mut command = cmd("EVALSHA");
        command.arg(&live.digests[script]).arg(keys.len()).arg(&keys);
        for argument in arguments {
            command.arg(*argument);
        }
        self.ask(live, &command).await
    }

    async fn ask<T: FromRedisValue>(&self, mut live: Live, command: &Cmd) -> Result<T, Unreachable> {
        match command.query_async(&mut live.connection).await {
            Ok(value) => Ok(value),
            Err(error) => {
                self.give_up((live.number, &error));
                Err(Unreachable)
            }
        }
    }

    fn give_up(&self, (number, error): (u64, &RedisError)) {
        let mut state = self.lock();
        if state.live.as_ref().is_some_and(|live| live.number == number) {
            tracing::warn!(%error, "Redis does not answer; it is done without until it does");
            state.live = None;
            state.failed = Some(Instant::now());
        }
    }

    /// The connection, if there is one. Nobody waits for a new one: it is made beside, for those who come later.
    fn live(&self) -> Result<Live, Unreachable> {
        self.known().unwrap_or_else(|| {
            let link = self.clone();
            tokio::spawn(async move { link.connect_once().await });
            Err(Unreachable)
        })
    }

    /// Makes a connection, unless somebody is at it.
    async fn connect_once(&self) {
        let Ok(_alone) = self.connecting.try_lock() else { return };
        if self.known().is_some() {
            return;
        }
        let made = tokio::time::timeout(2 * CONNECT_WITHIN, self.connect()).await;
        let mut state = self.lock();
        if let Ok(Ok((connection, run, digests))) = made {
            state.connections += 1;
            state.live = Some(Live { number: state.connections, connection, run, digests });
            state.failed = None;
        } else {
            state.failed = Some(Instant::now());
        }
    }

    /// The connection or that there is none now; `None` when one should be made.
    fn known(&self) -> Option<Result<Live, Unreachable>> {
        let state = self.lock();
        match (&state.live, state.failed) {
            (Some(live), _) => Some(Ok(live.clone())),
            (None, Some(at)) if at.elapsed() < PAUSE => Some(Err(Unreachable)),
            (None, _) => None,
        }
    }

    async fn connect(&self) -> Result<(MultiplexedConnection, Arc<str>, Arc<[String]>), RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN));
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let info: String = cmd("INFO").arg("server").query_async(&mut connection).await?;
        let run = info.lines().find_map(|line| line.strip_prefix("run_id:")).unwrap_or("unknown");
        let mut digests = Vec::new();
        for script in self.scripts {
            digests.push(cmd("SCRIPT").arg("LOAD").arg(*script).query_async(&mut connection).await?);
        }
        Ok((connection, run.into(), digests.into()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each at its place.
const SCRIPTS: [&str; 5] = [LOOK_TEXT, ADD_TEXT, CLOSE_TEXT, OPEN_TEXT, TAKE_TEXT];
pub(crate) const LOOK: ScriptId = ScriptId(0);
pub(crate) const ADD: ScriptId = ScriptId(1);
pub(crate) const CLOSE: ScriptId = ScriptId(2);
pub(crate) const OPEN: ScriptId = ScriptId(3);
pub(crate) const TAKE: ScriptId = ScriptId(4);

/// Of each key its ticket, and the answer under a field; what has no ticket gets a new one. Arguments: the field, the
/// new ticket, milliseconds until a key is forgotten.
const LOOK_TEXT: &str = "
    local found = {}
    for place, key in ipairs(KEYS) do
        local ticket = redis.call('HGET', key, 't')
        local answer = false
        if ticket then
            answer = redis.call('HGET', key, 'f' .. ARGV[1])
        else
            ticket = ARGV[2]
            redis.call('HSET', key, 't', ticket)
            redis.call('PEXPIRE', key, ARGV[3])
        end
        found[2 * place - 1] = ticket
        found[2 * place] = answer
    end
    return found";
/// Adds an answer to a key that still has its ticket. Arguments: the field, the ticket, the answer.
const ADD_TEXT: &str = "
    if redis.call('HGET', KEYS[1], 't') == ARGV[2] and redis.call('HLEN', KEYS[1]) < 66 then
        redis.call('HSET', KEYS[1], 'f' .. ARGV[1], ARGV[3])
    end
    return 1";
/// Forgets the keys and gives them a ticket that no answer can be added with. Arguments: that ticket, milliseconds
/// until it is over.
const CLOSE_TEXT: &str = "
    for _, key in ipairs(KEYS) do
        redis.call('DEL', key)
        redis.call('HSET', key, 't', ARGV[1])
        redis.call('PEXPIRE', key, ARGV[2])
    end
    return 1";
/// Forgets the keys, but for those that another write has closed since. Arguments: our ticket.
const OPEN_TEXT: &str = "
    for _, key in ipairs(KEYS) do
        local ticket = redis.call('HGET', key, 't')
        if not ticket or ticket == ARGV[1] or string.sub(ticket, 1, 1) ~= '!' then
            redis.call('DEL', key)
        end
    end
    return 1";
/// As `limiter::window`, by the clock of Redis; what was counted before that was set back counts as of now. Arguments:
/// calls in a window, milliseconds of a step, steps. Returns 0, or after how many milliseconds another call will be
/// counted.
const TAKE_TEXT: &str = "
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local max, step, steps = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local current = math.floor(now / step)
    local sum, late, oldest, gone = 0, 0, nil, {}
    local held = redis.call('HGETALL', KEYS[1])
    for place = 1, #held, 2 do
        local at, count = tonumber(held[place]), tonumber(held[place + 1])
        if at <= current - steps then
            gone[#gone + 1] = held[place]
        elseif at > current then
            gone[#gone + 1] = held[place]
            late = late + count
        else
            sum = sum + count
            if not oldest or at < oldest then oldest = at end
        end
    end
    sum = sum + late
    if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
    local more = late
    if sum < max then more = late + 1 end
    if more > 0 then
        redis.call('HINCRBY', KEYS[1], string.format('%d', current), more)
        redis.call('PEXPIRE', KEYS[1], step * (steps + 1))
    end
    if sum < max then
        return 0
    end
    return math.max(1, ((oldest or current) + steps) * step - now)";
