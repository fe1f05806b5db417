//! Models of the slot: loops back to back, with workers that come when they like.
//!
//! In each, every unit is run once, in its own loop, by a lane that no other thread is at the time; and
//! nobody touches what a loop borrowed after it was closed.

use std::sync::Arc;

use super::harness::{check, one_loop, visitor, Frame};
use crate::slot::shape::Shape;
use crate::slot::Slot;

/// Loops of these shapes one after the other, and workers that each make a number of visits.
fn back_to_back(shapes: &[Shape], visits: &[usize]) {
    let slot = Arc::new(Slot::default());
    // The frames outlive the workers, so that one that comes too late finds a cell and not a hole.
    let frames: Vec<_> = shapes
        .iter()
        .map(|shape| Frame::new(shape.lanes, shape.units))
        .collect();
    let workers: Vec<_> = visits
        .iter()
        .enumerate()
        .map(|(number, &visits)| visitor(&slot, number, visits))
        .collect();
    for (&shape, frame) in shapes.iter().zip(&frames) {
        one_loop(&slot, shape, frame);
    }
    for worker in workers {
        worker.join().unwrap();
    }
}

/// Two loops with one line and a worker that comes twice. Catches: the body read before a claim, a claim by a
/// store, a claim that does not compare the epoch, units settled before they are run.
#[test]
fn loops_in_line() {
    check(3, || back_to_back(&[Shape::in_line(true, 2, 2); 2], &[2]));
}

/// One loop with one line and two workers.
#[test]
fn one_loop_in_line_with_two_workers() {
    check(3, || back_to_back(&[Shape::in_line(true, 3, 3)], &[1, 1]));
}

/// Two loops with one line and two workers.
#[test]
fn loops_in_line_with_two_workers() {
    check(1, || {
        back_to_back(&[Shape::in_line(true, 3, 3); 2], &[1, 1])
    });
}

/// Two loops with runs and a worker that comes twice: the caller claims uncut while the worker cuts. Catches:
/// a cut by a store, a caller that goes on uncut after the cut, a run's word taken for whole though it is of this
/// loop, a latecomer that shuts the next loop.
#[test]
fn loops_in_runs() {
    check(3, || back_to_back(&[Shape::in_runs(2, 3, 1); 2], &[2]));
}

/// Two loops with runs and two workers, who also take from each other's runs.
#[test]
fn loops_in_runs_with_two_workers() {
    check(1, || back_to_back(&[Shape::in_runs(3, 3, 2); 2], &[1, 1]));
}

/// One loop with runs in which two workers cut, take from all runs and shut at the same time.
#[test]
fn one_loop_in_runs_with_two_workers() {
    check(3, || back_to_back(&[Shape::in_runs(3, 3, 2)], &[1, 1]));
}

/// The second loop is of the other kind, and a latecomer of the first one takes neither for the other.
/// Catches: a shape used though its mark is not the door's.
#[test]
fn a_loop_of_the_other_kind_follows() {
    check(3, || {
        back_to_back(&[Shape::in_line(true, 2, 2), Shape::in_runs(2, 3, 1)], &[2])
    });
    check(3, || {
        back_to_back(&[Shape::in_runs(2, 3, 1), Shape::in_line(true, 2, 2)], &[2])
    });
}

/// The second loop has more lanes than any before it, and the third fewer. Catches: lanes made after the
/// opening, or with words that count as units of the loop.
#[test]
fn a_loop_with_more_lanes_follows() {
    check(2, || {
        back_to_back(
            &[
                Shape::in_runs(2, 2, 1),
                Shape::in_runs(3, 3, 2),
                Shape::in_runs(2, 2, 1),
            ],
            &[2],
        )
    });
}

/// A worker reads the door of one loop and the shape of the loop after the next, whose mark is the same
/// (in a model marks are of one bit). Catches: no second look at the door, a shape stored without Release or
/// read without Acquire.
#[test]
fn a_shape_with_the_same_mark_follows() {
    check(3, || {
        back_to_back(
            &[
                Shape::in_runs(2, 2, 1),
                Shape::in_runs(2, 2, 1),
                Shape::in_runs(3, 4, 2),
            ],
            &[1],
        )
    });
}
