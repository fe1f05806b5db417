//! `Adaptive`: the chain without the queue, over runs.

use super::priced::{self, Shapes};
use crate::pool::{Seat, Shared};
use crate::price::Key;
use crate::slot::body::{Body, Payload};
use crate::slot::shape::Shape;
use crate::slot::Urgency;

/// # Safety
///
/// As [`Slot::open`](crate::slot::Slot::open); the loop is closed when this returns.
pub(super) unsafe fn run(
    shared: &Shared,
    seat: &Seat,
    lanes: usize,
    body: Body,
    key: Key,
) -> Option<Payload> {
    let shape =
        Shape::in_runs(lanes, body.blocks(), shared.workers()).on(shared.sleepers.processors());
    // Where each block may need a lane of its own, none is claimed together with another, and the
    // cheapest way to claim single blocks alone is in line.
    let alone = if shape.is_single() {
        Shape::in_line(true, shape.lanes, shape.units)
    } else {
        shape
    };
    let bring_in = || shared.invite(seat.place(), Urgency::Speed, &seat.slot().counts);
    // SAFETY: the caller's promise.
    unsafe {
        priced::run(
            shared,
            seat,
            Shapes {
                together: shape,
                alone,
            },
            body,
            key,
            bring_in,
        )
    }
}
