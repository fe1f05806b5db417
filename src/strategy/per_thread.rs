//! `PerThread`: one task per lane is queued before work starts.

use super::work_and_close;
use crate::pool::{Seat, Shared};
use crate::slot::body::{Body, Payload};
use crate::slot::shape::Shape;
use crate::slot::{Begin, Urgency};

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
    let shape = Shape::in_line(false, lanes, body.blocks());
    // SAFETY: the caller's promise; `work_and_close` closes it.
    let (stay, first) = unsafe { slot.open(body, shape, Begin::Together) };
    let others = shape.lanes.min(shape.units) - 1;
    let urgency = Urgency::Progress;
    shared.post(seat.place(), others as u32, urgency, &slot.counts);
    work_and_close(slot, stay, first)
}
