//! `IdleSet`: which workers have nothing to do.

use crossbeam_utils::CachePadded;

use crate::sync::atomic::{AtomicU64, Ordering};

/// A set of worker numbers, one bit each. Whoever takes a bit out, and nobody else, decides what
/// that worker does next: the worker itself ([`withdraw`](IdleSet::withdraw)) or somebody who needs
/// it ([`claim`](IdleSet::claim)).
///
/// The lowest number goes first. So the same few workers, with warm caches and the same lanes, are
/// brought in time after time and the others sleep on: what a stack of sleepers is for, without its
/// trouble (a sleeper in the middle of a stack cannot leave).
pub(crate) struct IdleSet {
    words: Box<[CachePadded<AtomicU64>]>,
}

impl IdleSet {
    /// An empty set of numbers below `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        IdleSet {
            words: (0..capacity.div_ceil(64).max(1))
                .map(|_| CachePadded::new(AtomicU64::new(0)))
                .collect(),
        }
    }

    /// Puts `worker` in. It must not be in yet, and must look again for work after a
    /// `fence(SeqCst)`.
    pub(crate) fn announce(&self, worker: usize) {
        let bit = 1 << (worker % 64);
        // Release: partner is the Acquire in `claim`, so that the claimer's call finds the worker's
        // earlier call taken.
        let before = self.words[worker / 64].fetch_or(bit, Ordering::Release);
        debug_assert_eq!(before & bit, 0, "worker {worker} announced twice");
    }

    /// Takes `worker` out, unless somebody has claimed it: then a call to it is on its way.
    pub(crate) fn withdraw(&self, worker: usize) -> bool {
        let bit = 1 << (worker % 64);
        // Relaxed: the answer is about one word; what a claimer wants to say comes with its call.
        self.words[worker / 64].fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Takes the lowest of the first `workers` numbers out. The caller owes that worker a call.
    #[inline]
    pub(crate) fn claim(&self, workers: usize) -> Option<usize> {
        self.claim_where(workers, |_| true)
    }

    /// The same of those that are `fit`, as far as can be known before they are out.
    #[inline]
    pub(crate) fn claim_where(&self, workers: usize, fit: impl Fn(usize) -> bool) -> Option<usize> {
        for (w, word) in self.words.iter().take(workers.div_ceil(64)).enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                let worker = w * 64 + bit.trailing_zeros() as usize;
                if !fit(worker) {
                    bits &= !bit;
                    continue;
                }
                // Acquire: partner is the Release in `announce`.
                let before = word.fetch_and(!bit, Ordering::Acquire);
                if before & bit != 0 {
                    return Some(worker);
                }
                // The lower ones have been looked at.
                bits = before & !(bit | (bit - 1));
            }
        }
        None
    }

    /// Takes `worker` out for somebody else, who then owes it a call. False: it is not in.
    pub(crate) fn claim_this(&self, worker: usize) -> bool {
        let (word, bit) = (&self.words[worker / 64], 1 << (worker % 64));
        // Acquire: partner is the Release in `announce`.
        word.load(Ordering::Relaxed) & bit != 0
            && word.fetch_and(!bit, Ordering::Acquire) & bit != 0
    }

    /// Whether none of the first `workers` numbers is in, at some moment during the call.
    #[inline(always)]
    pub(crate) fn is_empty(&self, workers: usize) -> bool {
        let is_empty = |word: &CachePadded<AtomicU64>| word.load(Ordering::Relaxed) == 0;
        is_empty(&self.words[0]) && (workers <= 64 || self.words[1..].iter().all(is_empty))
    }

    /// How many of the first `workers` numbers are in, at some moment during the call.
    pub(crate) fn len(&self, workers: usize) -> usize {
        let words = self.words.iter().take(workers.div_ceil(64));
        words
            .map(|word| word.load(Ordering::Relaxed).count_ones() as usize)
            .sum()
    }
}
