//! `Adaptive`: the chain without the queue, over runs.

use super::priced::{self, Shapes};
use crate::pool::{Seat, Shared};
use crate::price::Key;
use crate::slot::body::{Body, Payload};
use crate::slot::shape::Shape;
use crate::slot::Begin;

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
    let together =
        Shape::in_runs(lanes, body.blocks(), shared.workers()).on(shared.sleepers.processors());
    // The cheapest way to claim alone is in line. Where each block may need a lane of its own, none
    // is claimed together with another, however light they are.
    let alone = Shape::in_line(true, lanes, body.blocks());
    let shapes = if together.is_single() {
        Shapes {
            together,
            alone,
            carefully: Begin::OneByOne,
            lightly: Begin::OneByOne,
        }
    } else {
        Shapes {
            together,
            alone,
            carefully: Begin::ByHalves,
            lightly: Begin::AllButOne,
        }
    };
    let bring_in =
        |claimed, urgency| shared.invite(seat.place(), urgency, &seat.slot().counts, claimed);
    // A slot that is not on the board is found through the queue.
    let claim = || {
        let found = seat.is_on_the_board();
        found.then(|| shared.sleepers.claim_spinning()).flatten()
    };
    // SAFETY: the caller's promise.
    unsafe { priced::run(shared, seat, shapes, body, key, claim, bring_in) }
}
