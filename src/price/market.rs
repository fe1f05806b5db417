//! `Market`: what starting a worker costs, measured whenever one starts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::clock;

/// In which state a worker was when it was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Spinning,
    Parked,
}

/// What something costs, in ticks; 0 until that is known.
///
/// What is known is a geometric mean: a worker that had lost its processor starts a thousand times later
/// than others, and one that was about to sleep ten times sooner, and either may be the first that is
/// seen. What is asked may be less: a price that is too high is not paid, so no sample would ever mend
/// it.
#[derive(Debug, Default)]
struct Price {
    /// What is asked, on a line of its own.
    asked: CachePadded<AtomicU64>,
    /// The mean: the bits of its logarithm, to base 2.
    mean: AtomicU32,
    /// The lowest that the mean has been, of enough samples.
    lowest: AtomicU32,
    samples: AtomicU32,
    /// Samples that were looked for and not found.
    missed: AtomicU32,
}

/// A lower sample counts for an eighth and a higher one for a sixteenth: what can be had is the price,
/// and a thread that lost its processor for a while says little about it.
const WEIGHT_DOWN: f32 = 8.0;
const WEIGHT_UP: f32 = 16.0;
/// A sample counts for no more than twice the mean, nor less than half of it, once there are enough; one
/// that says so again and again is believed.
const OUTLIER: f32 = 1.0;
/// So many samples are enough.
const TRUSTED: u32 = 4;
/// A worker that spins is guessed to start so many times faster than one that is parked, and in no more
/// time than it takes to call that one: what is a system call there is a line that moves here.
const GUESS: u64 = 8;

impl Price {
    #[inline]
    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn samples(&self) -> u32 {
        self.samples.load(Ordering::Relaxed)
    }

    fn is_trusted(&self) -> bool {
        match self.samples() {
            0 => self.missed.load(Ordering::Relaxed) >= TRUSTED,
            samples => samples >= TRUSTED,
        }
    }

    /// Takes a sample in, and asks for `part` of the price for each sample that is missing. Of two at
    /// once one may be lost.
    fn add(&self, sample: u64, part: u64) {
        let (sample, samples) = ((sample.max(1) as f32).log2(), self.samples());
        let old = f32::from_bits(self.mean.load(Ordering::Relaxed));
        let mean = if samples < TRUSTED {
            old + (sample - old) / (samples + 1) as f32
        } else {
            let step = (sample - old).clamp(-OUTLIER, OUTLIER);
            old + step / if step < 0.0 { WEIGHT_DOWN } else { WEIGHT_UP }
        };
        self.mean.store(mean.to_bits(), Ordering::Relaxed);
        let lowest = f32::from_bits(self.lowest.load(Ordering::Relaxed));
        if samples < TRUSTED || mean < lowest {
            self.lowest.store(mean.to_bits(), Ordering::Relaxed);
        }
        self.samples
            .store(samples.saturating_add(1), Ordering::Relaxed);
        let missing = TRUSTED.saturating_sub(samples.saturating_add(1));
        self.ask(mean.exp2() as u64 / part.pow(missing));
    }

    /// Whoever asks for the price has the line: it is written only where it changes by much.
    fn ask(&self, price: u64) {
        let (price, old) = (price.max(1), self.asked());
        if price.abs_diff(old) > old / 16 {
            self.asked.store(price, Ordering::Relaxed);
        }
    }

    /// Takes the price for half of what it was, though not for less than it has ever been.
    fn doubt(&self) {
        let lowest = if self.samples() < TRUSTED {
            0
        } else {
            f32::from_bits(self.lowest.load(Ordering::Relaxed)).exp2() as u64
        };
        self.ask((self.asked() / 2).max(lowest));
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
            Start::Spinning => {
                // No longer than from its sleep: else it had lost its processor.
                let most = if self.knows_waking() {
                    self.start_parked.asked()
                } else {
                    ticks
                };
                // It is cheap to try.
                self.start_spinning.add(ticks.min(most), 4);
            }
            Start::Parked => self.start_parked.add(ticks, 1),
        }
    }

    /// Waking a parked worker took its caller so long.
    pub(crate) fn woke(&self, ticks: u64) {
        self.call_parked.add(ticks, 1);
    }

    /// How long a called worker that spins takes to start. As long as none was seen, it is guessed.
    #[inline]
    pub(crate) fn start_spinning(&self) -> u64 {
        match self.start_spinning.asked() {
            0 => (self.start_parked.asked() / GUESS).min(self.call_parked.asked()),
            ticks => ticks,
        }
    }

    /// Whether that is known well enough to be refused.
    pub(crate) fn knows_spinning(&self) -> bool {
        self.start_spinning.is_trusted()
    }

    /// The same for a worker that sleeps.
    pub(crate) fn knows_waking(&self) -> bool {
        self.start_parked.is_trusted()
    }

    /// A worker is woken, which would spin afterwards: where no sample comes of that, what is known
    /// must do after a few times.
    pub(crate) fn tries_to_know_spinning(&self) {
        if !self.knows_spinning() {
            let missed = &self.start_spinning.missed;
            missed.store(missed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Loops have found it too high for long, though not by far: it may have come down.
    pub(crate) fn doubt_spinning(&self) {
        self.start_spinning.ask(self.start_spinning());
        self.start_spinning.doubt();
    }

    /// The same for a worker that sleeps.
    pub(crate) fn doubt_waking(&self) {
        self.start_parked.doubt();
    }

    /// What calling a parked worker costs its caller, and what passes until that worker starts.
    pub(crate) fn wake(&self) -> (u64, u64) {
        (self.call_parked.asked(), self.start_parked.asked())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What is asked after these samples, a quarter of it for each that is missing.
    fn after(samples: impl IntoIterator<Item = u64>) -> Price {
        let price = Price::default();
        samples.into_iter().for_each(|sample| price.add(sample, 4));
        price
    }

    /// Catches a mean that one outlier carries away, or that does not follow a lasting change.
    #[test]
    fn prices_follow_but_do_not_jump() {
        let price = after([100; TRUSTED as usize]);
        assert!((98..=100).contains(&price.asked()));
        price.add(1_000_000, 4);
        assert!(price.asked() < 110);
        (0..200).for_each(|_| price.add(10_000, 4));
        assert!((9_000..=10_000).contains(&price.asked()));
        (0..200).for_each(|_| price.add(10, 4));
        assert!(price.asked() < 15);
    }

    /// The first ones may be of another kind than the rest: catches a price that stays with them.
    #[test]
    fn first_samples_are_forgotten() {
        for odd in [30, 10_000_000] {
            let price = after([odd, 1000, 1000, 1000]);
            (0..40).for_each(|_| price.add(1000, 4));
            assert!((700..1500).contains(&price.asked()), "{}", price.asked());
        }
    }

    /// Catches a first sample that is asked in full, which nobody pays, so that there is no second.
    #[test]
    fn a_price_is_asked_in_full_once_it_is_known() {
        for (samples, expected) in [(1, 100), (2, 400), (3, 1600), (4, 6400), (5, 6400)] {
            let asked = after(vec![6400; samples]).asked();
            assert!((expected * 98 / 100..=expected).contains(&asked), "{asked}");
        }
    }

    /// A worker that was called while its thread was being made took a millisecond to start: catches a
    /// pool that calls nobody after that, because what a worker that spins takes was never seen.
    #[test]
    fn one_slow_start_is_not_the_price_for_ever() {
        let market = Market::default();
        market.sample(Start::Parked, 3_000_000);
        (0..25).for_each(|_| market.doubt_spinning());
        (0..25).for_each(|_| market.doubt_waking());
        assert!(market.start_spinning() < 10 && market.wake().1 < 10);
        // A guess that was doubted counts for nothing when there is a sample.
        (0..10).for_each(|_| market.sample(Start::Parked, 9000));
        (0..TRUSTED).for_each(|_| market.sample(Start::Spinning, 1000));
        market.doubt_spinning();
        assert!((950..=1000).contains(&market.start_spinning()));
    }

    /// Catches a price that stays too high for ever, and one that is talked down to nothing.
    #[test]
    fn a_doubted_price_falls_to_the_lowest_it_was() {
        let price = after([100; TRUSTED as usize]);
        (0..100).for_each(|_| price.add(10_000, 4));
        let high = price.asked();
        price.doubt();
        assert_eq!(price.asked(), high / 2);
        (0..100).for_each(|_| price.doubt());
        assert!((94..=106).contains(&price.asked()));
    }
}
