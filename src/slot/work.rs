//! Work: a lane runs what it claims; what a panic does to the loop.

use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};

use super::body::{Body, Flow, Payload};
use super::claims::Claim;
use super::{Slot, Stay};
use crate::stats::Counts;
use crate::sync::atomic::Ordering;
use crate::sync::lock;

/// What a lane did in a loop.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// Units that it claimed, to settle with [`Slot::leave`] or [`Slot::close`].
    pub(crate) units: usize,
    /// Blocks that it ran.
    pub(crate) blocks: usize,
    /// Those of them that were in another lane's run.
    pub(crate) others: usize,
}

impl Ran {
    /// Counts the blocks in `units`, and returns them.
    #[inline(always)]
    fn count<const IN_LINE: bool>(
        &mut self,
        body: &Body,
        stay: &Stay,
        units: Range<usize>,
    ) -> Range<usize> {
        if IN_LINE {
            // Units are blocks, and there are no runs.
            self.blocks += units.len();
            return units;
        }
        let blocks = body.blocks_of(units.clone(), stay.shape.units);
        self.blocks += blocks.len();
        if stay.is_others_run(&units) {
            self.others += blocks.len();
        }
        blocks
    }

    /// Adds the blocks to what a thread has counted.
    pub(crate) fn add_to(&self, counts: &Counts) {
        counts.blocks.add(self.blocks as u64);
        counts.blocks_from_other_runs.add(self.others as u64);
    }
}

impl Slot {
    /// Runs what was claimed first, then whatever this lane can claim. Where the loop has been
    /// stopped the rest is claimed and not run. A panic of the body stops the loop; the first
    /// payload is kept for [`close`](Self::close).
    pub(crate) fn work(&self, stay: &mut Stay, first: Claim) -> Ran {
        self.work_on(stay, first, Ran::default())
    }

    /// The same, with a pause for thought after the first claim.
    pub(crate) fn work_and_think(
        &self,
        stay: &mut Stay,
        first: Claim,
        think: impl FnOnce(),
    ) -> Ran {
        let body = self.body();
        let mut ran = Ran::default();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            self.run_claim::<false>(stay, &body, first, &mut ran)
        })) {
            self.keep_first(payload);
        }
        think();
        match self.claim(stay) {
            Some(next) => self.work_on(stay, next, ran),
            None => ran,
        }
    }

    pub(super) fn work_on(&self, stay: &mut Stay, mut first: Claim, mut ran: Ran) -> Ran {
        let body = self.body();
        if stay.solo {
            match self.work_solo(stay, &body, first, &mut ran) {
                Some(next) => first = next,
                None => return ran,
            }
        }
        if stay.is_in_line() {
            self.work_by::<true>(stay, &body, first, ran)
        } else {
            self.work_by::<false>(stay, &body, first, ran)
        }
    }

    /// The body, for the holder of a claim that is not settled.
    #[inline]
    fn body(&self) -> Body {
        let body = self.sheet.body.with(|cell| {
            // SAFETY: a claim is not settled yet, so the loop is open and its owner, who alone
            // writes the cell, does not; the opening's write was acquired before the claim. The
            // pointer is the cell's own.
            unsafe { *cell }
        });
        body.expect("an open loop has a body")
    }

    /// [`work`](Self::work) for one way of claiming. Single blocks in line are many and may be
    /// small: their code does without what runs and groups need.
    #[inline]
    fn work_by<const IN_LINE: bool>(
        &self,
        stay: &mut Stay,
        body: &Body,
        first: Claim,
        mut ran: Ran,
    ) -> Ran {
        let mut next = Some(first);
        // One frame of `catch_unwind` for many claims, because entering it costs as much as a small
        // block.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            while let Some(claim) = next.take() {
                self.run_claim::<IN_LINE>(stay, body, claim, &mut ran);
                next = self.claim_by::<IN_LINE>(stay);
            }
        })) {
            self.keep_first(payload);
            next = self.claim_by::<IN_LINE>(stay);
        }
        ran
    }

    #[inline(always)]
    fn run_claim<const IN_LINE: bool>(
        &self,
        stay: &Stay,
        body: &Body,
        Claim(units): Claim,
        ran: &mut Ran,
    ) {
        ran.units += units.len();
        if !self.is_stopped() {
            let blocks = ran.count::<IN_LINE>(body, stay, units);
            // SAFETY: the claims of `ran` are not settled, so `close` does not return, and what the
            // body borrows stays borrowed.
            if unsafe { body.run(stay.lane, blocks) } == Flow::Stop {
                self.stop();
            }
        }
    }

    #[inline(always)]
    fn claim_by<const IN_LINE: bool>(&self, stay: &mut Stay) -> Option<Claim> {
        if IN_LINE {
            self.claim_in_line(stay)
        } else {
            self.claim_in_runs(stay)
        }
    }

    /// After this no lane begins another block.
    pub(super) fn stop(&self) {
        // Relaxed: a lane that sees it late runs one claim more. `close` reads it after all are
        // done.
        self.sheet.stopped.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.sheet.stopped.load(Ordering::Relaxed)
    }

    /// Stops the loop for a panic and keeps its payload, if it is the first.
    pub(super) fn keep_first(&self, payload: Payload) {
        self.stop();
        let later = {
            let mut first = lock(&self.payload);
            if first.is_none() {
                *first = Some(payload);
                None
            } else {
                Some(payload)
            }
        };
        if let Err(of_the_drop) = catch_unwind(AssertUnwindSafe(|| drop(later))) {
            // Dropping this one could panic again, and so on.
            std::mem::forget(of_the_drop);
        }
    }
}
