//! PostgreSQL as the services use it: connections made within bounds and remade when they break, TLS or none, schemas
//! that replicas bring up to date one at a time.

mod connect;
mod options;
mod schema;
mod types;

pub use connect::{ConnectError, Connected, Connector, Link, Prepared, Session, connect_with_retry, within};
pub use options::ServerOptions;
pub use schema::migrate;
pub use types::Stamp;
