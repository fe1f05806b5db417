//! The door: what workers enter and leave a slot's loop by. A run's word is a door of its own.
//!
//! One word. The loop's epoch is in it, so that whoever changes it by compare-and-swap proves which
//! loop it has joined; a used-up position is a value of its own, so that nobody needs to know the
//! loop's length to see that it is over.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 63..22 | epoch | number of the slot's current loop |
//! | 21..0 | position, of a loop with one line | next unclaimed unit; the highest values: used up, [solo](super::solo), asked |
//! | 21..11 | cut, of a loop with runs | where the rest was cut into runs; all ones: not cut |
//! | 10..0 | next, of a loop with runs that is not cut | next unclaimed unit; all ones: used up |
//!
//! In a run's word the lower half is the run's next unclaimed unit and the upper half where those
//! end.

use std::ops::Range;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Bits of a position.
const POSITION_BITS: u32 = 22;
/// A used-up position of a loop with one line.
const POSITION_END: u64 = (1 << POSITION_BITS) - 1;
/// The owner is alone in a loop with one line and claims without this word.
const POSITION_SOLO: u64 = POSITION_END - 1;
/// The same, and somebody wants to come in.
const POSITION_ASKED: u64 = POSITION_END - 2;
/// Bits of `cut` and of `next`.
const HALF_BITS: u32 = 11;
/// "Not cut" and "used up" of a loop with runs.
const HALF_END: u64 = (1 << HALF_BITS) - 1;
/// Epochs count modulo this.
const EPOCHS: u64 = 1 << (64 - POSITION_BITS);

/// Most units of a loop with one line.
pub(crate) const MAX_UNITS_IN_LINE: usize = POSITION_ASKED as usize;
/// Most units of a loop with runs.
pub(crate) const MAX_UNITS_IN_RUNS: usize = 1 << (HALF_BITS - 1);

/// Number of a slot's loop, modulo 2^42: at 50 ns a loop the numbers come round after two and a
/// half days. What a compare-and-swap rests on is only that they do not come round to the same
/// value while one thread is between a load and the compare-and-swap that follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch(u64);

impl Epoch {
    /// The epoch with this number, modulo 2^42.
    pub(crate) const fn new(number: u64) -> Self {
        Epoch(number % EPOCHS)
    }

    /// Its number, modulo 2^42.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The following one.
    pub(crate) fn next(self) -> Self {
        Epoch::new(self.0 + 1)
    }

    /// Its low bits, to mark other words with.
    pub(crate) fn low_bits(self, bits: u32) -> u64 {
        self.0 & ((1 << bits) - 1)
    }

    /// Whether this is the loop after `other` or a later one, for epochs less than half a turn
    /// apart.
    pub(crate) fn is_after(self, other: Epoch) -> bool {
        let distance = self.0.wrapping_sub(other.0) % EPOCHS;
        distance != 0 && distance < EPOCHS / 2
    }

    /// How many loops there were from `other` to this one.
    pub(crate) fn since(self, other: Epoch) -> u64 {
        self.0.wrapping_sub(other.0) % EPOCHS
    }

    /// True four times in a turn of the numbers.
    pub(crate) fn is_quarter(self) -> bool {
        self.0 % (EPOCHS / 4) == 0
    }
}

/// A value of the door's word, or of a run's (which uses `epoch` and `next` only).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(u64);

impl Word {
    fn with_position(epoch: Epoch, position: u64) -> Self {
        debug_assert!(position <= POSITION_END);
        Word(epoch.0 << POSITION_BITS | position)
    }

    /// A loop with one line of which `next` is the next unclaimed unit of `units`.
    pub(crate) fn in_line(epoch: Epoch, next: usize, units: usize) -> Self {
        let end = next == units;
        Self::with_position(epoch, if end { POSITION_END } else { next as u64 })
    }

    /// A loop with runs that is not cut yet, `next` as above.
    pub(crate) fn not_cut(epoch: Epoch, next: usize, units: usize) -> Self {
        Self::with_halves(epoch, HALF_END, next, units)
    }

    /// A loop that was cut at `cut`.
    pub(crate) fn cut_at(epoch: Epoch, cut: usize) -> Self {
        Self::with_position(epoch, (cut as u64) << HALF_BITS)
    }

    /// A run of which these units are unclaimed.
    pub(crate) fn run(epoch: Epoch, left: Range<usize>) -> Self {
        Self::with_halves(epoch, left.end as u64, left.start, left.end)
    }

    /// A loop with one line in which the owner is alone.
    pub(crate) fn solo(epoch: Epoch) -> Self {
        Self::with_position(epoch, POSITION_SOLO)
    }

    /// The same, in which somebody has asked to come in.
    pub(crate) fn asked(epoch: Epoch) -> Self {
        Self::with_position(epoch, POSITION_ASKED)
    }

    /// Whether it is either of those two.
    pub(crate) fn is_solo(self) -> bool {
        matches!(self.0 & POSITION_END, POSITION_SOLO | POSITION_ASKED)
    }

    /// A loop of which nothing is left to claim, of either kind.
    pub(crate) fn shut(epoch: Epoch) -> Self {
        Self::with_position(epoch, POSITION_END)
    }

    fn with_halves(epoch: Epoch, upper: u64, next: usize, end: usize) -> Self {
        let next = if next >= end { HALF_END } else { next as u64 };
        Self::with_position(epoch, upper << HALF_BITS | next)
    }

    /// Which loop the word speaks of.
    pub(crate) fn epoch(self) -> Epoch {
        Epoch(self.0 >> POSITION_BITS)
    }

    /// Whether the word itself says that nothing is left. A cut loop may be used up without saying
    /// so.
    pub(crate) fn is_shut(self) -> bool {
        self.0 & POSITION_END == POSITION_END
    }

    /// Of a loop with one line: the next unclaimed unit, `None` when used up.
    pub(crate) fn position(self) -> Option<usize> {
        let position = self.0 & POSITION_END;
        debug_assert!(!self.is_solo());
        (position != POSITION_END).then_some(position as usize)
    }

    /// Of a loop with runs: where it was cut, `None` while it is not.
    pub(crate) fn cut(self) -> Option<usize> {
        let cut = self.0 >> HALF_BITS & HALF_END;
        (cut != HALF_END).then_some(cut as usize)
    }

    /// Of a loop with runs that is not cut: the next unclaimed unit, `None` when used up.
    pub(crate) fn next(self) -> Option<usize> {
        let next = self.0 & HALF_END;
        (next != HALF_END).then_some(next as usize)
    }

    /// Of a run: the unclaimed units, `None` when used up.
    pub(crate) fn left(self) -> Option<Range<usize>> {
        let end = self.0 >> HALF_BITS & HALF_END;
        self.next().map(|next| next..end as usize)
    }
}

/// The word, as the threads share it.
#[derive(Debug)]
pub(crate) struct Door(AtomicU64);

impl Door {
    /// A door behind which the loop `epoch` is over.
    pub(crate) fn new(epoch: Epoch) -> Self {
        Door(AtomicU64::new(Word::shut(epoch).0))
    }

    /// The current word. What the owner wrote before it opened this loop is visible afterwards.
    #[inline]
    pub(crate) fn look(&self) -> Word {
        // Acquire: partner is the Release in `put`. The compare-and-swaps in between do not break
        // its release sequence.
        Word(self.0.load(Ordering::Acquire))
    }

    /// The current word, of a loop that the caller of this has looked at before.
    #[inline]
    pub(crate) fn look_again(&self) -> Word {
        Word(self.0.load(Ordering::Relaxed))
    }

    /// The owner opens the next loop, or shuts one in which it is alone: a plain store, because
    /// nobody changes the word of a loop of which nothing is left.
    #[inline]
    pub(crate) fn put(&self, word: Word) {
        // Release: partner is the Acquire in `look`.
        if cfg!(not(loom)) {
            self.0.store(word.0, Ordering::Release);
        } else {
            // Loom does not order a store after another thread's compare-and-swap that came before
            // it, as the language does, but a swap.
            self.0.swap(word.0, Ordering::Release);
        }
    }

    /// Replaces `from` by `to`, if the word is still `from`; else says what it is.
    #[inline]
    pub(crate) fn exchange(&self, from: Word, to: Word) -> Result<(), Word> {
        // Relaxed: claims are told apart by the order of changes to this one word. Whoever goes by
        // the word that was read here has acquired this epoch's opening before.
        let swap = self
            .0
            .compare_exchange(from.0, to.0, Ordering::Relaxed, Ordering::Relaxed);
        swap.map(|_| ()).map_err(Word)
    }
}

/// A run's word is a door of its own; it needs no opening.
pub(crate) type RunWord = Door;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches a field that spills into its neighbour.
    #[test]
    fn fields_do_not_touch() {
        for epoch in [0, 1, 77, EPOCHS - 1].map(Epoch::new) {
            for next in [0, 1, 5, 1023] {
                let word = Word::not_cut(epoch, next, 1024);
                assert_eq!(
                    (word.epoch(), word.cut(), word.next()),
                    (epoch, None, Some(next))
                );
                for end in [next + 1, 1024] {
                    let word = Word::run(epoch, next..end);
                    assert_eq!((word.epoch(), word.left()), (epoch, Some(next..end)));
                    assert_eq!(Word::run(epoch, end..end).left(), None);
                }
            }
            for cut in [0, 3, 1024] {
                let word = Word::cut_at(epoch, cut);
                assert_eq!((word.epoch(), word.cut()), (epoch, Some(cut)));
                assert!(!word.is_shut() && !word.is_solo());
            }
            let last = MAX_UNITS_IN_LINE - 1;
            let word = Word::in_line(epoch, last, MAX_UNITS_IN_LINE);
            assert_eq!((word.epoch(), word.position()), (epoch, Some(last)));
            for end in [
                Word::in_line(epoch, 7, 7),
                Word::not_cut(epoch, 7, 7),
                Word::shut(epoch),
            ] {
                assert!(end.is_shut() && end.position().is_none() && end.next().is_none());
                assert_eq!(end.epoch(), epoch);
            }
        }
    }

    /// Catches an order of epochs that breaks where the numbers come round.
    #[test]
    fn epochs_come_round() {
        let last = Epoch::new(EPOCHS - 1);
        assert_eq!(last.next(), Epoch::new(0));
        assert!(last.next().is_after(last) && !last.is_after(last.next()));
        assert!(!last.is_after(last));
        assert!(Epoch::new(5).is_after(Epoch::new(EPOCHS - 5)));
    }
}
