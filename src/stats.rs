//! `Stats`: what a pool has done so far.

use crate::count::Count;

/// What a pool has done since it was made, summed over its slots and workers.
///
/// Counting is always on and costs nothing shared: each counter has one writer. A snapshot taken
/// while loops run is not of one moment; with no loop running it is exact, but for workers that
/// have not yet gone back to sleep. Loops that run on their caller alone by definition (one lane,
/// or fewer than `2 * min_block_size` indices) are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Loops that were opened to the workers.
    pub loops: u64,
    /// Loops in which another lane than the caller's ran a block.
    pub loops_brought_in: u64,
    /// Calls to idle workers: to a loop, to a task, or to a place in a chain.
    pub wake_ups: u64,
    /// Calls after which the worker found nothing to do.
    pub wake_ups_found_nothing: u64,
    /// Calls to idle workers to take the watch over loops that call nobody.
    pub watch_calls: u64,
    /// Times that the worker on watch woke up by itself and looked at the loops.
    pub watch_looks: u64,
    /// Loops that the worker on watch found open for so long that it took part.
    pub watch_entries: u64,
    /// Blocks that callers ran themselves.
    pub blocks_by_caller: u64,
    /// Blocks that workers ran.
    pub blocks_by_others: u64,
    /// Blocks that a lane took from another lane's run.
    pub blocks_from_other_runs: u64,
    /// Tasks of [`add_task`](crate::ThreadPool::add_task) that workers have finished.
    pub tasks: u64,
    /// Worker threads that were started.
    pub threads_started: u64,
    /// Worker threads that the system refused to start.
    pub threads_refused: u64,
    /// Times that a worker went to sleep.
    pub parks: u64,
    /// Times that a worker was called while it spun.
    pub spins_met_work: u64,
}

/// What one thread counts: the owner of a slot, or a worker.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) loops: Count,
    pub(crate) loops_brought_in: Count,
    pub(crate) wake_ups: Count,
    pub(crate) wake_ups_found_nothing: Count,
    pub(crate) watch_calls: Count,
    pub(crate) watch_looks: Count,
    pub(crate) watch_entries: Count,
    pub(crate) blocks: Count,
    pub(crate) blocks_from_other_runs: Count,
    pub(crate) tasks: Count,
    pub(crate) parks: Count,
    pub(crate) spins_met_work: Count,
}

impl Stats {
    /// Adds what the owners of one slot counted.
    pub(crate) fn add_owner(&mut self, counts: &Counts) {
        self.blocks_by_caller += counts.blocks.get();
        self.add(counts);
    }

    /// Adds what one worker counted.
    pub(crate) fn add_worker(&mut self, counts: &Counts) {
        self.blocks_by_others += counts.blocks.get();
        self.add(counts);
    }

    fn add(&mut self, counts: &Counts) {
        self.loops += counts.loops.get();
        self.loops_brought_in += counts.loops_brought_in.get();
        self.wake_ups += counts.wake_ups.get();
        self.wake_ups_found_nothing += counts.wake_ups_found_nothing.get();
        self.watch_calls += counts.watch_calls.get();
        self.watch_looks += counts.watch_looks.get();
        self.watch_entries += counts.watch_entries.get();
        self.blocks_from_other_runs += counts.blocks_from_other_runs.get();
        self.tasks += counts.tasks.get();
        self.parks += counts.parks.get();
        self.spins_met_work += counts.spins_met_work.get();
    }
}
