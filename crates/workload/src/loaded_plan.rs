//! A workload with everything that a run of it reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::connection::TlsFiles;
use crate::data::Table;
use crate::message::Schemas;
use crate::model::{Request, Workload};

/// A plan that can be run.
#[derive(Debug, Clone)]
pub struct LoadedPlan {
    /// The resolved workload.
    pub workload: Workload,
    /// The rows of the data files, by name.
    pub tables: BTreeMap<String, Table>,
    /// The descriptions of gRPC targets.
    pub schemas: Schemas,
    /// The contents of the files in targets' `tls` tables, by target: contain secrets, never to be stored.
    pub tls: BTreeMap<String, TlsFiles>,
    /// The environment variables that the plan uses, with their values: secrets, never to be stored.
    pub env: BTreeMap<String, String>,
}

impl LoadedPlan {
    /// Services that steps call at targets without a description, by target. Their descriptions must come from server
    /// reflection ([`workload::message::reflection`]) before the plan can be run.
    pub fn undescribed(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for step in self.workload.steps() {
            if let Request::Grpc { target, method, .. } = &step.request
                && !self.schemas.describes(target)
            {
                let service = method.split('/').next().unwrap_or_default();
                all.entry(target.clone()).or_default().insert(service.to_owned());
            }
        }
        all
    }
}
