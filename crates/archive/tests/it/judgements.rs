//! Judgements are added after the seal, each with its rules and time, and leave the evidence alone.

use archive::{ArchiveError, Overwrite, Stored, Writer, append_judgement};
use evidence::{Claim, Figure, Finding, Judgement, Provenance, RuleId, Scope, Severity, Verdict};

use crate::sample::{manifest, write_sealed};

fn judgement(rules_version: u32) -> Judgement {
    Judgement {
        rules_version,
        verdict: Verdict::Inconclusive,
        because: "too few requests".to_owned(),
        assumes: None,
        claims: vec![Claim {
            name: "list_fast".to_owned(),
            text: "p95(list) < 50ms".to_owned(),
            verdict: Verdict::Inconclusive,
            observed: Figure::new("p95", f64::INFINITY, "ms"),
            bound: Figure::new("bound", 50.0, "ms"),
            interval: Some((40.5, Some(60.25))),
            samples: 30,
            share: None,
            rate: None,
            holds_in_k6: None,
            reasons: vec!["Q1".to_owned().into()],
        }],
        findings: vec![Finding {
            rule: RuleId::Q1,
            title: "too-few-samples".to_owned(),
            severity: Severity::Inconclusive,
            scope: Scope { endpoint: Some("list".to_owned()), ..Scope::default() },
            what: "30 requests".to_owned(),
            figures: vec![Figure::new("requests", 30.0, "1")],
            affects: Vec::new(),
            why: "…".to_owned(),
            next: "run longer".to_owned(),
        }],
    }
}

#[test]
fn judgements_are_added_and_the_evidence_stays_intact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 2);
    append_judgement(&path, &judgement(1), "2026-11-21T10:13:00Z").unwrap();
    append_judgement(&path, &judgement(2), "2027-11-21T10:13:00Z").unwrap();
    let run = Stored::open(&path).unwrap();
    let judged = run.judgements().unwrap();
    assert_eq!(judged.iter().map(|j| j.judgement.clone()).collect::<Vec<_>>(), [judgement(1), judgement(2)]);
    assert_eq!(judged[1].judged_at, "2027-11-21T10:13:00Z");
    assert_eq!(run.verify_digest().unwrap(), Provenance::Intact);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_interval_without_end_does_not_make_the_file_unreadable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    write_sealed(&path, 1);
    let mut endless = judgement(1);
    endless.claims[0].interval = Some((40.5, None));
    append_judgement(&path, &endless, "2026-11-21T10:13:00Z").unwrap();
    let judged = Stored::open(&path).unwrap().judgements().unwrap();
    assert_eq!(judged[0].judgement.claims[0].interval, None);
}

#[test]
fn a_killed_run_is_not_judged_into() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    drop(Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap());
    let refused = append_judgement(&path, &judgement(1), "2026-11-21T10:13:00Z");
    assert!(matches!(refused, Err(ArchiveError::Unsealed { .. })), "{refused:?}");
}
