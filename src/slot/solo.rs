//! Solo: a loop with one line whose owner claims without a read-modify-write, because nobody else is
//! there or has been called.
//!
//! | door's word | the owner claims by | who changes it |
//! |---|---|---|
//! | solo | a store to `next`, then a look at the door | an entrant asks; the owner shuts after the last claim |
//! | asked | the hand-over | whoever hands over |
//! | in line, from `p` on | exchanging the word, like everybody | |
//!
//! The owner *writes `next`*, then *looks at the door*; an entrant *asks at the door*, then *reads
//! `next`*. Of these two pairs one sees the other's write: the owner has a
//! [`barrier::light`](crate::barrier::light) in between, the entrant a
//! [`heavy`](crate::barrier::heavy) one. So, where the owner claims `k..e`:
//!
//! * It finds the door solo: then every entrant reads at least `e`, and the claim stands.
//! * It finds another word: entrants may have read `k` or `e`. The *hand-over* decides, a word of its
//!   own in which the first proposal for this epoch stays: an entrant proposes what it read, the
//!   owner `e`. The claim stands if the decision is `e` or more. Claims go on from there at the door.
//!
//! An entrant that reads that nothing is left goes away: the owner has found the door solo with all
//! claimed, or hands over itself. So when the owner shuts by a store, no entrant will change the
//! word again, and an `asked` that the store overwrites had nothing to ask for.
//!
//! A hand-over of epoch `e` happens only after `asked(e)`, and then before the loop is over, because
//! the owner's next claim takes part in it. So a latecomer of `e` finds the decision made.

use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};

use super::body::{Body, Flow, Payload};
use super::claims::Claim;
use super::door::{Door, Epoch, Word};
use super::shape::Shape;
use super::work::Ran;
use super::{Begin, Slot, Stay};
use crate::barrier;
use crate::parking::Sleep;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// What a solo owner shares with those who might come in.
pub(super) struct Solo {
    /// The owner's next unclaimed unit.
    next: AtomicUsize,
    /// From which unit on the last loop that was handed over is claimed at the door.
    handed: Door,
}

impl Solo {
    pub(super) fn new(epoch: Epoch) -> Self {
        Solo {
            next: AtomicUsize::new(0),
            handed: Door::new(epoch),
        }
    }

    /// Before the owner opens a solo loop with its first units claimed.
    #[inline(always)]
    pub(super) fn open(&self, claimed: usize) {
        // Relaxed: published by the opening.
        self.next.store(claimed, Ordering::Relaxed);
    }

    /// Before the owner opens any loop after `last`, some time before the numbers of the epochs have
    /// gone half round: so that old and new cannot be mixed up.
    pub(super) fn refresh(&self, last: Epoch) {
        self.handed.put(Word::shut(last));
    }
}

/// How many of the `left` unclaimed of `units` units one claim takes. Halves are no smaller than an eighth
/// of the loop, as long as that leaves one unit: else a loop of many would take many claims.
#[inline(always)]
fn grain(left: usize, units: usize, by_halves: bool) -> usize {
    if by_halves {
        (left / 2).max((units / 8).min(left - 1)).max(1)
    } else {
        1
    }
}

impl Slot {
    /// A whole loop with one line, whose owner expects to be alone to the end. `opened` is called
    /// once it can be seen. Returns the first payload of a panic.
    ///
    /// # Safety
    ///
    /// As [`open`](Self::open); the loop is closed when this returns.
    #[inline(always)]
    pub(crate) unsafe fn run_solo(
        &self,
        body: Body,
        shape: Shape,
        begin: Begin,
        opened: impl FnOnce(),
        sleep: Sleep,
    ) -> Option<Payload> {
        // SAFETY: the caller's promise; it is closed below.
        let (mut stay, first) = unsafe { self.open(body, shape, begin) };
        opened();
        let mut ran = Ran::default();
        if stay.solo {
            if let Some(next) = self.work_solo(&mut stay, &body, first, &mut ran) {
                ran = self.work_on(&mut stay, next, ran);
            }
        } else {
            ran = self.work(&mut stay, first);
        }
        ran.add_to(&self.counts);
        self.close(stay, ran.units, sleep)
    }

    /// The owner works alone, from its first claim on, as long as nobody comes in. What to go on with
    /// as every lane does: a claim, or nothing if all is claimed.
    #[inline(always)]
    pub(super) fn work_solo(
        &self,
        stay: &mut Stay,
        body: &Body,
        first: Claim,
        ran: &mut Ran,
    ) -> Option<Claim> {
        let (epoch, lane, units, solo) = (stay.epoch, stay.lane, stay.shape.units, stay.seen);
        let by_halves = stay.by_halves;
        let mut claim = first.0;
        let worked = catch_unwind(AssertUnwindSafe(|| loop {
            ran.units += claim.len();
            // Others may have come in, and stopped the loop, already.
            if self.is_stopped() {
                return None;
            }
            ran.blocks += claim.len();
            let end = claim.end;
            // SAFETY: the claims of `ran` are not settled, so `close` does not return, and what the
            // body borrows stays borrowed.
            if unsafe { body.run(lane, claim.clone()) } == Flow::Stop {
                self.stop();
                return None;
            }
            if end == units {
                return None;
            }
            claim = end..end + grain(units - end, units, by_halves);
            if !self.claim_alone(epoch, solo, &claim, units) {
                return Some(claim.clone());
            }
        }));
        match worked {
            Ok(Some(disputed)) => return self.claim_disputed(stay, disputed),
            Ok(None) if ran.units == units => return None,
            Ok(None) => {}
            Err(payload) => self.keep_first(payload),
        }
        // What a loop that was stopped has left.
        self.claim_solo(stay)
    }

    /// The owner's next claim, or all that is left where the loop was stopped.
    pub(super) fn claim_solo(&self, stay: &mut Stay) -> Option<Claim> {
        let units = stay.shape.units;
        let from = self.solo.next.load(Ordering::Relaxed);
        if from == units {
            return None;
        }
        let end = if self.is_stopped() {
            units
        } else {
            from + grain(units - from, units, stay.by_halves)
        };
        let next = from..end;
        if !self.claim_alone(stay.epoch, stay.seen, &next, units) {
            return self.claim_disputed(stay, next);
        }
        if next.end == units {
            stay.solo = false;
            stay.seen = Word::shut(stay.epoch);
        }
        Some(Claim(next))
    }

    /// Claims the next units for the owner. False: whether they are the owner's is disputed.
    #[inline(always)]
    fn claim_alone(&self, epoch: Epoch, solo: Word, next: &Range<usize>, units: usize) -> bool {
        self.solo.next.store(next.end, Ordering::Relaxed);
        // Partner: the heavy barrier in `end_solo`.
        barrier::light();
        if self.door.look_again() != solo {
            return false;
        }
        if next.end == units {
            self.door.put(Word::shut(epoch));
        }
        true
    }

    /// Somebody has come in, or is about to: whose is `next`?
    #[cold]
    fn claim_disputed(&self, stay: &mut Stay, next: Range<usize>) -> Option<Claim> {
        let from = self
            .hand_over(stay.epoch, stay.shape, next.end)
            .expect("the owner's loop is not over");
        stay.solo = false;
        stay.seen = self.door.look_again();
        if from >= next.end {
            Some(Claim(next))
        } else {
            self.claim_in_line(stay)
        }
    }

    /// Ends the solo of the loop that `word` is of. `None`: nothing is left of it, or the system
    /// does not let us know.
    #[cold]
    pub(super) fn end_solo(&self, word: Word, shape: Shape) -> Option<Word> {
        let epoch = word.epoch();
        let asked = Word::asked(epoch);
        if word != asked {
            // Where this fails, the loop is over, or another has asked or has handed over.
            let _ = self.door.exchange(word, asked);
        }
        if !barrier::heavy() {
            return None;
        }
        let next = self.solo.next.load(Ordering::Relaxed);
        let word = self.door.look_again();
        if word != asked {
            // Handed over by another, or shut: the caller goes by it if it is of the same loop.
            return (word.epoch() == epoch && !word.is_shut()).then_some(word);
        }
        if next >= shape.units {
            return None;
        }
        self.hand_over(epoch, shape, next)?;
        let word = self.door.look_again();
        (word.epoch() == epoch && !word.is_shut()).then_some(word)
    }

    /// Proposes that the units from `from` on are claimed at the door, and sees to it that they can
    /// be. What was decided; `None`: the loop is over.
    fn hand_over(&self, epoch: Epoch, shape: Shape, from: usize) -> Option<usize> {
        let proposal = Word::in_line(epoch, from, shape.units);
        let mut word = self.solo.handed.look_again();
        let decided = loop {
            if word.epoch() == epoch {
                break word;
            }
            if word.epoch().is_after(epoch) {
                return None;
            }
            match self.solo.handed.exchange(word, proposal) {
                Ok(()) => break proposal,
                Err(now) => word = now,
            }
        };
        // Where this fails, another was faster, or the loop is over.
        let _ = self.door.exchange(Word::asked(epoch), decided);
        Some(decided.position().unwrap_or(shape.units))
    }
}
