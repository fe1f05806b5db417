//! Scopes: any number of tasks that borrow from a frame, which waits for them.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use super::broadcast::BroadcastContext;
use super::chunk::Chunks;
use super::enter::{enter, enter_current, with_current};
use super::latches::Countdown;
use super::scope_job::scope_job;
use crate::jobs::Job;
use crate::pool::{Member, Shared, ThreadPool};
use crate::queue::ConcurrentQueue;
use crate::slot::body::Payload;
use crate::sync::atomic::{AtomicPtr, Ordering};

/// Where tasks are spawned that borrow for `'scope`. See [`scope`].
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// Where tasks are spawned that borrow for `'scope` and are begun in the order in which each thread has
/// spawned them. See [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// For each worker, what it has spawned; it holds as many places in its deque.
    lines: Vec<ConcurrentQueue<Job>>,
}

/// What both have in common.
struct Base<'scope> {
    shared: Arc<Shared>,
    /// The first payload of a panic.
    panic: AtomicPtr<Payload>,
    left: Countdown,
    maker: Maker,
    /// Tasks may be given what is mutable for `'scope`, so it must not shrink or grow.
    _marker: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// The thread that made a scope, and what it needs to spawn many tasks while the scope's closure runs.
struct Maker {
    /// The identity in the scope's pool that it holds, as long as the scope is there.
    index: Option<usize>,
    is_in_closure: Cell<bool>,
    /// How many tasks have been begun that are not there yet.
    reserved: Cell<usize>,
    /// How often some have been begun: after the first time chunks pay.
    rounds: Cell<u8>,
    chunks: Chunks,
}

// SAFETY: `index` is never written; the rest is used by the thread that holds this identity, which is the maker as
// long as the scope is there, and by the maker itself.
unsafe impl Sync for Maker {}

impl Maker {
    /// One more task begins: as one of many that are begun at once, since each time costs a write to a line
    /// that others write as well. Where it may be put, if not into a box.
    fn begin(&self, left: &Countdown) -> Option<&Chunks> {
        const AT_ONCE: usize = 64;
        if self.reserved.get() == 0 {
            left.begin(AT_ONCE);
            self.reserved.set(AT_ONCE);
            self.rounds.set(self.rounds.get().saturating_add(1));
        }
        self.reserved.set(self.reserved.get() - 1);
        (self.rounds.get() > 1).then_some(&self.chunks)
    }

    /// The scope's closure has ended. How many tasks were begun that will not be there.
    fn leave_closure(&self) -> usize {
        self.is_in_closure.set(false);
        self.chunks.leave();
        self.reserved.take()
    }
}

/// An address that its user answers for, on whatever thread.
struct SendPtr<T>(*const T);

// SAFETY: what is pointed to is `Sync`, see the two places where this is made.
unsafe impl<T: Sync> Send for SendPtr<T> {}
// SAFETY: the same.
unsafe impl<T: Sync> Sync for SendPtr<T> {}

impl<T> SendPtr<T> {
    /// A method, so that closures capture the whole.
    fn get(&self) -> *const T {
        self.0
    }
}

/// Calls `op` with a [`Scope`] in which tasks can be spawned, on a thread of the pool, and returns when `op`
/// and all tasks have ended. Tasks may borrow whatever outlives the call, and spawn more.
///
/// What one thread spawns it takes up newest first, others oldest first. The thread that waits runs other
/// jobs of the pool meanwhile, so it should hold no lock that one of those may ask for.
///
/// Called from outside a pool it runs in [`ThreadPool::global`]. Allocates a box for each task.
///
/// # Panics
///
/// With the panic of `op`, or the first one of a task, when all have ended.
///
/// ```
/// let mut counts = [0; 3];
/// conga::scope(|s| {
///     for (i, count) in counts.iter_mut().enumerate() {
///         s.spawn(move |_| *count = i);
///     }
/// });
/// assert_eq!(counts, [0, 1, 2]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    enter_current(|me, _| Scope::run(me.shared, op))
}

/// The same with a [`ScopeFifo`].
///
/// # Panics
///
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    enter_current(|me, _| ScopeFifo::run(me.shared, op))
}

/// As [`scope`], but `op` runs on the calling thread, so it need not be `Send`.
///
/// # Panics
///
/// As [`scope`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current(|shared| Scope::run(shared, op))
}

/// As [`scope_fifo`], but `op` runs on the calling thread, so it need not be `Send`.
///
/// # Panics
///
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current(|shared| ScopeFifo::run(shared, op))
}

impl ThreadPool {
    /// [`scope`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`scope`].
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        enter(self.shared(), |me, _| Scope::run(me.shared, op))
    }

    /// [`scope_fifo`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`scope`].
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        enter(self.shared(), |me, _| ScopeFifo::run(me.shared, op))
    }

    /// [`in_place_scope`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`scope`].
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        Scope::run(self.shared(), op)
    }

    /// [`in_place_scope_fifo`] in this pool.
    ///
    /// # Panics
    ///
    /// As [`scope`].
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        ScopeFifo::run(self.shared(), op)
    }
}

impl<'scope> Scope<'scope> {
    fn run<R>(shared: &Shared, op: impl FnOnce(&Self) -> R) -> R {
        let scope = Scope {
            base: Base::new(shared),
        };
        scope.base.run(|| op(&scope))
    }

    /// Runs `body` in this scope, some time before the scope ends.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let scope = SendPtr(self);
        let run = move || {
            // SAFETY: a scope stays where it is until its tasks have ended.
            let here = unsafe { &*scope.get() };
            here.base.catch(|| body(here));
        };
        self.base.me(|me| {
            let job = self.base.job(me, run);
            match me {
                Some(me) => me.push(job),
                None => self.base.shared.inject(job),
            }
        });
    }

    /// Runs `body` once on every worker of the pool before the scope ends.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let scope = SendPtr(self);
        self.base.broadcast(move |context| {
            // SAFETY: a scope stays where it is until its tasks have ended.
            let scope = unsafe { &*scope.get() };
            body(scope, context);
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn run<R>(shared: &Shared, op: impl FnOnce(&Self) -> R) -> R {
        let base = Base::new(shared);
        let scope = ScopeFifo {
            lines: (0..base.shared.workers())
                .map(|_| Default::default())
                .collect(),
            base,
        };
        scope.base.run(|| op(&scope))
    }

    /// Runs `body` in this scope, some time before the scope ends, and begins it after what this thread
    /// has spawned here before.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let scope = SendPtr(self);
        let run = move || {
            // SAFETY: a scope stays where it is until its tasks have ended.
            let here = unsafe { &*scope.get() };
            here.base.catch(|| body(here));
        };
        self.base.me(|me| {
            let job = self.base.job(me, run);
            match me {
                Some(me) => match self.lines.get(me.index) {
                    Some(line) => me.push_in(line, job),
                    // A worker that was started since.
                    None => me.push_in_line(job),
                },
                None => self.base.shared.inject(job),
            }
        });
    }

    /// Runs `body` once on every worker of the pool before the scope ends.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let scope = SendPtr(self);
        self.base.broadcast(move |context| {
            // SAFETY: a scope stays where it is until its tasks have ended.
            let scope = unsafe { &*scope.get() };
            body(scope, context);
        });
    }
}

impl<'scope> Base<'scope> {
    fn new(shared: &Shared) -> Self {
        shared.workers_for_tasks();
        Base {
            shared: shared.weak().upgrade().expect("the pool is there"),
            panic: AtomicPtr::new(ptr::null_mut()),
            left: Countdown::new(),
            maker: Maker {
                index: Member::current(|me| me.filter(|me| me.is_of(shared)).map(|me| me.index)),
                is_in_closure: Cell::new(true),
                reserved: Cell::new(0),
                rounds: Cell::new(0),
                chunks: Chunks::new(),
            },
            _marker: PhantomData,
        }
    }

    /// Runs the scope's own closure, and waits for the tasks.
    fn run<R>(&self, op: impl FnOnce() -> R) -> R {
        let result = self.catch(op);
        let reserved = self.maker.leave_closure();
        // SAFETY: it is here. What began was this thread, and what is left of the reserve.
        unsafe { Countdown::end(&raw const self.left, 1 + reserved) };
        self.left.wait(&self.shared);
        let panic = self.panic.swap(ptr::null_mut(), Ordering::Relaxed);
        if !panic.is_null() {
            // SAFETY: not null, so it came from `Box::into_raw` in `catch`, and was taken out just now.
            let payload = unsafe { Box::from_raw(panic) };
            resume_unwind(*payload);
        }
        result.expect("without a panic there is a result")
    }

    /// Runs `f`, and keeps the payload of its panic if it is the first.
    fn catch<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(result) => Some(result),
            Err(payload) => {
                let payload = Box::into_raw(Box::new(payload));
                // Release: whoever takes it out has waited for all tasks, which orders it after this.
                let kept = self.panic.compare_exchange(
                    ptr::null_mut(),
                    payload,
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if kept.is_err() {
                    // SAFETY: it came from `Box::into_raw` above and nobody else has seen it.
                    let payload = unsafe { Box::from_raw(payload) };
                    drop_payload(*payload);
                }
                None
            }
        }
    }

    /// A job of this scope, which has begun, made by a thread that is `me` in this pool. Somebody must queue it.
    fn job<F: FnOnce() + Send + 'scope>(&self, me: Option<&Member>, run: F) -> Job {
        let (left, call) = (&raw const self.left, me.map_or(0, Member::call));
        let is_maker = me.is_some_and(|me| Some(me.index) == self.maker.index);
        let chunks = if is_maker && self.maker.is_in_closure.get() {
            self.maker.begin(&self.left)
        } else {
            self.left.begin(1);
            None
        };
        // SAFETY: it has begun; the scope waits for it, so what it borrows stays borrowed.
        unsafe { scope_job(left, run, call, chunks) }
    }

    fn broadcast<F>(&self, body: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let body = Arc::new(body);
        let base = SendPtr(self);
        let letter = |_| {
            let body = Arc::clone(&body);
            let base = SendPtr(base.get());
            let run = move || {
                // SAFETY: a scope stays where it is until its tasks have ended.
                let here = unsafe { &*base.get() };
                here.catch(move || BroadcastContext::with(|context| body(context)));
            };
            self.me(|me| self.job(me, run))
        };
        self.shared.post_to_all(letter, self.shared.workers());
    }

    /// Calls `f` with the identity that the calling thread holds in this pool, if it does.
    fn me<R>(&self, f: impl FnOnce(Option<&Member>) -> R) -> R {
        Member::current(|me| f(me.filter(|me| me.is_of(&self.shared))))
    }
}

/// Drops the payload of a panic that nobody hears of. Its own panic is dropped as well.
fn drop_payload(payload: Payload) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}
