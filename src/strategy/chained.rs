//! `Chained`: each lane that starts queues the next one.

use super::priced::{self, Shapes};
use crate::pool::{Seat, Shared};
use crate::price::Key;
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
    key: Key,
) -> Option<Payload> {
    let shape = Shape::in_line(true, lanes, body.blocks());
    let shapes = Shapes {
        together: shape,
        alone: shape,
        carefully: Begin::OneByOne,
        lightly: Begin::OneByOne,
    };
    // Whoever comes is called through the queue.
    let claim = || None;
    let bring_in = |_, urgency| {
        let urgency = if seat.is_on_the_board() {
            urgency
        } else {
            // Whoever is on watch does not see it.
            Urgency::Progress
        };
        shared.post(seat.place(), 1, urgency, &seat.slot().counts)
    };
    // SAFETY: the caller's promise.
    unsafe { priced::run(shared, seat, shapes, body, key, claim, bring_in) }
}
