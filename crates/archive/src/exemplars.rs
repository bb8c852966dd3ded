//! Which exchanges stay in the file: the first failures of each endpoint and outcome, and the single
//! slowest of each endpoint and phase.

use std::collections::HashMap;

use evidence::exemplar::EXEMPLARS_PER_OUTCOME;
use evidence::{Exemplar, ExemplarKind, Name, Outcome};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::load;
use crate::seal::whole;

/// An endpoint of a scenario.
type Endpoint = (Name, Name);

/// What was kept so far; as large as the workload has endpoints, outcomes and phases, never as the run is long.
#[derive(Debug, Default)]
pub(crate) struct Shortlist {
    failed: HashMap<(Endpoint, Outcome), usize>,
    slowest: HashMap<(Endpoint, Name), Slowest>,
    rows: i64,
}

#[derive(Debug)]
struct Slowest {
    row: i64,
    response_time_ns: u64,
}

impl Shortlist {
    /// The row that `exemplar` belongs into, which may replace the one there; none when it is not kept.
    fn row_of(&mut self, exemplar: &Exemplar) -> Option<i64> {
        let endpoint = (exemplar.scenario.clone(), exemplar.endpoint.clone());
        match exemplar.kind {
            ExemplarKind::Failed => {
                let kept = self.failed.entry((endpoint, exemplar.outcome)).or_default();
                if *kept == EXEMPLARS_PER_OUTCOME {
                    return None;
                }
                *kept += 1;
                Some(self.new_row())
            }
            ExemplarKind::Slowest => {
                let of_phase = (endpoint, exemplar.phase.clone());
                let response_time_ns = exemplar.response_time_ns;
                let row = match self.slowest.get(&of_phase) {
                    Some(slowest) if slowest.response_time_ns >= response_time_ns => return None,
                    Some(slowest) => slowest.row,
                    None => self.new_row(),
                };
                self.slowest.insert(of_phase, Slowest { row, response_time_ns });
                Some(row)
            }
        }
    }

    /// Keep `exemplar` if it belongs into the file.
    pub(crate) fn put(&mut self, connection: &Connection, exemplar: &Exemplar) -> Result<(), Fault> {
        let Some(row) = self.row_of(exemplar) else { return Ok(()) };
        let headers = |headers| serde_json::to_string(headers).map_err(|e| Fault::Bug(e.to_string()));
        let mut insert = connection.prepare_cached(
            "INSERT OR REPLACE INTO exemplars
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?;
        insert.execute(params![
            row,
            load::name_of(exemplar.kind),
            exemplar.scenario,
            exemplar.endpoint,
            exemplar.phase,
            exemplar.outcome.to_string(),
            whole(exemplar.due.as_nanos())?,
            whole(exemplar.response_time_ns)?,
            whole(exemplar.service_time_ns)?,
            exemplar.request,
            headers(&exemplar.request_headers)?,
            exemplar.request_body,
            exemplar.status,
            headers(&exemplar.response_headers)?,
            exemplar.response_body,
            exemplar.detail,
            exemplar.trace_id
        ])?;
        Ok(())
    }

    fn new_row(&mut self) -> i64 {
        self.rows += 1;
        self.rows
    }
}
