//! What was judged of a run: appended to its file after the seal, beside the evidence and not part of it.

use std::path::Path;

use evidence::{Claim, Judgement, Verdict};
use rusqlite::{Connection, Row, params};

use crate::error::{ArchiveError, Fault, WRITE};
use crate::load;
use crate::open;

/// A judgement, and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// When, RFC 3339 in UTC.
    pub judged_at: String,
    /// What the judge said, with the version of the rules.
    pub judgement: Judgement,
}

/// Add a judgement made at `judged_at` (RFC 3339, UTC) to the sealed file at `path`. Earlier ones stay,
/// and the digest does not cover them. SQLite opens the file to write, so it must be one that this process wrote, or
/// that the user asked to add to.
///
/// # Errors
/// [`ArchiveError::Unsealed`] for the file of a killed run; otherwise as [`crate::Stored::open`], and
/// when the file cannot be written.
pub fn append_judgement(path: &Path, judgement: &Judgement, judged_at: &str) -> Result<(), ArchiveError> {
    let connection = open::to_add(path)?;
    let digest = load::sealed_digest(&connection).map_err(|fault| fault.at(path, WRITE))?;
    if digest.is_none() {
        return Err(ArchiveError::Unsealed { path: path.to_owned() });
    }
    insert(&connection, judgement, judged_at).map_err(|fault| fault.at(path, WRITE))
}

fn insert(connection: &Connection, judgement: &Judgement, judged_at: &str) -> Result<(), Fault> {
    let json = |result: serde_json::Result<String>| result.map_err(|e| Fault::Bug(e.to_string()));
    let claims: Vec<Claim> = judgement.claims.iter().cloned().map(with_finite_interval).collect();
    connection.execute(
        "INSERT INTO judgements (judged_at, rules_version, verdict, because, claims, findings)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            judged_at,
            judgement.rules_version,
            judgement.verdict.to_string(),
            judgement.because,
            json(serde_json::to_string(&claims))?,
            json(serde_json::to_string(&judgement.findings))?
        ],
    )?;
    Ok(())
}

/// JSON knows no infinity, and versions before this one read intervals with two numbers alone: one without a finite end is kept as
/// none.
fn with_finite_interval(claim: Claim) -> Claim {
    let interval = claim.interval.filter(|(low, high)| low.is_finite() && high.is_some_and(f64::is_finite));
    Claim { interval, ..claim }
}

pub(crate) fn read(connection: &Connection) -> Result<Vec<Judged>, Fault> {
    let mut statement = connection.prepare(
        "SELECT judged_at, rules_version, verdict, because, claims, findings FROM judgements
         ORDER BY judgement",
    )?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(judged(row)?);
    }
    Ok(all)
}

fn judged(row: &Row<'_>) -> Result<Judged, Fault> {
    let json = |e: serde_json::Error| Fault::Damaged(format!("a judgement: {e}"));
    let verdict: Verdict = serde_json::from_value(serde_json::Value::String(row.get(2)?)).map_err(json)?;
    let judgement = Judgement {
        rules_version: row.get(1)?,
        verdict,
        because: row.get(3)?,
        // Not stored: the judge says it again.
        assumes: None,
        claims: serde_json::from_str(&row.get::<_, String>(4)?).map_err(json)?,
        findings: serde_json::from_str(&row.get::<_, String>(5)?).map_err(json)?,
    };
    Ok(Judged { judged_at: row.get(0)?, judgement })
}
