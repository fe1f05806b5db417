//! Models of refusals: a worker that finds the lanes taken goes away for good, so whoever took one
//! for nothing must come in itself.

use std::ops::Range;
use std::sync::Arc;

use super::harness::{check, one_loop, run_loop, visitor, Frame};
use crate::parking::Parker;
use crate::slot::body::Flow;
use crate::slot::shape::Shape;
use crate::slot::Slot;

/// A loop of two units whose first body, the caller's, sends a worker to the slot and waits until
/// somebody runs the second. Another worker may still be about in the loop before.
fn two_bodies_meet(shape: Shape) {
    let slot = Arc::new(Slot::default());
    let before = Frame::new(2, 2);
    let late = visitor(&slot, 0, 1);
    one_loop(&slot, shape, &before);

    let met = Parker::new();
    let meet = |_, indices: Range<usize>| {
        if indices.start == 0 {
            let called = visitor(&slot, 1, 1);
            met.park();
            called.join().unwrap();
        } else {
            met.unpark();
        }
        Flow::GoOn
    };
    assert!(run_loop(&slot, shape, &meet).is_none());
    late.join().unwrap();
}

/// A latecomer that holds the only lane looks again after it has let go. Catches: no second look in
/// `leave` or in `enter`, no fence before the second look, no fence and no second try in `hold`.
#[test]
fn a_latecomer_looks_again() {
    check(3, || two_bodies_meet(Shape::in_runs(2, 2, 1)));
}

/// A worker that drew an id of the loop before does not use one up of the next. Catches: an id
/// drawn without comparing the epoch.
#[test]
fn a_latecomer_draws_no_id_of_the_next_loop() {
    check(3, || two_bodies_meet(Shape::in_line(true, 2, 2)));
}
