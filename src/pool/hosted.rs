//! Hosted pools: somebody else starts the threads.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use super::builder::{BuildError, ThreadPoolBuilder};
use super::member::Member;
use super::shared::Shared;
use super::{worker, ThreadPool};

/// A worker that has no thread yet. See [`ThreadPoolBuilder::build_hosted`].
pub struct HostedThread {
    shared: Arc<Shared>,
    index: usize,
}

impl HostedThread {
    /// The number of the worker.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Makes the calling thread this worker. Returns when the pool has been dropped and nothing is left to
    /// do in it.
    pub fn run(self) {
        worker::main(&self.shared, self.index);
    }
}

impl fmt::Debug for HostedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedThread")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// Why a hosted pool could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostError {
    /// The configuration makes no sense.
    Configuration(BuildError),
    /// A thread could not be started.
    Thread(io::Error),
    /// The calling thread was to become a worker, and is one already.
    IsWorker,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Configuration(error) => error.fmt(f),
            HostError::Thread(error) => write!(
                f,
                "a thread of a hosted pool could not be started ({error}): ask for fewer"
            ),
            HostError::IsWorker => f.write_str(
                "the calling thread was to become a worker of a pool but is one of another already: make the pool on another thread",
            ),
        }
    }
}

impl Error for HostError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            HostError::Configuration(error) => Some(error),
            HostError::Thread(error) => Some(error),
            HostError::IsWorker => None,
        }
    }
}

impl ThreadPoolBuilder {
    /// Makes a pool whose threads are started by `start`: it is called once for each worker, and has to
    /// see to it that some thread calls [`HostedThread::run`] some time. For scoped threads, threads
    /// with a priority, or systems without threads of their own.
    ///
    /// If `current_is_first` the calling thread becomes worker 0, for good: it runs tasks whenever it
    /// waits for one.
    ///
    /// Such a pool does not join its threads when it is dropped. In a forked child it has none.
    ///
    /// # Errors
    ///
    /// The first error of `start`, after which the workers that were started end;
    /// [`HostError::IsWorker`] if the calling thread cannot become a worker.
    pub fn build_hosted(
        self,
        current_is_first: bool,
        mut start: impl FnMut(HostedThread) -> io::Result<()>,
    ) -> Result<ThreadPool, HostError> {
        let pool = self
            .build_without_workers()
            .map_err(HostError::Configuration)?;
        let shared = pool.shared_arc();
        for worker in 0..shared.config.lanes - 1 {
            let index = shared.sleepers.prepare();
            debug_assert_eq!(index, worker);
            shared.worker_counts.get_or_make(index);
            if index == 0 && current_is_first {
                if !Member::become_for_good(&shared, index) {
                    return Err(HostError::IsWorker);
                }
            } else {
                let thread = HostedThread {
                    shared: Arc::clone(&shared),
                    index,
                };
                start(thread).map_err(HostError::Thread)?;
            }
            shared.admit(index);
        }
        shared.lanes.store(shared.config.lanes, Ordering::Relaxed);
        Ok(pool)
    }
}
