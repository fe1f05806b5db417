//! Models of the slot: loops back to back, with workers that come when they like.
//!
//! In each, every unit is run once, in its own loop, by a lane that no other thread is at the time;
//! and nobody touches what a loop borrowed after it was closed.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;

use super::harness::{check, one_loop, run_loop, visitor, Frame};
use crate::slot::body::Flow;
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

/// Two loops with one line and a worker that comes twice. Catches: the body read before a claim, a
/// claim by a store, a claim that does not compare the epoch, units settled before they are run.
#[test]
fn loops_in_line() {
    check(3, || back_to_back(&[Shape::in_line(true, 2, 2); 2], &[2]));
}

/// One loop with one line and two workers.
#[test]
fn one_loop_in_line_with_two_workers() {
    check(2, || back_to_back(&[Shape::in_line(true, 3, 3)], &[1, 1]));
}

/// Two loops with one line and two workers.
#[test]
fn loops_in_line_with_two_workers() {
    check(1, || {
        back_to_back(&[Shape::in_line(true, 3, 3); 2], &[1, 1])
    });
}

/// Two loops with runs and a worker that comes twice: the caller claims uncut while the worker
/// cuts. Catches: a cut by a store, a caller that goes on uncut after the cut, a run taken for
/// whole though it has a word of this loop, or from its start though it was cut later, and the
/// opening stored without Release.
#[test]
fn loops_in_runs() {
    check(2, || back_to_back(&[Shape::in_runs(2, 4, 1); 2], &[2]));
}

/// One loop with runs in which two workers cut, take from all runs and shut at the same time.
#[test]
fn one_loop_in_runs_with_two_workers() {
    check(2, || back_to_back(&[Shape::in_runs(3, 3, 2)], &[1, 1]));
}

/// Two loops with runs and two workers.
#[test]
fn loops_in_runs_with_two_workers() {
    check(1, || back_to_back(&[Shape::in_runs(3, 3, 2); 2], &[1, 1]));
}

/// The second loop is of the other kind, and a latecomer of the first one takes neither for the
/// other. Catches: a worker that enters without comparing the epoch.
#[test]
fn a_loop_of_the_other_kind_follows() {
    let (line, runs) = (Shape::in_line(true, 2, 2), Shape::in_runs(2, 3, 1));
    check(3, move || back_to_back(&[line, runs], &[2]));
    check(3, move || back_to_back(&[runs, line], &[2]));
}

/// The second loop has more lanes than any before it, and the third fewer. Catches: lanes made
/// after the opening, or with words that count as units of the loop.
#[test]
fn a_loop_with_more_lanes_follows() {
    let (two, three) = (Shape::in_runs(2, 2, 1), Shape::in_runs(3, 3, 2));
    check(2, move || back_to_back(&[two, three, two], &[2]));
}

/// A body stops the loop, in whichever lane: what is left is claimed, counted and not run, and the
/// next loop runs whole. Catches: a claim that is not counted because it is not run, a stop that
/// outlives its loop.
#[test]
fn a_stopped_loop_is_closed() {
    for shape in [Shape::in_line(true, 2, 3), Shape::in_runs(2, 4, 1)] {
        check(2, move || {
            let slot = Arc::new(Slot::default());
            let frames = [(); 2].map(|()| Frame::new(shape.lanes, shape.units));
            let worker = visitor(&slot, 0, 2);
            let stop = |lane, indices| {
                frames[0].run(lane, indices);
                Flow::Stop
            };
            assert!(run_loop(&slot, shape, &stop).is_none());
            frames[0].vanish();
            one_loop(&slot, shape, &frames[1]);
            worker.join().unwrap();
        });
    }
}

/// Bodies panic in both lanes: the caller gets one payload, of a unit that was run, and the next
/// loop none. Catches: a lane that goes with its panic and leaves its units uncounted.
#[test]
fn a_panic_closes_the_loop() {
    check(2, || {
        let slot = Arc::new(Slot::default());
        let shape = Shape::in_runs(2, 2, 1);
        let frame = Frame::new(2, 2);
        let worker = visitor(&slot, 0, 2);
        // Not `panic!`, which would print.
        let panic = |_, indices: Range<usize>| resume_unwind(Box::new(indices.start));
        let payload = run_loop(&slot, shape, &panic).expect("a payload");
        assert!(*payload.downcast::<usize>().unwrap() < 2);
        one_loop(&slot, shape, &frame);
        worker.join().unwrap();
    });
}
