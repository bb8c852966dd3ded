//! The command as a stranger uses it: the real binary, real targets, exit codes, texts and files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adhoc;
mod adhoc_connections;
mod adhoc_options;
mod archives;
mod check;
mod command;
mod compare;
mod explain;
mod hostile_text;
mod identity;
mod imports;
mod integrity;
mod k6_bad_input;
mod k6_http;
mod k6_network;
mod k6_parts;
mod k6_scripts;
mod kept_files;
mod load;
mod memory;
mod monitoring;
mod once;
mod one_number;
mod plans;
mod preparation;
mod profile_files;
mod profiles;
mod progress;
mod quick;
mod received;
mod reflection;
mod reports;
mod secret_places;
mod secrets;
mod selftest;
mod signals;
mod stop_rules;
mod terminal;
mod tls;
mod tonic_peer;
mod trouble;
mod until_decided;
mod watching;
