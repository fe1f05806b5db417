//! The pool that a thread without one uses, and the free functions.

use std::sync::{Mutex, OnceLock};

use conga::{BroadcastContext, FnContext, Scope, ScopeFifo};

use crate::builder::ErrorKind;
use crate::{
    default_num_threads, guests_are_wanted, max_num_threads, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder,
};

enum Global {
    /// conga's own, because nobody has asked for anything special.
    Shared(&'static conga::ThreadPool),
    /// A pool of its own. It is never dropped.
    Own(ThreadPool),
}

impl Global {
    fn pool(&self) -> &conga::ThreadPool {
        match self {
            Global::Shared(pool) => pool,
            Global::Own(pool) => pool.conga(),
        }
    }
}

static GLOBAL: OnceLock<Global> = OnceLock::new();

/// Makes what `make` gives the global pool, unless there is one.
pub(crate) fn set(
    make: impl FnOnce() -> Result<ThreadPool, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(|e| e.into_inner());
    if GLOBAL.get().is_some() {
        return Err(ErrorKind::GlobalPoolAlreadyInitialized.into());
    }
    // The default one may be made meanwhile by another thread, who does not wait for this.
    GLOBAL
        .set(Global::Own(make()?))
        .map_err(|_| ErrorKind::GlobalPoolAlreadyInitialized.into())
}

#[inline]
fn global() -> &'static conga::ThreadPool {
    GLOBAL.get_or_init(by_default).pool()
}

#[cold]
fn by_default() -> Global {
    let threads = default_num_threads().min(max_num_threads());
    if std::env::var_os("RAYON_NUM_THREADS").is_none() && guests_are_wanted() {
        let shared = conga::ThreadPool::global();
        if shared.num_workers() <= threads && shared.ensure_workers(threads) == threads {
            return Global::Shared(shared);
        }
    }
    let own = ThreadPoolBuilder::new().build().or_else(|error| {
        if error.is_unsupported() {
            // Without threads everything runs where it is called.
            ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .build()
        } else {
            Err(error)
        }
    });
    Global::Own(own.expect("The global thread pool has not been initialized."))
}

/// Whether the calling thread is part of a pool, whose free functions are then the ones to call.
#[inline]
fn is_inside() -> bool {
    conga::worker_index().is_some()
}

/// How many threads the pool has that the calling thread is part of, or else the global one.
pub fn current_num_threads() -> usize {
    if is_inside() {
        conga::current_num_workers()
    } else {
        global().num_workers()
    }
}

/// The index of the calling thread in the pool that it is part of.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    conga::worker_index()
}

/// Whether the calling thread has tasks that nobody has begun, if it is part of a pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    conga::has_pending_tasks()
}

/// Runs two closures, maybe at the same time, and returns what both return. See [`conga::join`].
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    if is_inside() {
        conga::join(oper_a, oper_b)
    } else {
        global().join(oper_a, oper_b)
    }
}

/// The same for closures that are told where they run.
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if is_inside() {
        conga::join_context(oper_a, oper_b)
    } else {
        global().join_context(oper_a, oper_b)
    }
}

/// Runs `op` on a thread of the pool, and waits for all that it spawns. See [`conga::scope`].
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    if is_inside() {
        conga::scope(op)
    } else {
        global().scope(op)
    }
}

/// The same, where what one thread spawns is begun in that order.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    if is_inside() {
        conga::scope_fifo(op)
    } else {
        global().scope_fifo(op)
    }
}

/// As [`scope`], with `op` on the calling thread.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    if is_inside() {
        conga::in_place_scope(op)
    } else {
        global().in_place_scope(op)
    }
}

/// As [`scope_fifo`], with `op` on the calling thread.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    if is_inside() {
        conga::in_place_scope_fifo(op)
    } else {
        global().in_place_scope_fifo(op)
    }
}

/// Runs `func` some time; nobody waits for it. See [`conga::spawn`].
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    if is_inside() {
        conga::spawn(func);
    } else {
        global().spawn(func);
    }
}

/// The same, where what one thread spawns is begun in that order.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    if is_inside() {
        conga::spawn_fifo(func);
    } else {
        global().spawn_fifo(func);
    }
}

/// Calls `op` once on every thread of the pool, and returns what they return, in order of their indices.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    if is_inside() {
        conga::broadcast(op)
    } else {
        global().broadcast(op)
    }
}

/// Calls `op` once on every thread of the pool, some time; nobody waits for it.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    if is_inside() {
        conga::spawn_broadcast(op);
    } else {
        global().spawn_broadcast(op);
    }
}
