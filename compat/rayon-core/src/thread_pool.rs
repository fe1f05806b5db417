//! `ThreadPool`: a pool of one's own.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use conga::{BroadcastContext, Scope, ScopeFifo, Yield};

/// A pool of one's own. When it is dropped its threads end, some time, once they have done what was spawned.
pub struct ThreadPool {
    pool: conga::ThreadPool,
    registry: Arc<Registry>,
}

/// What the original's own tests ask of a pool: how many threads it has, and that they have ended.
#[doc(hidden)]
#[derive(Default)]
pub struct Registry {
    started: AtomicUsize,
    ended: Mutex<usize>,
    one_more: Condvar,
}

impl Registry {
    pub(crate) fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        *self.ended.lock().unwrap_or_else(|e| e.into_inner()) += 1;
        self.one_more.notify_all();
    }

    /// How many threads were started.
    pub fn num_threads(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    /// Waits until all of them have ended.
    pub fn wait_until_stopped(&self) {
        let mut ended = self.ended.lock().unwrap_or_else(|e| e.into_inner());
        while *ended < self.num_threads() {
            ended = self.one_more.wait(ended).unwrap_or_else(|e| e.into_inner());
        }
    }
}

impl ThreadPool {
    pub(crate) fn own(pool: conga::ThreadPool, registry: Arc<Registry>) -> Self {
        ThreadPool { pool, registry }
    }

    #[doc(hidden)]
    pub fn conga_registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// The pool underneath, whose loops run on the same threads.
    pub fn conga(&self) -> &conga::ThreadPool {
        &self.pool
    }

    /// As [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(
        configuration: crate::Configuration,
    ) -> Result<ThreadPool, Box<dyn std::error::Error>> {
        configuration.build()
    }

    /// Runs `op` on a thread of this pool, so that all that it calls runs in this pool.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.install(op)
    }

    /// Calls `op` once on every thread, and returns what they return, in order of their indices.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.pool.broadcast(op)
    }

    /// How many threads this pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool.num_workers()
    }

    /// The index of the calling thread in this pool, if it is part of it.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.worker_index()
    }

    /// Whether the calling thread has tasks that nobody has begun, if it is part of this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool.has_pending_tasks()
    }

    /// [`join`](crate::join) in this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.pool.join(oper_a, oper_b)
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.pool.scope(op)
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.pool.scope_fifo(op)
    }

    /// [`in_place_scope`](crate::in_place_scope) in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool.in_place_scope(op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) in this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.pool.in_place_scope_fifo(op)
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn(op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn_fifo(op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool.spawn_broadcast(op);
    }

    /// Runs one task of this pool, if the calling thread is part of it.
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool.yield_now()
    }

    /// The same with the calling thread's own tasks only.
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool.yield_local()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}
