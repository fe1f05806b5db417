//! `ThreadPoolBuilder`: how a pool is set up.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use conga::{HostError, HostedThread};

use crate::thread_pool::{Registry, ThreadPool};
use crate::{default_num_threads, global, guests_are_wanted, max_num_threads};

type Handler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// Sets up a [`ThreadPool`], or the global one.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    breadth_first: bool,
    stack_size: Option<usize>,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<Handler>,
    exit_handler: Option<Handler>,
    spawn: S,
}

/// A thread that is to be started for a pool. See [`ThreadPoolBuilder::spawn_handler`].
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    thread: HostedThread,
    registry: Arc<Registry>,
}

impl ThreadBuilder {
    /// The index of the thread in its pool.
    pub fn index(&self) -> usize {
        self.thread.index()
    }

    /// The name that was asked for.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size that was asked for.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Makes the calling thread part of the pool, until the pool ends.
    pub fn run(self) {
        self.thread.run();
        self.registry.end();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name())
            .field("stack_size", &self.stack_size())
            .finish()
    }
}

/// How threads are started.
///
/// Not for others to implement.
pub trait ThreadSpawn: private::Sealed {
    /// Starts one.
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
    /// Whether it is the usual way.
    #[doc(hidden)]
    const IS_USUAL: bool;
}

mod private {
    pub trait Sealed {}
}

/// Threads of the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

/// Threads that the user starts.
pub struct CustomSpawn<F>(F);

impl private::Sealed for DefaultSpawn {}
impl<F> private::Sealed for CustomSpawn<F> {}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let mut builder = thread::Builder::new();
        if let Some(name) = thread.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(bytes) = thread.stack_size() {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(|| thread.run())?;
        Ok(())
    }
    const IS_USUAL: bool = true;
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
    const IS_USUAL: bool = false;
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            breadth_first: false,
            stack_size: None,
            name: None,
            panic_handler: None,
            start_handler: None,
            exit_handler: None,
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder of a pool as it is by default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pool on scoped threads: `wrapper` is called on each of them, and calls
    /// [`ThreadBuilder::run`]; `with_pool` is called with the pool, which ends when it returns.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let mut builder = thread::Builder::new();
                    if let Some(name) = thread.name() {
                        builder = builder.name(name.to_owned());
                    }
                    if let Some(bytes) = thread.stack_size() {
                        builder = builder.stack_size(bytes);
                    }
                    builder.spawn_scoped(scope, || wrapper(thread))?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

#[allow(private_bounds)]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes the pool.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started, or if the calling thread is to be part of it and is part of another.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.make()
    }

    /// Makes the global pool.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), and if there is a global pool already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        global::set(|| self.make())
    }

    fn make(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let num_threads = match self.num_threads {
            0 => default_num_threads(),
            n => n,
        };
        let num_threads = num_threads.min(max_num_threads());
        let is_plain = S::IS_USUAL
            && self.name.is_none()
            && self.stack_size.is_none()
            && !self.use_current_thread;
        let mut builder = conga::ThreadPool::builder()
            .num_threads(num_threads + 1)
            .guests(is_plain && guests_are_wanted())
            .oldest_first(self.breadth_first);
        if let Some(handler) = self.panic_handler.take() {
            builder = builder.panic_handler(handler);
        }
        if let Some(handler) = self.start_handler.take() {
            builder = builder.start_handler(handler);
        }
        if let Some(handler) = self.exit_handler.take() {
            builder = builder.exit_handler(handler);
        }
        let registry = Arc::new(Registry::default());
        let (name, stack_size, spawn) = (&mut self.name, self.stack_size, &mut self.spawn);
        let pool = builder.build_hosted(self.use_current_thread, |thread| {
            let name = name.as_mut().map(|name| name(thread.index()));
            registry.start();
            spawn.spawn(ThreadBuilder {
                name,
                stack_size,
                thread,
                registry: Arc::clone(&registry),
            })
        });
        match pool {
            Ok(pool) => Ok(ThreadPool::own(pool, registry)),
            Err(HostError::Thread(error)) => Err(ErrorKind::Io(error).into()),
            Err(HostError::IsWorker) => Err(ErrorKind::CurrentThreadAlreadyInPool.into()),
            Err(error) => unreachable!("{error}"),
        }
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts the threads by `spawn`, which must see to it that each calls [`ThreadBuilder::run`].
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            breadth_first: self.breadth_first,
            stack_size: self.stack_size,
            name: self.name,
            panic_handler: self.panic_handler,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Names the threads by their index.
    pub fn thread_name<F>(mut self, name: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.name = Some(Box::new(name));
        self
    }

    /// How many threads. 0, the default, means `RAYON_NUM_THREADS`, or as many as can run at a time.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// The calling thread becomes the pool's thread 0, for good.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Is given the panics of what nobody waits for. Without it they abort the process.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// The threads' stack size in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Whether each thread takes up the oldest of its own tasks first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Is called by each thread, with its index, when it starts.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Is called by each thread, with its index, when it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Closure;
        impl fmt::Debug for Closure {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("<closure>")
            }
        }
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("get_thread_name", &self.name.as_ref().map(|_| Closure))
            .field(
                "panic_handler",
                &self.panic_handler.as_ref().map(|_| Closure),
            )
            .field("stack_size", &self.stack_size)
            .field(
                "start_handler",
                &self.start_handler.as_ref().map(|_| Closure),
            )
            .field("exit_handler", &self.exit_handler.as_ref().map(|_| Closure))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}

/// Why a pool could not be made.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

const GLOBAL_POOL_ALREADY_INITIALIZED: &str =
    "The global thread pool has already been initialized.";
const CURRENT_THREAD_ALREADY_IN_POOL: &str =
    "The current thread is already part of another thread pool.";

#[derive(Debug)]
pub(crate) enum ErrorKind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    Io(io::Error),
}

impl From<ErrorKind> for ThreadPoolBuildError {
    fn from(kind: ErrorKind) -> Self {
        ThreadPoolBuildError { kind }
    }
}

impl ThreadPoolBuildError {
    /// Whether this system has no threads.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(&self.kind, ErrorKind::Io(error) if error.kind() == io::ErrorKind::Unsupported)
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::GlobalPoolAlreadyInitialized => f.write_str(GLOBAL_POOL_ALREADY_INITIALIZED),
            ErrorKind::CurrentThreadAlreadyInPool => f.write_str(CURRENT_THREAD_ALREADY_IN_POOL),
            ErrorKind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.kind {
            ErrorKind::GlobalPoolAlreadyInitialized => GLOBAL_POOL_ALREADY_INITIALIZED,
            ErrorKind::CurrentThreadAlreadyInPool => CURRENT_THREAD_ALREADY_IN_POOL,
            ErrorKind::Io(error) => error.description(),
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
