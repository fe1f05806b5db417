//! The interface of rayon-core 1.13.0 on conga's workers.
//!
//! A program that uses rayon, itself or through its dependencies, is moved onto conga by two lines in
//! its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "conga/compat/rayon-core" } # or git = "..."
//! ```
//!
//! [`CONGA_VERSION`] exists here and not in the original, so a program that names it cannot be built without
//! the patch. `README.md` tells what differs.
//!
//! | file | what |
//! |---|---|
//! | `builder` | `ThreadPoolBuilder` and its errors |
//! | `thread_pool` | `ThreadPool` |
//! | `global` | the pool that a thread without one uses, and the free functions |
//! | `configuration` | the deprecated way to set a pool up |

mod builder;
mod configuration;
mod global;
mod thread_pool;

use std::sync::OnceLock;

pub use self::builder::{ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder};
#[allow(deprecated)]
pub use self::configuration::{initialize, Configuration};
pub use self::global::{
    broadcast, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    in_place_scope, in_place_scope_fifo, join, join_context, scope, scope_fifo, spawn,
    spawn_broadcast, spawn_fifo,
};
pub use self::thread_pool::ThreadPool;
pub use conga::{yield_local, yield_now, BroadcastContext, FnContext, Scope, ScopeFifo, Yield};

/// The version of this package's conga. The original has no such constant: name it, and the build fails
/// where the patch is not in force.
pub const CONGA_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most threads that a pool can have; more are cut down to that many.
pub fn max_num_threads() -> usize {
    // As many as the original counts in half of a word, less what it needs for itself.
    match usize::BITS {
        0..=32 => 255,
        _ => 65_535,
    }
}

/// The threads of a pool where nobody has said how many.
fn default_num_threads() -> usize {
    let from = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let available = || std::thread::available_parallelism().map_or(1, |n| n.get());
    match from("RAYON_NUM_THREADS") {
        Some(0) => available(),
        Some(n) => n,
        None => match from("RAYON_RS_NUM_CPUS") {
            Some(n) if n > 0 => n,
            _ => available(),
        },
    }
}

/// Whether guests are wanted: yes, unless `CONGA_GUEST` is 0.
fn guests_are_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("CONGA_GUEST").map_or(true, |value| value != "0"))
}
