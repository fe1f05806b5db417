//! Models of a slot whose epochs come round, or come to where the run words are refreshed.

use std::sync::Arc;

use super::harness::{check, one_loop, visitor, Frame};
use crate::slot::door::Epoch;
use crate::slot::shape::Shape;
use crate::slot::Slot;

/// Epochs count modulo this.
const EPOCHS: u64 = 1 << 42;

/// Two loops of the epochs after `last`, and a worker that comes as it likes.
fn loops_after(last: u64) {
    let slot = Arc::new(Slot::starting_at(Epoch::new(last)));
    let shape = Shape::in_runs(2, 3, 1);
    let frames = [(); 2].map(|()| Frame::new(shape.lanes, shape.units));
    let worker = visitor(&slot, 0, 2);
    for frame in &frames {
        one_loop(&slot, shape, frame);
    }
    worker.join().unwrap();
}

/// The numbers come round from the last to the first. Catches: epochs compared as numbers.
#[test]
fn the_epochs_come_round() {
    check(2, || loops_after(EPOCHS - 2));
}

/// The numbers pass the half, where a word of epoch 0 would count as newer. Catches: lanes made
/// without a word of the loop that is over.
#[test]
fn the_epochs_pass_the_half() {
    check(2, || loops_after(EPOCHS / 2));
}

/// The numbers pass a quarter, where the run words are refreshed while a latecomer may look at
/// them. Catches: words refreshed with the epoch of the loop that opens.
#[test]
fn the_run_words_are_refreshed() {
    check(2, || loops_after(EPOCHS / 4 - 1));
}
