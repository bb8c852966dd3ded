//! A program that was built without PostgreSQL: its settings name no server, so that there is no such store.

use std::sync::Arc;

use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::postgres::ConnectError;

use super::claims::{ClaimIntent, OpenClaims};
use super::command::Command;
use super::{PostgresOptions, StoreError};
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::user::UserId;

/// A store in PostgreSQL: there is none.
pub(super) enum Postgres {}

impl Postgres {
    pub(super) async fn open(
        options: &PostgresOptions,
        _reads: Limit,
        _catalog: Arc<Catalog>,
        _metrics: &Metrics,
    ) -> Result<Self, ConnectError> {
        match options.server {}
    }

    pub(super) async fn user(&self, _user: &UserId) -> Result<UserGoals, StoreError> {
        match *self {}
    }

    pub(super) async fn open_claims(&self, _which: OpenClaims) -> Result<Vec<ClaimIntent>, StoreError> {
        match *self {}
    }

    pub(super) fn probe(&self) -> Result<(), StoreError> {
        match *self {}
    }

    pub(super) fn send(&self, _command: Command) -> Result<(), StoreError> {
        match *self {}
    }

    pub(super) async fn close(&self) {
        match *self {}
    }
}
