//! `ThreadPoolBuilder`: how a pool is set up.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::processors::processors;
use super::thread::default_stack;
use super::{ThreadPool, MAX_THREADS};
use crate::dispatch::Dispatch;
use crate::tuning;

/// Called by a worker with its number, from 0 on.
pub(crate) type Handler = Box<dyn Fn(usize) + Send + Sync>;
/// Called with the payload of a task's panic.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
/// Gives a worker's name.
pub(crate) type Namer = Box<dyn Fn(usize) -> String + Send + Sync>;

/// What a pool was built with; it outlives a fork.
pub(crate) struct Config {
    pub(crate) lanes: usize,
    pub(crate) dispatch: Dispatch,
    pub(crate) spin: Duration,
    pub(crate) pin: bool,
    /// With how many processors to reckon, other than there are: a test of what larger machines do.
    pub(crate) processors: Option<usize>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: Option<Namer>,
    /// Whether threads from outside may take over identities.
    pub(crate) guests: bool,
    /// Whether workers take their own oldest job first.
    pub(crate) oldest_first: bool,
    pub(crate) on_start: Option<Handler>,
    pub(crate) on_exit: Option<Handler>,
    pub(crate) on_panic: Option<PanicHandler>,
}

impl Config {
    /// How much stack a worker has.
    pub(crate) fn stack(&self) -> usize {
        self.stack_size.unwrap_or_else(default_stack)
    }
}

/// Sets up a [`ThreadPool`].
///
/// ```
/// let pool = conga::ThreadPool::builder()
///     .num_threads(4)
///     .thread_name(|worker| format!("solver-{worker}"))
///     .build()?;
/// assert!(pool.num_threads() <= 4);
/// # Ok::<(), conga::BuildError>(())
/// ```
#[must_use = "a builder makes nothing until `build` is called"]
pub struct ThreadPoolBuilder {
    config: Config,
}

impl ThreadPoolBuilder {
    pub(crate) fn new() -> Self {
        ThreadPoolBuilder {
            config: Config {
                lanes: 0,
                dispatch: Dispatch::default(),
                spin: tuning::IDLE_SPIN,
                pin: false,
                processors: None,
                stack_size: None,
                name: None,
                guests: true,
                oldest_first: false,
                on_start: None,
                on_exit: None,
                on_panic: None,
            },
        }
    }

    /// How many lanes a loop may have: the caller and `num_threads - 1` workers. 0, the default,
    /// means as many as there are processors for this process (`num_cpus::get()`, which honours
    /// affinity and the cgroup's quota). At most 65,536.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.config.lanes = num_threads;
        self
    }

    /// The strategy of loops that do not choose one themselves. Default: [`Dispatch::Adaptive`].
    pub fn dispatch(mut self, dispatch: Dispatch) -> Self {
        self.config.dispatch = dispatch;
        self
    }

    /// How long a worker that did something useful waits for more before it sleeps: 0 to 200 µs,
    /// default 100 µs. It never spins where that would take a processor from a thread that works, nor
    /// when the last calls came later than this. Once, after it was woken for a stream of small loops, it
    /// spins for up to four times as long, until it meets the next of them.
    ///
    /// It decides what loops of 2 to 200 µs get, which are worth a worker that spins but hardly one that
    /// must be woken: back to back, or with up to this time between them, they have help, at the price
    /// of CPU time in the gaps. With zero they run on their callers, but for tries. Shorter loops never have
    /// help, longer ones have it at any setting, some 10 to 60 µs later where somebody must be woken.
    pub fn spin(mut self, spin: Duration) -> Self {
        self.config.spin = spin;
        self
    }

    /// Whether worker `w` stays on the `w + 1`-th of the processors that the process may use,
    /// counted round. Default: no. Where the system cannot do it, nothing happens.
    pub fn pin(mut self, pin: bool) -> Self {
        self.config.pin = pin;
        self
    }

    /// Whether a thread from outside the pool that calls [`ThreadPool::join`], [`ThreadPool::scope`] or the
    /// like may run the call itself, as if it were one of the workers that sleep. Default: yes, unless the
    /// workers have a name, a stack size or a handler of their own; it ends with the first broadcast.
    pub fn guests(mut self, guests: bool) -> Self {
        self.config.guests = guests;
        self
    }

    /// Whether a worker takes up the oldest of its own tasks first. Default: no, the newest.
    pub fn oldest_first(mut self, oldest_first: bool) -> Self {
        self.config.oldest_first = oldest_first;
        self
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn reckon_with(&mut self, processors: usize) {
        self.config.processors = Some(processors);
    }

    /// The stack size of the workers in bytes. Default: the standard library's, which is what `RUST_MIN_STACK` says, or 2 MiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// The name of worker `w`. Default: `conga-w`. NULs in it are left out; Linux shows the first 15
    /// bytes. `name` is called while the pool grows, on the thread that makes it grow, and must not
    /// use the pool.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.config.name = Some(Box::new(name));
        self
    }

    /// Is called by each worker, with its number, before it does anything else. Its panic is
    /// treated as that of a task.
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_start = Some(Box::new(handler));
        self
    }

    /// Is called by each worker, with its number, when it ends. Its panic is treated as that of a
    /// task.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.on_exit = Some(Box::new(handler));
        self
    }

    /// Gets the payload of each panic of a task of [`ThreadPool::add_task`]. Without a handler such
    /// a panic aborts the process, since nobody waits for a task who could be told. A panic of the
    /// handler aborts, too. (A panic in a loop reaches the loop's caller.)
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.config.on_panic = Some(Box::new(handler));
        self
    }

    /// Makes the pool and starts its workers. Where the system refuses a thread the pool has those
    /// it got, none included: [`ThreadPool::num_threads`] tells how many lanes there are.
    ///
    /// # Errors
    ///
    /// Only for a configuration that makes no sense, see [`BuildError`].
    pub fn build(self) -> Result<ThreadPool, BuildError> {
        let pool = self.build_without_workers()?;
        pool.ensure_threads(pool.shared().config.lanes);
        Ok(pool)
    }

    /// Checks the configuration; the workers are started later.
    pub(crate) fn build_without_workers(mut self) -> Result<ThreadPool, BuildError> {
        let config = &mut self.config;
        if config.lanes == 0 {
            config.lanes = default_lanes();
        }
        if config.lanes > MAX_THREADS {
            return Err(BuildError::TooManyThreads {
                asked: config.lanes,
            });
        }
        if config.spin > tuning::IDLE_SPIN_MAX {
            return Err(BuildError::SpinTooLong { asked: config.spin });
        }
        if config.stack_size == Some(0) {
            return Err(BuildError::NoStack);
        }
        config.guests &= config.stack_size.is_none()
            && config.name.is_none()
            && config.on_start.is_none()
            && config.on_exit.is_none();
        Ok(ThreadPool::from_config(Arc::new(self.config)))
    }
}

impl fmt::Debug for ThreadPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.config.lanes)
            .field("dispatch", &self.config.dispatch)
            .field("spin", &self.config.spin)
            .field("pin", &self.config.pin)
            .field("stack_size", &self.config.stack_size)
            .finish_non_exhaustive()
    }
}

/// Lanes where nobody said how many.
pub(crate) fn default_lanes() -> usize {
    processors().min(MAX_THREADS)
}

/// Why a pool cannot be what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// More than 65,536 threads.
    TooManyThreads {
        /// How many were asked for.
        asked: usize,
    },
    /// A spin of more than 200 µs.
    SpinTooLong {
        /// How long was asked for.
        asked: Duration,
    },
    /// A stack of no bytes.
    NoStack,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::TooManyThreads { asked } => write!(
                f,
                "a pool of {asked} threads was asked for, but a pool has at most {MAX_THREADS}: ask for fewer, or for 0 to get one per processor"
            ),
            BuildError::SpinTooLong { asked } => write!(
                f,
                "a spin of {asked:?} was asked for, but workers spin for at most {:?}: ask for less, or for zero to have them sleep at once",
                tuning::IDLE_SPIN_MAX
            ),
            BuildError::NoStack => f.write_str(
                "a stack of 0 bytes was asked for: ask for as much as the loop bodies need, or leave it out to get the default",
            ),
        }
    }
}

impl std::error::Error for BuildError {}
