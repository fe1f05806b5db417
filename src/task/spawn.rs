//! Tasks that nobody waits for.

use std::sync::Arc;

use super::enter::with_current;
use super::heap_job::heap_job;
use crate::jobs::Job;
use crate::pool::{Member, Shared, ThreadPool};

/// Runs `task` on a worker, some time: in the pool that the calling thread is of, or else in
/// [`ThreadPool::global`]. What one thread of a pool spawns it takes up newest first, others oldest first.
///
/// A panic of the task goes to the pool's [`panic_handler`](crate::ThreadPoolBuilder::panic_handler), or
/// aborts the process. Allocates a box for the task.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// conga::spawn(move || send.send(6 * 7).unwrap());
/// assert_eq!(receive.recv(), Ok(42));
/// ```
pub fn spawn<F: FnOnce() + Send + 'static>(task: F) {
    with_current(|shared| spawn_in(shared, task, Order::NewestFirst));
}

/// The same, but what one thread spawns so is begun in the order in which it was spawned.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(task: F) {
    with_current(|shared| spawn_in(shared, task, Order::OldestFirst));
}

impl ThreadPool {
    /// [`spawn`] in this pool.
    pub fn spawn<F: FnOnce() + Send + 'static>(&self, task: F) {
        spawn_in(self.shared(), task, Order::NewestFirst);
    }

    /// [`spawn_fifo`] in this pool.
    pub fn spawn_fifo<F: FnOnce() + Send + 'static>(&self, task: F) {
        spawn_in(self.shared(), task, Order::OldestFirst);
    }
}

enum Order {
    NewestFirst,
    OldestFirst,
}

fn spawn_in<F: FnOnce() + Send + 'static>(shared: &Shared, task: F, order: Order) {
    shared.workers_for_tasks();
    let job = |call| task_job(shared, task, call);
    Member::current(|me| match me.filter(|me| me.is_of(shared)) {
        Some(me) => match order {
            Order::NewestFirst => me.push(job(me.call())),
            Order::OldestFirst => me.push_in_line(job(me.call())),
        },
        None => shared.inject(job(0)),
    });
}

/// A job for which the workers stay, and whose panic the pool's handler gets.
pub(super) fn task_job<F: FnOnce() + Send + 'static>(shared: &Shared, task: F, call: u64) -> Job {
    let shared: Arc<Shared> = shared.weak().upgrade().expect("the pool is there");
    shared.begin_task();
    let run = move || {
        shared.run_task(task);
        shared.end_task();
    };
    // SAFETY: it borrows nothing.
    unsafe { heap_job(run, call) }
}
