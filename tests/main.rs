//! Tests of the program from outside, and of what the crates promise for whole dumps: one program for all of them, which is built in a
//! fraction of the time that one for each file takes.

mod annotations;
mod budgets;
mod clean;
mod cli;
mod commands;
mod diff;
mod docs;
mod export;
mod fuzzing;
mod hlo;
mod hostile;
mod hover;
mod ls;
mod lsp_sentinels;
mod mutations;
mod navigation;
mod numbers;
mod occupancy;
mod occupancy_of_nonsense;
mod oom;
mod parse;
mod paths;
mod peak;
mod report;
mod siblings;
mod soak;
mod support;
mod survival;
mod there_and_back;
mod transport;
mod r#where;
mod workspace;
