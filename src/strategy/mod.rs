//! Strategies: who is brought into a loop, and when.
//!
//! | file | what |
//! |---|---|
//! | `per_thread` | everybody, at once |
//! | `chained`, `adaptive` | how the next one is brought in |
//! | `priced` | whether anybody is, for those two |
//!
//! All share lanes, blocks, slots and completion; a strategy is a few lines between opening the
//! slot and working in it.

mod adaptive;
mod chained;
mod per_thread;
mod priced;

use std::panic::{resume_unwind, Location};

use crate::dispatch::Dispatch;
use crate::pool::{Member, Seat, Shared};
use crate::price::Key;
use crate::slot::body::{Body, Payload};
use crate::slot::{Claim, Slot, Stay};

/// Runs a loop of two blocks or more with up to `lanes` lanes, two or more, and returns when nobody
/// is inside any more. The first panic of a body goes on here. `site` is where the loop was called.
///
/// # Safety
///
/// What `body` borrows stays borrowed until this returns or unwinds.
pub(crate) unsafe fn run(
    shared: &Shared,
    dispatch: Dispatch,
    lanes: usize,
    body: Body,
    site: &'static Location<'static>,
) {
    let seat = Seat::take(shared);
    seat.slot().counts.loops.add(1);
    let key = Key::new(body.code(), site, body.len());
    let panic = match dispatch {
        // SAFETY: this thread holds the slot until `seat` is dropped, each strategy closes what it
        // opens, and the body's borrows are the caller's promise.
        Dispatch::PerThread => unsafe { per_thread::run(shared, &seat, lanes, body) },
        // SAFETY: as above.
        Dispatch::Chained => unsafe { chained::run(shared, &seat, lanes, body, key) },
        // SAFETY: as above.
        Dispatch::Adaptive => unsafe { adaptive::run(shared, &seat, lanes, body, key) },
    };
    drop(seat);
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

/// The caller's part, where nothing is timed: works until nothing is left to claim, then waits for
/// the others.
fn work_and_close(slot: &Slot, mut stay: Stay, first: Claim) -> Option<Payload> {
    let ran = slot.work(&mut stay, first);
    ran.add_to(&slot.counts);
    slot.close(stay, ran.units, Member::sleep_at_door)
}
