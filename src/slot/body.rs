//! `Body`: a loop's body with its type erased, and the blocks that it runs over.

use std::any::Any;
use std::ops::Range;

use crate::blocks::Blocks;

/// What a body says after each call: whether the loop should go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// More blocks may be claimed.
    GoOn,
    /// No lane needs to begin another block.
    Stop,
}

/// A payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// A borrowed `Fn(lane, indices) -> Flow + Sync` and the blocks of its loop.
///
/// It is a copy of two addresses: whoever calls it answers for the borrow.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    data: *const (),
    call: unsafe fn(*const (), usize, Range<usize>) -> Flow,
    start: usize,
    blocks: Blocks,
}

// SAFETY: `Body::new` takes only `F: Sync`, so a `&F` may be used from any thread.
unsafe impl Send for Body {}

impl Body {
    /// `f`, over the indices from `start` on, in `blocks`.
    pub(crate) fn new<F: Fn(usize, Range<usize>) -> Flow + Sync>(
        f: &F,
        start: usize,
        blocks: Blocks,
    ) -> Self {
        /// # Safety
        ///
        /// `data` is the address of an `F` that is borrowed for the whole call.
        unsafe fn call<F: Fn(usize, Range<usize>) -> Flow>(
            data: *const (),
            lane: usize,
            indices: Range<usize>,
        ) -> Flow {
            // SAFETY: the pointer is aligned, not null and points to a live `F`, which nobody
            // writes to: it was made from a `&F` that the caller of this keeps borrowed.
            let f = unsafe { &*data.cast::<F>() };
            f(lane, indices)
        }
        Body {
            data: (f as *const F).cast(),
            call: call::<F>,
            start,
            blocks,
        }
    }

    /// Where the code of the `F` is that the body was made from.
    #[inline]
    pub(crate) fn code(&self) -> usize {
        self.call as usize
    }

    /// How many indices the loop has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// How many blocks the loop has.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.count()
    }

    /// The blocks in `units` of a loop that is claimed in `of` units: single blocks where the
    /// numbers agree; else groups of adjacent blocks, the last block alone.
    pub(crate) fn blocks_of(&self, units: Range<usize>, of: usize) -> Range<usize> {
        let blocks = self.blocks();
        if of == blocks {
            return units;
        }
        let groups = Blocks::new(blocks - 1, of - 1);
        let start = |unit: usize| {
            if unit == of {
                blocks
            } else {
                groups.span(0..unit).end
            }
        };
        start(units.start)..start(units.end)
    }

    /// Runs a union of adjacent blocks as `lane`.
    ///
    /// # Safety
    ///
    /// The `F` that the body was made from must be borrowed until this returns.
    #[inline]
    pub(crate) unsafe fn run(&self, lane: usize, blocks: Range<usize>) -> Flow {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.call(lane, self.blocks.span(blocks)) }
    }

    /// # Safety
    ///
    /// As [`run`](Self::run).
    #[inline(always)]
    unsafe fn call(&self, lane: usize, span: Range<usize>) -> Flow {
        let indices = self.start + span.start..self.start + span.end;
        // SAFETY: `data` is the address of the `F` that `call` was instantiated for, and the caller
        // of this keeps it borrowed.
        unsafe { (self.call)(self.data, lane, indices) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Groups cover the blocks and leave the last one alone; catches a last group of two.
    #[test]
    fn the_last_block_is_alone() {
        let f = |_: usize, _: Range<usize>| Flow::GoOn;
        for blocks in 2..40 {
            let body = Body::new(&f, 0, Blocks::new(1000, blocks));
            for of in 2..=blocks {
                let mut next = 0;
                for unit in 0..of {
                    let range = body.blocks_of(unit..unit + 1, of);
                    assert_eq!(range.start, next);
                    assert!(!range.is_empty());
                    next = range.end;
                }
                assert_eq!(next, blocks);
                assert_eq!(body.blocks_of(of - 1..of, of).len(), 1);
            }
        }
    }
}
