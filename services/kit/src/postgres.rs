//! PostgreSQL as the services use it: connections with timeouts that are made again when they break, TLS or none, and
//! schema migrations by one replica at a time.

mod connect;
mod options;
mod schema;
mod tls;
mod types;

pub use connect::{ConnectError, Connected, Connector, Link, Prepared, Session, connect_with_retry, within};
pub use options::ServerOptions;
pub use schema::{migrate, migrate_for};
pub use types::Stamp;
