//! The targets against plain clients that share no code with them.

mod client;
mod grpc;
mod hold;
mod http;
