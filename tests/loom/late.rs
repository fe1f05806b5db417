//! Models of latecomers: workers that still are in a loop, or at its door, when it is over.

use std::sync::{Arc, Mutex};

use loom::thread;

use super::harness::{check, one_loop, run_loop, visit, visitor, Frame};
use crate::slot::shape::Shape;
use crate::slot::{Slot, Stay};

/// One loop that a worker enters while its caller runs the first unit, and that its caller then
/// finishes alone. `None`: another one took its lane.
fn one_loop_with_an_entrant(slot: &Slot, shape: Shape) -> Option<Stay> {
    let entrant = Mutex::new(None);
    let frame = Frame::new(shape.lanes, shape.units);
    let payload = run_loop(slot, shape, &|lane, indices| {
        if indices.start == 0 {
            *entrant.lock().unwrap() = slot.enter(0);
        }
        frame.run(lane, indices)
    });
    assert!(payload.is_none());
    frame.go_away();
    entrant.into_inner().unwrap()
}

/// A worker that entered one loop claims its first unit in the midst of the next one, in which
/// another worker is: there is none.
fn a_latecomer_claims_nothing(shape: Shape) {
    let slot = Arc::new(Slot::default());
    let mut stay = one_loop_with_an_entrant(&slot, shape).expect("a free lane");
    let frame = Frame::new(shape.lanes, shape.units);
    let late = {
        let slot = Arc::clone(&slot);
        thread::spawn(move || {
            assert!(slot.claim(&mut stay).is_none(), "of a loop that is over");
            if slot.leave(stay, 0) {
                visit(&slot, 0);
            }
        })
    };
    let other = visitor(&slot, 1, 1);
    one_loop(&slot, shape, &frame);
    late.join().unwrap();
    other.join().unwrap();
}

/// In a loop with runs. Catches: a run's word of a later loop taken for an older one, a shut door
/// by a store or of a later loop.
#[test]
fn a_latecomer_in_runs_claims_nothing() {
    check(1, || a_latecomer_claims_nothing(Shape::in_runs(3, 3, 2)));
}

/// In a loop with one line. Catches: a claim that does not compare the epoch.
#[test]
fn a_latecomer_in_line_claims_nothing() {
    check(2, || a_latecomer_claims_nothing(Shape::in_line(true, 3, 3)));
}

/// A worker at the door of a loop that was cut reads the shape of the loop after the next, whose
/// mark is the same (in a model marks have one bit) and which has a run more. Catches: a shape
/// stored without Release or read without Acquire.
#[test]
fn a_latecomer_reads_a_shape_with_the_same_mark() {
    check(2, || {
        let slot = Arc::new(Slot::default());
        let (two, three) = (Shape::in_runs(2, 2, 1), Shape::in_runs(3, 3, 2));
        // Leaves the third run with a word that is older than the loops to come.
        one_loop(&slot, three, &Frame::new(3, 3));
        let late = visitor(&slot, 1, 1);
        let entrant = one_loop_with_an_entrant(&slot, two);
        let frames = [Frame::new(2, 2), Frame::new(3, 3)];
        one_loop(&slot, two, &frames[0]);
        one_loop(&slot, three, &frames[1]);
        late.join().unwrap();
        // Not before: its fence would do what the shape's Release has to do.
        entrant.map(|stay| slot.leave(stay, 0));
    });
}
