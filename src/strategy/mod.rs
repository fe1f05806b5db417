//! Strategies: who is brought into a loop, and when.
//!
//! All share lanes, blocks, slots and completion; a strategy is a few lines between opening the
//! slot and working in it.

mod adaptive;
mod chained;
mod per_thread;

use std::panic::resume_unwind;

use crate::dispatch::Dispatch;
use crate::pool::{Seat, Shared};
use crate::slot::body::{Body, Payload};
use crate::slot::{Claim, Slot, Stay};

/// Runs a loop of two blocks or more with up to `lanes` lanes, two or more, and returns when nobody
/// is inside any more. The first panic of a body goes on here.
///
/// # Safety
///
/// What `body` borrows stays borrowed until this returns or unwinds.
pub(crate) unsafe fn run(shared: &Shared, dispatch: Dispatch, lanes: usize, body: Body) {
    let seat = Seat::take(shared);
    let slot = seat.slot();
    slot.counts.loops.add(1);
    let strategy = match dispatch {
        Dispatch::PerThread => per_thread::run,
        Dispatch::Chained => chained::run,
        Dispatch::Adaptive => adaptive::run,
    };
    // SAFETY: this thread holds the slot until `seat` is dropped, each strategy closes what it
    // opens, and the body's borrows are the caller's promise.
    let panic = unsafe { strategy(shared, &seat, lanes, body) };
    drop(seat);
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

/// The caller's part, whatever the strategy: works until nothing is left to claim, then waits for
/// the others.
fn work_and_close(slot: &Slot, mut stay: Stay, first: Claim) -> Option<Payload> {
    let ran = slot.work(&mut stay, first);
    ran.add_to(&slot.counts);
    slot.close(stay, ran.units)
}
