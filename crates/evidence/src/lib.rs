//! The vocabulary of what was observed in a run, and nothing about how it was observed.
//!
//! The other crates exchange these types: the engine fills [`tick::Tick`]s, observers yield [`series`], the archive
//! keeps both, and the judge reads them back through [`run::Run`]. This crate is pure: no clock, no files, no threads of its own. Start reading at [`tick`], then [`run`].

#![warn(missing_docs)]

pub mod capacity;
pub mod claim_rate;
pub mod claim_share;
pub mod comparison;
pub mod coverage;
pub mod delivered;
pub mod diagnosis;
pub mod exemplar;
pub mod experiment;
pub mod histogram;
pub mod instance;
pub mod judgement;
pub mod key;
pub mod manifest;
pub mod memory;
pub mod metric;
pub mod observed;
pub mod outcome;
pub mod perturbation;
pub mod rule_id;
pub mod run;
pub mod series;
pub mod sink;
pub mod stop_rule;
pub mod tick;
pub mod tick_channel;
pub mod time;
pub mod unknown;
pub mod url_pattern;
pub mod visible;
pub mod windows;
pub mod worker_load;

pub use claim_rate::ClaimRate;
pub use claim_share::{BlindSpot, ClaimShare, Widening, WideningCause};
pub use comparison::{ComparisonJudgement, Refusal, SidedFinding};
pub use coverage::{Coverage, CoveredSample, Integral, Window};
pub use exemplar::{Exemplar, ExemplarKind};
pub use experiment::{
    BySecond, Calibration, CostPlace, EffectScale, ExperimentEnd, ExperimentFinding, ExperimentJudgement,
    MetricAnswer, MetricNoise, MetricVerdict, MovedCost, Mover, PairOrder, ProbeCorrection, ProbeGain,
};
pub use histogram::{Histogram, Quantile};
pub use instance::Instance;
pub use judgement::{
    Claim, ClaimEffect, Effect, Figure, Finding, Judgement, Reason, Scope, Severity, Verdict,
};
pub use key::{Key, KeyId, Metric, Name};
pub use manifest::{Ending, Manifest, Missing, RunEnd, Source, SourceFigure};
pub use observed::{Notice, NoticeKind, Observed, Profile, ProfileKind, Sampling};
pub use outcome::{GrpcCode, Outcome, ResponseStatus};
pub use perturbation::{DISTURBED_STALLS, Disturbed, Perturbation, STALL};
pub use rule_id::RuleId;
pub use run::{LoadEnd, Provenance, Run, Seconds};
pub use series::{Sample, SampleKind, SeriesKey};
pub use sink::{Sink, SinkError};
pub use tick::Tick;
pub use time::Instant;
pub use unknown::{UnknownBasis, UnknownCount, UnknownRecords, UnknownSubject};
pub use visible::{TerminalText, visible, visible_lines};
pub use windows::{PhaseSpan, Windows};
