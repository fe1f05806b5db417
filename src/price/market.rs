//! `Market`: what starting a worker costs, measured whenever one starts.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// In which state a worker was when it was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Spinning,
    Parked,
}

/// A moving average of ticks; 0 until there is a sample.
#[derive(Debug, Default)]
struct Average(AtomicU64);

/// A sample counts for an eighth.
const WEIGHT: u64 = 8;
/// A sample of more than this many averages counts as that many: a thread that lost its processor
/// for a while says little about the price, and one that says so again and again is believed.
const OUTLIER: u64 = 4;

impl Average {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes a sample in. Of two at once one may be lost.
    fn add(&self, sample: u64) {
        let old = self.get();
        let new = if old == 0 {
            sample
        } else {
            let sample = sample.min(old * OUTLIER);
            old - old / WEIGHT + sample / WEIGHT
        };
        self.0.store(new.max(1), Ordering::Relaxed);
    }
}

/// The prices of one pool. Written when a worker starts, which is rare compared with how often they
/// are read.
#[derive(Debug, Default)]
pub(crate) struct Market {
    /// From a call to the called worker's first look at the loop.
    start_spinning: Average,
    start_parked: Average,
    /// What calling a parked worker costs the caller.
    call_parked: Average,
}

impl Market {
    /// A worker has started, which was called at `called`.
    pub(crate) fn started(&self, start: Start, called: u64) {
        self.sample(start, clock::between(called, clock::now()));
    }

    /// A call that began at `called` woke a parked worker and has returned.
    pub(crate) fn woke(&self, called: u64) {
        self.sample_call(clock::between(called, clock::now()));
    }

    /// A worker took so long to start.
    pub(super) fn sample(&self, start: Start, ticks: u64) {
        match start {
            Start::Spinning => self.start_spinning.add(ticks),
            Start::Parked => self.start_parked.add(ticks),
        }
    }

    /// Waking a worker took so long.
    pub(super) fn sample_call(&self, ticks: u64) {
        self.call_parked.add(ticks);
    }

    /// How long a called worker that spins takes to start. As long as none was seen, it counts as
    /// an eighth of a parked one.
    #[inline]
    pub(crate) fn start_spinning(&self) -> u64 {
        match self.start_spinning.get() {
            0 => self.start_parked.get() / 8,
            ticks => ticks,
        }
    }

    /// What calling a parked worker costs its caller, and what passes until that worker starts.
    pub(crate) fn wake(&self) -> (u64, u64) {
        (self.call_parked.get(), self.start_parked.get())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches an average that one outlier carries away, or that does not follow a lasting change.
    #[test]
    fn averages_follow_but_do_not_jump() {
        let average = Average::default();
        average.add(100);
        assert_eq!(average.get(), 100);
        average.add(1_000_000);
        assert!(average.get() < 200);
        for _ in 0..100 {
            average.add(10_000);
        }
        assert!((5_000..20_000).contains(&average.get()));
        for _ in 0..100 {
            average.add(10);
        }
        assert!(average.get() < 100);
    }
}
