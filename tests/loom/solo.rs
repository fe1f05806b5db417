//! Models of solo loops: an owner that claims by stores, and those who come in all the same.

use std::sync::Arc;

use super::harness::{check, run_loop_and_think, run_loop_from, visitor, Frame};
use crate::slot::body::Flow;
use crate::slot::shape::Shape;
use crate::slot::{Begin, Slot};

/// Solo loops of so many units one after the other, and workers that each come so often.
fn solo_loops(begin: Begin, units: &[usize], visits: &[usize]) {
    let slot = Arc::new(Slot::default());
    let frames: Vec<_> = units.iter().map(|&units| Frame::new(3, units)).collect();
    let workers: Vec<_> = visits
        .iter()
        .enumerate()
        .map(|(number, &visits)| visitor(&slot, number, visits))
        .collect();
    for (&units, frame) in units.iter().zip(&frames) {
        let shape = Shape::in_line(true, 3, units);
        let f = |lane, indices| frame.run(lane, indices);
        assert!(run_loop_from(&slot, shape, begin, &f).is_none());
        frame.go_away();
    }
    for worker in workers {
        worker.join().unwrap();
    }
}

/// One worker comes into a solo loop at any moment. Catches: a claim that looks at the door before
/// its store, no barrier on either side, a claim that stands whatever the door says, one that never
/// stands when it is disputed, an entrant that proposes without asking.
#[test]
fn a_worker_comes_in() {
    check(4, || solo_loops(Begin::OneByOne, &[3], &[1]));
}

/// Two workers do. Catches: two that propose different units, a position read from the door as the
/// one that was decided.
#[test]
fn two_workers_come_in() {
    check(3, || solo_loops(Begin::OneByOne, &[3], &[1, 1]));
}

/// A worker that comes twice may be late for the first loop. Catches: a hand-over that is not bound
/// to its epoch, an owner that opens the next loop with the position of the last one.
#[test]
fn a_worker_comes_late() {
    check(3, || solo_loops(Begin::OneByOne, &[2, 3], &[2]));
}

/// The owner claims by halves. Catches: a hand-over in the middle of a claim of several units.
#[test]
fn a_worker_comes_in_between_halves() {
    check(3, || solo_loops(Begin::ByHalves, &[4], &[1]));
}

/// The owner has claimed all units but one. Catches: a worker that believes that one unit is claimed.
#[test]
fn a_worker_comes_for_the_last_unit() {
    check(3, || solo_loops(Begin::AllButOne, &[3], &[1, 1]));
}

/// The owner stops for a moment after its first unit. Catches: a second claim that is not solo.
#[test]
fn a_worker_comes_in_while_the_owner_thinks() {
    check(3, || {
        let slot = Arc::new(Slot::default());
        let worker = visitor(&slot, 0, 1);
        let frame = Frame::new(3, 3);
        let f = |lane, indices| frame.run(lane, indices);
        assert!(run_loop_and_think(&slot, Shape::in_line(true, 3, 3), &f).is_none());
        frame.go_away();
        worker.join().unwrap();
    });
}

/// A body stops the loop while a worker may come in: what is left is claimed once. Catches: the rest
/// claimed without looking at the door, or not at all.
#[test]
fn a_stopped_solo_loop_is_closed() {
    check(3, || {
        let slot = Arc::new(Slot::default());
        let worker = visitor(&slot, 0, 1);
        let frame = Frame::new(3, 3);
        let shape = Shape::in_line(true, 3, 3);
        let payload = run_loop_from(&slot, shape, Begin::OneByOne, &|lane, indices| {
            frame.run(lane, indices);
            Flow::Stop
        });
        assert!(payload.is_none());
        frame.vanish();
        worker.join().unwrap();
    });
}
