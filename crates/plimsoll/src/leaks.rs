//! `plimsoll leaks`: whether a target leaks memory, threads, descriptors or connections, from a run file or by watching
//! it.

use std::path::Path;

use ::report::Detail;
use ::report::leaks::{LeakLine, LeaksSummary};
use anyhow::anyhow;
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::judged::StoredRun;
use conduct::run_file::RunFilePolicy;
use conduct::untrusted::UntrustedRunFiles;
use conduct::{integrity, watched};
use evidence::Verdict;
use judge::leaks::{Leak, LeakAnswer};
use workload::redact::shown_address;

use crate::arguments::LeaksArguments;
use crate::outputs::{self, PreopenedReports};

/// A series leaks.
const LEAKING: u8 = 3;
/// Neither shown nor excluded.
const UNDECIDED: u8 = 4;

pub(crate) fn leaks(arguments: &LeaksArguments) -> CommandResult<u8> {
    let Some(length) = arguments.length else {
        let [file] = &arguments.subjects[..] else {
            return Err(Failure::usage(anyhow!("name one run file, or `--for 30m` and what to watch")));
        };
        let is_process_id = file.parse::<u32>().is_ok() && !Path::new(file).exists();
        if file.contains("://") || file.starts_with(':') || is_process_id {
            let shown = shown_address(file);
            return Err(Failure::usage(anyhow!(
                "{shown} is watched before it is judged: `plimsoll leaks --for 30m {shown}`"
            )));
        }
        UntrustedRunFiles::check([Path::new(file)])?;
        let received = UntrustedRunFiles::at([Path::new(file)])?;
        let opened = PreopenedReports::all(arguments.reports.named())?;
        received.reach().confine();
        return answer(received.read_one()?, arguments, &opened);
    };
    let keep = arguments.output.as_deref().map_or(RunFilePolicy::Temporary, RunFilePolicy::At);
    let subjects = watched::watched(&arguments.subjects, None)?.that_must_answer();
    let file = watched::watch(subjects, Some(length), keep)?;
    answer(Stored::open(file.path()).map_err(Failure::usage)?, arguments, &PreopenedReports::default())
}

/// The answer for a run file. Changed evidence shows and excludes nothing.
fn answer(run: Stored, arguments: &LeaksArguments, opened: &PreopenedReports) -> CommandResult<u8> {
    let StoredRun { run, workload, provenance } = StoredRun::judge(run)?;
    let invalid = integrity::state(provenance, run.path())?;
    let answers = judge::leaks::of(&run, &workload, arguments.margin_of(&workload)).map_err(Failure::own)?;
    let Some(gravest) = answers.first() else {
        // That there are none may be the change.
        return invalid.ok_or_else(|| {
            Failure::usage(anyhow!(
                "nothing was observed that could show a leak: watch a process (`plimsoll leaks --for 30m :PORT`, in a \
                 plan `process = {{ port = … }}`) or a page of Prometheus metrics (`http://HOST:PORT/metrics`)"
            ))
        });
    };
    let is_undetermined = |answer: &LeakAnswer| answer.answer == Leak::Undetermined;
    let note = "M4 leak-claim: UNDETERMINED neither shows a leak nor excludes one.";
    let summary = LeaksSummary {
        name: workload.name.clone(),
        answers: answers.iter().map(line).collect(),
        note: answers.iter().any(is_undetermined).then(|| note.to_owned()),
    };
    outputs::write(&summary, &arguments.reports, Detail::Full, opened)?;
    Ok(invalid.unwrap_or(match gravest.answer {
        Leak::Leak => LEAKING,
        Leak::Growing | Leak::Undetermined => UNDECIDED,
        Leak::NoLeak => 0,
    }))
}

fn line(LeakAnswer { series, answer, because }: &LeakAnswer) -> LeakLine {
    let label = series.label();
    let part = if label.is_empty() { label } else { format!(" ({label})") };
    LeakLine {
        series: format!("{} of {}{part}", series.name, series.target),
        answer: answer.to_string(),
        verdict: match answer {
            Leak::Leak => Verdict::Fail,
            Leak::Growing | Leak::Undetermined => Verdict::Inconclusive,
            Leak::NoLeak => Verdict::Pass,
        },
        because: because.clone(),
    }
}
