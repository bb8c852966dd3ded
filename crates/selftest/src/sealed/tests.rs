//! The score of the sealed cases, and that nobody changed them.

use simulation::CAUSES;

use super::*;

/// The seeds, and the digest of their list that was there before them.
const SEEDS: &str = include_str!("../../sealed/diagnosis.seeds");
const DIGEST: &str = include_str!("../../sealed/diagnosis.seeds.sha256");
/// How many cases are judged at a time.
const THREADS: usize = 2;

fn judged(seeds: &[u64]) -> Vec<JudgedCase> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let judged = |seeds: &[u64]| seeds.iter().map(|seed| judge(*seed, folder).unwrap()).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let parts = seeds.chunks(seeds.len().div_ceil(THREADS));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || judged(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn visibility(of: Visibility) -> &'static str {
    match of {
        Visibility::UseAndWait => "use and wait of the limit are observed",
        Visibility::Use => "its use is",
        Visibility::NotVisible => "nothing limits alone, or what does is not observed",
    }
}

fn rule(by: NamedBy) -> &'static str {
    match by {
        NamedBy::Ledger => "ledger",
        NamedBy::WithoutWaits => "ledger without waits",
        NamedBy::WithoutNesting => "ledger without nesting",
        NamedBy::HighestUse => "highest use",
        NamedBy::HighUse => "use of 90 % or more",
    }
}

/// The tables of the documentation: by rule and what is visible, and by cause.
fn tables(cases: &[JudgedCase]) -> String {
    let mut rows = Vec::new();
    for of in [Visibility::UseAndWait, Visibility::Use, Visibility::NotVisible] {
        for by in RULES {
            let counts = JudgedCase::counts(cases.iter().filter(|case| case.visibility == of), by);
            let percent = |count: u64| {
                let (share, low, high) = counts.share(count);
                format!("{:.0} % ({:.0} to {:.0})", share * 100.0, low * 100.0, high * 100.0)
            };
            let right = if of == Visibility::NotVisible { "–".to_owned() } else { percent(counts.right) };
            let what = if by == NamedBy::Ledger {
                format!("{} ({})", visibility(of), counts.all())
            } else {
                String::new()
            };
            rows.push(format!("| {what} | {} | {right} | {} |", rule(by), percent(counts.wrong)));
        }
    }
    rows.push(String::new());
    for cause in CAUSES {
        let counts = JudgedCase::counts(cases.iter().filter(|case| case.cause == cause), NamedBy::Ledger);
        rows.push(format!("| {cause:?} | {} | {} | {} |", counts.right, counts.wrong, counts.none));
    }
    rows.join("\n")
}

#[test]
fn practice_cases_are_seldom_named_wrongly() {
    let seeds: Vec<u64> = (1..=60).collect();
    let cases = judged(&seeds);
    let wrong = JudgedCase::counts(cases.iter(), NamedBy::Ledger).wrong;
    assert!(wrong <= 3, "{}", tables(&cases));
    let visible = || cases.iter().filter(|case| case.visibility == Visibility::UseAndWait);
    assert!(JudgedCase::counts(visible(), NamedBy::Ledger).right > 0, "{}", tables(&cases));
    let highest = JudgedCase::counts(cases.iter(), NamedBy::HighestUse).wrong;
    assert!(highest > 3 * wrong.max(1), "{}", tables(&cases));
}

/// Of 300 without a wrong name, fewer than 1 % have one, with 95 % confidence.
#[test]
fn where_nothing_limits_nothing_is_named() {
    let seeds = (1..).filter(|seed| SealedCase::draw(*seed).cause == Cause::Nothing);
    let cases = judged(&seeds.take(300).collect::<Vec<_>>());
    let counts = JudgedCase::counts(cases.iter(), NamedBy::Ledger);
    assert_eq!((counts.right, counts.wrong, counts.none), (0, 0, 300));
}

#[test]
fn the_sealed_seeds_are_those_whose_digest_was_there_before() {
    assert_eq!(conduct::manifest::sha256_hex(SEEDS.as_bytes()), DIGEST.trim());
}

/// The figures of docs/diagnosis.md.
#[test]
fn the_documentation_has_the_score_of_the_sealed_cases() {
    let seeds: Vec<u64> = SEEDS.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(seeds.len(), 240);
    let tables = tables(&judged(&seeds));
    let page = include_str!("../../../../docs/diagnosis.md");
    for table in tables.split("\n\n") {
        assert!(page.contains(table), "the page lacks\n{tables}");
    }
}
