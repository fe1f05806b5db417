//! What the models share: how a model is run, a loop's data that loom watches, and a worker's
//! visit.

use std::ops::Range;
use std::sync::Arc;

use crate::blocks::Blocks;
use crate::parking::Parker;
use crate::slot::body::{Body, Flow, Payload};
use crate::slot::shape::Shape;
use crate::slot::{Begin, Slot};
use crate::sync::Cell;

/// Runs `model` through every order of its steps with at most `preemptions` preemptions.
pub(super) fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // The environment goes first, so that a deeper search needs no change here.
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(model);
}

/// What one loop borrows from its caller: loom reports any access that is not ordered with the
/// caller's last.
pub(super) struct Frame {
    /// Read by every body, written by the caller as soon as the loop is closed.
    ground: Cell<bool>,
    /// How often each unit was run, written by whoever runs it.
    units: Box<[Cell<u32>]>,
    /// One scratch for each lane, written by each body that runs as that lane.
    scratch: Box<[Cell<u32>]>,
}

// SAFETY: the cells are loom's, and its report of an access without order is what the models are
// for.
unsafe impl Sync for Frame {}
// SAFETY: as above; what is in the cells are plain numbers.
unsafe impl Send for Frame {}

impl Frame {
    pub(super) fn new(lanes: usize, units: usize) -> Self {
        let cells = |n| (0..n).map(|_| Cell::new(0)).collect();
        Frame {
            ground: Cell::new(true),
            units: cells(units),
            scratch: cells(lanes),
        }
    }

    /// The loop's body, one index per unit, which says whether to go on.
    pub(super) fn run(&self, lane: usize, indices: Range<usize>) -> Flow {
        // SAFETY: the pointer is the cell's own; that nobody writes meanwhile is what loom checks.
        let there = self.ground.with(|ground| unsafe { *ground });
        assert!(there, "a body ran after its loop was closed");
        for cell in indices
            .map(|unit| &self.units[unit])
            .chain([&self.scratch[lane]])
        {
            // SAFETY: as above, for any access.
            cell.with_mut(|count| unsafe { *count += 1 });
        }
        Flow::GoOn
    }

    /// After the loop was closed: what it borrowed is gone.
    pub(super) fn vanish(&self) {
        // SAFETY: the pointer is the cell's own; that nobody looks meanwhile is what loom checks.
        self.ground.with_mut(|ground| unsafe { *ground = false });
    }

    /// The same, for a loop of which each unit was run once.
    pub(super) fn go_away(&self) {
        self.vanish();
        for (unit, count) in self.units.iter().enumerate() {
            // SAFETY: as above, for reading.
            let count = count.with(|count| unsafe { *count });
            assert_eq!(count, 1, "how often unit {unit} was run");
        }
    }
}

/// One whole loop of `shape` in `slot`, as its caller. The payload of a body that panicked.
pub(super) fn run_loop<F: Fn(usize, Range<usize>) -> Flow + Sync>(
    slot: &Slot,
    shape: Shape,
    f: &F,
) -> Option<Payload> {
    run_loop_from(slot, shape, Begin::Together, f)
}

/// The same, with a caller that begins it so.
pub(super) fn run_loop_from<F: Fn(usize, Range<usize>) -> Flow + Sync>(
    slot: &Slot,
    shape: Shape,
    begin: Begin,
    f: &F,
) -> Option<Payload> {
    let body = Body::new(f, 0, Blocks::new(shape.units, shape.units));
    if begin != Begin::Together {
        // SAFETY: each model has one owner of a slot at a time, and `f` is borrowed.
        return unsafe { slot.run_solo(body, shape, begin, || (), park_until) };
    }
    // SAFETY: as above, and `close` is called below.
    let (mut stay, first) = unsafe { slot.open(body, shape, begin) };
    let ran = slot.work(&mut stay, first);
    slot.close(stay, ran.units, park_until)
}

/// The same, with a caller that runs one unit, thinks, and goes on.
pub(super) fn run_loop_and_think<F: Fn(usize, Range<usize>) -> Flow + Sync>(
    slot: &Slot,
    shape: Shape,
    f: &F,
) -> Option<Payload> {
    let body = Body::new(f, 0, Blocks::new(shape.units, shape.units));
    // SAFETY: as above.
    let (mut stay, first) = unsafe { slot.open(body, shape, Begin::OneByOne) };
    let ran = slot.work_and_think(&mut stay, first, || ());
    slot.close(stay, ran.units, park_until)
}

/// One whole loop in which nothing panics, after which its frame is taken away.
pub(super) fn one_loop(slot: &Slot, shape: Shape, frame: &Frame) {
    let payload = run_loop(slot, shape, &|lane, indices| frame.run(lane, indices));
    assert!(payload.is_none(), "a body panicked");
    frame.go_away();
}

/// A worker's visit to a slot, without the chain. The units that it ran.
pub(super) fn visit(slot: &Slot, preferred_lane: usize) -> usize {
    while let Some(mut stay) = slot.enter(preferred_lane) {
        let mut units = 0;
        if let Some(first) = slot.claim(&mut stay) {
            units = slot.work(&mut stay, first).units;
        }
        if !slot.leave(stay, units) {
            return units;
        }
    }
    0
}

/// A thread that visits `slot` `visits` times, as worker `number`.
pub(super) fn visitor(
    slot: &Arc<Slot>,
    number: usize,
    visits: usize,
) -> loom::thread::JoinHandle<()> {
    let slot = Arc::clone(slot);
    loom::thread::spawn(move || {
        for _ in 0..visits {
            visit(&slot, number);
        }
    })
}

/// Sleeps in `parker` until `done`.
pub(super) fn park_until(parker: &Parker, done: &dyn Fn() -> bool) {
    while !done() {
        parker.park();
    }
}
