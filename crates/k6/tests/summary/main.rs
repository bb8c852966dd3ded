//! The summary compared with what k6 1.8.1 wrote of the same runs; `../recordings/README.md` says how they were made.

mod recording;

mod outputs;
mod shown;
