//! `Adaptive`: the chain without the queue, over runs.

use super::work_and_close;
use crate::pool::{Seat, Shared};
use crate::slot::body::{Body, Payload};
use crate::slot::shape::Shape;

/// # Safety
///
/// As [`Slot::open`](crate::slot::Slot::open); the loop is closed when this returns.
pub(super) unsafe fn run(
    shared: &Shared,
    seat: &Seat,
    lanes: usize,
    body: Body,
) -> Option<Payload> {
    let slot = seat.slot();
    let shape = Shape::in_runs(lanes, body.blocks(), shared.workers());
    // SAFETY: the caller's promise; `work_and_close` closes it.
    let (stay, first) = unsafe { slot.open(body, shape) };
    // Every loop is taken for one that is worth a second lane.
    shared.invite(seat.place(), &slot.counts);
    work_and_close(slot, stay, first)
}
