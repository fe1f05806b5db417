//! Strategies: who is brought into a loop, and when.
//!
//! All share lanes, blocks, slots and completion; a strategy is a few lines between opening the slot
//! and working in it.

mod adaptive;
mod chained;
mod per_thread;

use std::panic::resume_unwind;

use crate::pool::{Seat, Shared};
use crate::slot::body::{Body, Payload};
use crate::slot::{Claim, Slot, Stay};

/// How a loop brings workers in.
///
/// | | who is called | bodies that wait for each other |
/// |---|---|---|
/// | `PerThread` | all lanes at once, through the queue | any bodies of different blocks meet, while workers are free |
/// | `Chained` | each lane that starts queues the next one | the same |
/// | `Adaptive` | each lane that starts calls the next one, if that pays | bodies of different *claims* meet: certain only for as many indices as lanes |
///
/// Bits never depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Dispatch {
    /// One task per lane is queued before work starts, and single blocks are claimed: the old way, kept
    /// to measure against.
    PerThread,
    /// A lane that starts takes the next id from an atomic counter and, if ids and blocks remain, queues
    /// exactly one successor before its first block; single blocks are claimed in order. Ceres Solver's way, and the
    /// one for bodies that wait for each other.
    Chained,
    /// The chain without the queue: a lane that starts calls the next worker directly. Each lane looks after a
    /// run of blocks first, the same one in loop after loop, and takes several at a time.
    #[default]
    Adaptive,
}

/// Runs a loop of two blocks or more with up to `lanes` lanes, two or more, and returns when nobody is inside any more. The first
/// panic of a body goes on here.
///
/// # Safety
///
/// What `body` borrows stays borrowed until this returns or unwinds.
pub(crate) unsafe fn run(shared: &Shared, dispatch: Dispatch, lanes: usize, body: Body) {
    let seat = Seat::take(shared);
    let slot = seat.slot();
    slot.counts.loops.add(1);
    // SAFETY: this thread holds the slot until `seat` is dropped, each strategy closes what it opens, and
    // the body's borrows are the caller's promise.
    let panic = unsafe {
        match dispatch {
            Dispatch::PerThread => per_thread::run(shared, &seat, lanes, body),
            Dispatch::Chained => chained::run(shared, &seat, lanes, body),
            Dispatch::Adaptive => adaptive::run(shared, &seat, lanes, body),
        }
    };
    drop(seat);
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

/// The caller's part, whatever the strategy: works until nothing is left to claim, then waits for the others.
fn work_and_close(slot: &Slot, mut stay: Stay, first: Claim) -> Option<Payload> {
    let ran = slot.work(&mut stay, first);
    ran.add_to(&slot.counts);
    slot.close(stay, ran.units)
}
