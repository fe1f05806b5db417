//! Tasks: two closures at once, scopes, spawns and broadcasts, on the same workers that run the loops.
//!
//! | file | what |
//! |---|---|
//! | `join` | two closures, maybe at the same time |
//! | `scope` | any number of tasks that borrow from a frame, which waits for them |
//! | `spawn` | tasks that nobody waits for |
//! | `broadcast` | one closure on every worker |
//! | `current` | where the calling thread is |
//! | `yields` | letting others go on |
//! | `enter` | how a call gets onto a thread of the pool |
//! | `stack_job`, `heap_job` | a closure as a job: in the frame that waits for it, or in a box |
//! | `scope_job`, `chunk` | a closure as a job that a scope counts, and memory for many of these |
//! | `latches` | who is told that something is done |
//!
//! # The rules
//!
//! A thread that calls from outside a pool becomes its [guest](crate::pool::guest), or sends the call to
//! a worker and waits. Inside, what a thread makes it puts at the back of its own deque and takes from
//! there, the newest first; others take the oldest. A thread that waits runs what it finds there, then
//! what is left of the job that it waits for, and only then what there is elsewhere.
//!
//! A panic of a task goes to whoever waits for it, or to the pool's panic handler where nobody does.

mod broadcast;
mod chunk;
mod current;
mod enter;
mod heap_job;
mod join;
mod latches;
mod scope;
mod scope_job;
mod spawn;
mod stack_job;
mod yields;

pub use self::broadcast::{broadcast, spawn_broadcast, BroadcastContext};
pub use self::current::{current_num_workers, has_pending_tasks, worker_index};
pub use self::join::{join, join_context, FnContext};
pub use self::scope::{in_place_scope, in_place_scope_fifo, scope, scope_fifo, Scope, ScopeFifo};
pub use self::spawn::{spawn, spawn_fifo};
pub use self::yields::{yield_local, yield_now, Yield};
