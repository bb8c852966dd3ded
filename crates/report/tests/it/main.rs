//! Every report of made-up runs: what they say, that they are well-formed, that nothing hostile gets out.

mod accounting;
mod comparison;
mod comparison_pages;
mod hostile;
mod live;
mod profiles;
mod sample_run;
mod snapshots;
mod well_formed;
