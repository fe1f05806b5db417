//! `Market`: what starting a worker costs, measured whenever one starts.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// In which state a worker was when it was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Spinning,
    Parked,
}

/// What something costs, in ticks: the lowest of the first few samples, then a moving average. It is 0
/// until there is a sample, and asked in full only once there are a few: a price that is too high is
/// not paid, so no sample would ever mend it.
#[derive(Debug, Default)]
struct Price {
    /// What is asked.
    asked: AtomicU64,
    average: AtomicU64,
    /// The lowest that the average has been, since it was trusted.
    lowest: AtomicU64,
    samples: AtomicU64,
}

/// A lower sample counts for an eighth and a higher one for a sixteenth: what can be had is the price,
/// and a thread that lost its processor for a while says little about it.
const WEIGHT_DOWN: u64 = 8;
const WEIGHT_UP: u64 = 16;
/// A sample of more than this many averages counts as that many; one that says so again and again is
/// believed.
const OUTLIER: u64 = 2;
/// After so many samples the average is trusted; for each that is missing a quarter of it is asked.
const TRUSTED: u64 = 4;

impl Price {
    #[inline]
    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn is_trusted(&self) -> bool {
        self.samples.load(Ordering::Relaxed) >= TRUSTED
    }

    /// Takes a sample in. Of two at once one may be lost.
    fn add(&self, sample: u64) {
        let old = self.average.load(Ordering::Relaxed);
        let new = if old == 0 || (sample < old && !self.is_trusted()) {
            sample
        } else if !self.is_trusted() {
            old
        } else if sample < old {
            old - (old - sample) / WEIGHT_DOWN
        } else {
            old + (sample.min(old * OUTLIER) - old).div_ceil(WEIGHT_UP)
        };
        let lowest = self.lowest.load(Ordering::Relaxed);
        if !self.is_trusted() || new < lowest || lowest == 0 {
            self.lowest.store(new, Ordering::Relaxed);
        }
        self.average.store(new.max(1), Ordering::Relaxed);
        self.count();
    }

    /// A sample has been taken, or could not be had.
    fn count(&self) {
        let samples = self.samples.load(Ordering::Relaxed);
        self.samples.store(samples + 1, Ordering::Relaxed);
        self.ask();
    }

    fn ask(&self) {
        let average = self.average.load(Ordering::Relaxed);
        let missing = TRUSTED.saturating_sub(self.samples.load(Ordering::Relaxed));
        let asked = average.div_ceil(1 << (2 * missing));
        self.asked.store(asked, Ordering::Relaxed);
    }

    /// Takes the price for half of what it was, though not for less than it has ever been since it was
    /// trusted.
    fn doubt(&self) {
        let half = self.average.load(Ordering::Relaxed) / 2;
        if self.is_trusted() {
            let lowest = self.lowest.load(Ordering::Relaxed);
            self.average.store(half.max(lowest), Ordering::Relaxed);
        } else {
            self.average.store(half, Ordering::Relaxed);
        }
        self.ask();
    }
}

/// The prices of one pool. Written when a worker starts, which is rare compared with how often they
/// are read.
#[derive(Debug, Default)]
pub(crate) struct Market {
    /// From a call to the called worker's first look at the loop.
    start_spinning: Price,
    start_parked: Price,
    /// What calling a parked worker costs the caller.
    call_parked: Price,
}

impl Market {
    /// A worker has started, which was called at `called`.
    pub(crate) fn started(&self, start: Start, called: u64) {
        self.sample(start, clock::between(called, clock::now()));
    }

    /// A worker took so long to start.
    pub(super) fn sample(&self, start: Start, ticks: u64) {
        match start {
            Start::Spinning => self.start_spinning.add(ticks),
            Start::Parked => self.start_parked.add(ticks),
        }
    }

    /// Waking a parked worker took its caller so long.
    pub(crate) fn woke(&self, ticks: u64) {
        self.call_parked.add(ticks);
    }

    /// How long a called worker that spins takes to start. As long as none was seen, it counts as
    /// an eighth of a parked one.
    #[inline]
    pub(crate) fn start_spinning(&self) -> u64 {
        match self.start_spinning.asked() {
            0 => self.start_parked.asked() / 8,
            ticks => ticks,
        }
    }

    /// Whether that is known well enough to be refused.
    pub(crate) fn knows_spinning(&self) -> bool {
        self.start_spinning.is_trusted()
    }

    /// A worker is woken, which would spin afterwards: where no sample comes of that, what is known
    /// must do after a few times.
    pub(crate) fn tries_to_know_spinning(&self) {
        if !self.knows_spinning() {
            self.start_spinning.count();
        }
    }

    /// Loops have found it too high for long, though not by far: it may have come down.
    pub(crate) fn doubt_spinning(&self) {
        match self.start_spinning.asked() {
            0 => self.start_parked.doubt(),
            _ => self.start_spinning.doubt(),
        }
    }

    /// What calling a parked worker costs its caller, and what passes until that worker starts.
    pub(crate) fn wake(&self) -> (u64, u64) {
        (self.call_parked.asked(), self.start_parked.asked())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn after(samples: impl IntoIterator<Item = u64>) -> Price {
        let price = Price::default();
        samples.into_iter().for_each(|sample| price.add(sample));
        price
    }

    /// Catches an average that one outlier carries away, or that does not follow a lasting change.
    #[test]
    fn prices_follow_but_do_not_jump() {
        let price = after([100; TRUSTED as usize]);
        assert_eq!(price.asked(), 100);
        price.add(1_000_000);
        assert!(price.asked() < 200);
        (0..100).for_each(|_| price.add(10_000));
        assert!((5_000..20_000).contains(&price.asked()));
        (0..100).for_each(|_| price.add(10));
        assert!(price.asked() < 100);
        // Of the first ones the lowest counts.
        assert_eq!(after([9000, 100, 8000, 7000]).asked(), 100);
    }

    /// Catches a first sample that is asked in full, which nobody pays, so that there is no second.
    #[test]
    fn a_price_is_asked_in_full_once_it_is_known() {
        let asked = [1, 2, 3, 4, 5].map(|samples| after(vec![6400; samples]).asked());
        assert_eq!(asked, [100, 400, 1600, 6400, 6400]);
    }

    /// A worker that was called while its thread was being made took a millisecond to start: catches a
    /// pool that calls nobody after that, because what a worker that spins takes was never seen.
    #[test]
    fn one_slow_start_is_not_the_price_for_ever() {
        let market = Market::default();
        market.sample(Start::Parked, 3_000_000);
        assert!(market.start_spinning() < 10_000);
        (0..20).for_each(|_| market.doubt_spinning());
        assert!(market.start_spinning() < 10);
    }

    /// Catches a price that stays too high for ever, and one that is talked down to nothing.
    #[test]
    fn a_doubted_price_falls_to_the_lowest_it_was() {
        let first = after([1_000_000]);
        (0..20).for_each(|_| first.doubt());
        assert!(first.asked() < 10);

        let price = after([100; TRUSTED as usize]);
        (0..100).for_each(|_| price.add(10_000));
        let high = price.asked();
        price.doubt();
        assert_eq!(price.asked(), high / 2);
        (0..100).for_each(|_| price.doubt());
        assert_eq!(price.asked(), 100);
    }
}
