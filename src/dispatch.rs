//! `Dispatch`: which strategy a loop uses.

/// How a loop brings workers in.
///
/// | | who is called | bodies that wait for each other |
/// |---|---|---|
/// | `PerThread` | all lanes at once, through the queue | any bodies of different blocks meet, while workers are free |
/// | `Chained` | each lane that starts queues the next one | the same |
/// | `Adaptive` | each lane that starts calls the next one | bodies of different *claims* meet: certain only for as many indices as lanes |
///
/// Bits never depend on it.
///
/// Under `Chained` and `Adaptive` a loop whose expected work is below the price of a worker calls
/// nobody: the pool remembers what a loop costs by its body, the place of its call (the
/// [`parallel_for`](crate::ThreadPool::parallel_for) or whatever stands for it) and its length to
/// the next power of two, and measures its own prices. A loop that it has not seen yet is taken for
/// expensive. One that stays open although it was taken for light is entered by a worker after one
/// to two milliseconds, six to twelve where loops are rare, and that worker brings in the next.
///
/// What to expect, with a worker that spins: loops below 2 µs or so run alone under `Adaptive` and
/// `Chained`, at any number of threads, for some 70 ns more than the plain loop; `PerThread` grows with
/// every thread. Above, `Adaptive` is the fastest of the three, most of all where blocks are uneven,
/// because only it cuts finer than four blocks a lane, and where threads outnumber processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Dispatch {
    /// One task per lane is queued before work starts, and single blocks are claimed: the old way,
    /// kept to measure against.
    PerThread,
    /// A lane that starts takes the next id from an atomic counter and, if ids and blocks remain,
    /// queues exactly one successor before its first block; single blocks are claimed in order.
    /// Ceres Solver's way, and the one for bodies that wait for each other. (The successor of a loop
    /// that is known to be light is left out, as long as the loop does not stay open.)
    Chained,
    /// The chain without the queue: a lane that starts calls the next worker directly, or the next two
    /// where the loop is known to be large. Each lane looks after a run of blocks first, the same one in
    /// loop after loop, and takes several at a time. Nobody is woken for whom there is no processor,
    /// unless the loop stays open for long.
    #[default]
    Adaptive,
}
