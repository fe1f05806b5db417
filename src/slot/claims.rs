//! Claims: how a lane gets its next units.

use std::ops::Range;

use super::door::Word;
use super::{Slot, Stay};
use crate::slot::door::Epoch;

/// Units of a loop that nobody else has. Running or dropping them without counting would hang the
/// loop.
#[must_use]
pub(crate) struct Claim(pub(super) Range<usize>);

impl Slot {
    /// Shares out what the caller has not claimed, unless that has been done. `None`: the loop is
    /// used up or over.
    pub(super) fn cut(&self, epoch: Epoch) -> Option<usize> {
        let mut word = self.door.look_again();
        loop {
            if word.epoch() != epoch || word.is_shut() {
                return None;
            }
            if let Some(cut) = word.cut() {
                return Some(cut);
            }
            let next = word.next()?;
            match self.door.exchange(word, Word::cut_at(epoch, next)) {
                Ok(()) => return Some(next),
                Err(now) => word = now,
            }
        }
    }

    /// The next units for this lane: of its own run, then of the others in a ring. `None`: nothing
    /// is left.
    #[inline]
    pub(crate) fn claim(&self, stay: &mut Stay) -> Option<Claim> {
        if stay.solo {
            self.claim_solo(stay)
        } else if stay.is_in_line() {
            self.claim_in_line(stay)
        } else {
            self.claim_in_runs(stay)
        }
    }

    /// Tries from the word that this lane has seen last: alone, that is the current one; with others
    /// about, a failed exchange brings the line as a look would.
    #[inline(always)]
    pub(super) fn claim_in_line(&self, stay: &mut Stay) -> Option<Claim> {
        let units = stay.shape.units;
        loop {
            if stay.seen.epoch() != stay.epoch {
                return None;
            }
            let next = stay.seen.position()?;
            let end = if self.is_stopped() { units } else { next + 1 };
            let word = Word::in_line(stay.epoch, end, units);
            match self.door.exchange(stay.seen, word) {
                Ok(()) => {
                    stay.seen = word;
                    return Some(Claim(next..end));
                }
                Err(now) => stay.seen = now,
            }
        }
    }

    pub(super) fn claim_in_runs(&self, stay: &mut Stay) -> Option<Claim> {
        let runs = stay.shape.runs();
        let cut = match stay.cut {
            Some(cut) => cut,
            // Only the caller is here without having cut.
            None => match self.claim_uncut(stay, runs) {
                Ok(claim) => return claim,
                Err(cut) => *stay.cut.insert(cut),
            },
        };
        while stay.passed < runs {
            let run = stay.run_after(stay.passed, runs);
            if let Some(claim) = self.claim_of_run(stay, run, runs, cut) {
                return Some(claim);
            }
            stay.passed += 1;
        }
        None
    }

    /// All runs are used up: nobody enters for nothing any more. The loop may be over.
    pub(super) fn shut_cut(&self, epoch: Epoch) {
        let word = self.door.look_again();
        if word.epoch() == epoch && !word.is_shut() {
            // Where this fails, the loop is over or another was first.
            let _ = self.door.exchange(word, Word::shut(epoch));
        }
    }

    /// The caller's claim while it is alone: no more than one run at a time, so that a worker that
    /// comes later finds its own run whole. `Err`: where a worker has cut the loop.
    fn claim_uncut(&self, stay: &Stay, runs: usize) -> Result<Option<Claim>, usize> {
        let shape = stay.shape;
        let mut word = self.door.look_again();
        loop {
            if word.is_shut() {
                return Ok(None);
            }
            if let Some(cut) = word.cut() {
                return Err(cut);
            }
            let Some(next) = word.next() else {
                return Ok(None);
            };
            // The last one first, because to find a unit's run takes two divisions.
            let end = if next + 1 == shape.units || self.is_stopped() {
                shape.units
            } else {
                next + shape.grain(shape.run(shape.run_of(next, runs), runs).end - next)
            };
            match self
                .door
                .exchange(word, Word::not_cut(stay.epoch, end, shape.units))
            {
                Ok(()) => return Ok(Some(Claim(next..end))),
                Err(now) => word = now,
            }
        }
    }

    /// From its own run a lane takes the next units in order; from another's the last ones, so that
    /// the run's own lane goes on in memory that lies ahead of it, and the dear end of a run that
    /// becomes dearer is begun early.
    fn claim_of_run(&self, stay: &Stay, run: usize, runs: usize, cut: usize) -> Option<Claim> {
        let cell = self.lanes.run(run);
        let mut word = cell.look_again();
        loop {
            let left = self.left_of_run(stay, word, run, runs, cut)?;
            let grain = if self.is_stopped() {
                left.len()
            } else {
                stay.shape.grain(left.len())
            };
            let (claim, rest) = if run == stay.home {
                let end = left.start + grain;
                (left.start..end, end..left.end)
            } else {
                let start = left.end - grain;
                (start..left.end, left.start..start)
            };
            match cell.exchange(word, Word::run(stay.epoch, rest)) {
                Ok(()) => return Some(Claim(claim)),
                Err(now) => word = now,
            }
        }
    }

    /// The unclaimed units of a run that has this word. `None`: there are none, or the loop is over.
    fn left_of_run(
        &self,
        stay: &Stay,
        word: Word,
        run: usize,
        runs: usize,
        cut: usize,
    ) -> Option<Range<usize>> {
        if word.epoch() == stay.epoch {
            return word.left();
        }
        let units = stay.shape.run(run, runs);
        let whole = units.start.max(cut)..units.end;
        (!word.epoch().is_after(stay.epoch) && !whole.is_empty()).then_some(whole)
    }

    /// Whether a run that this lane has not seen used up may hold unclaimed units.
    pub(super) fn anything_left(&self, stay: &Stay, runs: usize) -> bool {
        let Some(cut) = stay.cut else {
            return self.is_open();
        };
        (stay.passed..runs)
            .map(|passed| stay.run_after(passed, runs))
            .any(|run| {
                let word = self.lanes.run(run).look_again();
                self.left_of_run(stay, word, run, runs, cut).is_some()
            })
    }
}
