//! The locks on this machine's own threads.

mod api;
mod free_after_release;
mod hardware;
mod quiet;
mod rwlock;
mod stress;
