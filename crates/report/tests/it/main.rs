//! Every report of sample runs: its content, that it is well-formed, that hostile names are escaped.

mod accounting;
mod cards;
mod comparison;
mod comparison_order;
mod comparison_pages;
mod experiments;
mod files;
mod forms;
mod hostile;
mod judgements;
mod live;
mod live_page;
mod live_screen;
mod marks;
mod not_known;
mod plots;
mod policy;
mod profiles;
mod sample_run;
mod script_metrics;
mod seconds;
mod snapshots;
mod warm_up;
mod well_formed;
