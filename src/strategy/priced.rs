//! `priced`: whether anybody is brought in, by what the loop costs and what a worker costs.

use super::work_and_close;
use crate::barrier;
use crate::clock;
use crate::pool::{Seat, Shared};
use crate::price::{decide, still_alone, Decision, Helper, Key, Known};
use crate::slot::body::{Body, Payload};
use crate::slot::shape::Shape;
use crate::slot::Begin;

/// How a loop is claimed.
pub(super) struct Shapes {
    /// Where others are called.
    pub(super) together: Shape,
    /// Where nobody is.
    pub(super) alone: Shape,
}

/// Runs a loop with one of these shapes, and calls `bring_in` once if somebody is to come.
///
/// # Safety
///
/// As [`Slot::open`](crate::slot::Slot::open); the loop is closed when this returns.
#[inline]
pub(super) unsafe fn run(
    shared: &Shared,
    seat: &Seat,
    shapes: Shapes,
    body: Body,
    key: Key,
    bring_in: impl FnOnce(),
) -> Option<Payload> {
    let slot = seat.slot();
    let len = body.len();
    let mut rent = slot.notes.rent.get();
    let before = rent;
    let helper = || {
        if shared.sleepers.someone_spins() {
            Helper::Spins
        } else {
            Helper::Sleeps
        }
    };
    let known = shared.costs.look(key);
    let decision = decide(known, len, &shared.market, helper, &mut rent);
    if rent != before {
        slot.notes.rent.set(rent);
    }
    match decision {
        Decision::Alone(expected) => {
            // SAFETY: the caller's promise; it is closed below.
            let (stay, first) = unsafe { slot.open(body, shapes.alone, Begin::Alone) };
            barrier::light();
            shared.keep_watch(&slot.counts);
            let panic = work_and_close(slot, stay, first);
            let now = clock::now();
            let since = clock::between(slot.notes.last.get(), now);
            slot.notes.last.set(now);
            still_alone(&shared.costs, key, len, expected, since, &shared.market);
            panic
        }
        Decision::BringIn => {
            // SAFETY: the caller's promise; it is closed below.
            let (mut stay, first) = unsafe { slot.open(body, shapes.together, Begin::Together) };
            bring_in();
            let start = clock::now();
            let ran = slot.work(&mut stay, first);
            let ticks = clock::between(start, clock::now());
            ran.add_to(&slot.counts);
            let panic = slot.close(stay, ran.units);
            let own = len as f32 * (ran.blocks.max(1) as f32 / body.blocks() as f32);
            let cost = ticks as f32 / own;
            shared
                .costs
                .set(key, known.after_help(cost, len, &shared.market));
            slot.notes.last.set(clock::now());
            panic
        }
        Decision::Probe => {
            let shape = shapes.alone;
            // SAFETY: the caller's promise; it is closed below.
            let (mut stay, first) = unsafe { slot.open(body, shape, Begin::Probing) };
            barrier::light();
            shared.keep_watch(&slot.counts);
            let start = clock::now();
            let mut cost = None;
            let ran = slot.work_and_think(&mut stay, first, || {
                let ticks = clock::between(start, clock::now());
                let first = len.div_ceil(shape.units);
                let per_index = ticks as f32 / first as f32;
                if let Decision::BringIn = decide(
                    Known::Cost(per_index),
                    len,
                    &shared.market,
                    helper,
                    &mut rent,
                ) {
                    cost = Some(per_index);
                    bring_in();
                }
            });
            ran.add_to(&slot.counts);
            let alone = ran.units == shape.units;
            let panic = slot.close(stay, ran.units);
            let now = clock::now();
            slot.notes.last.set(now);
            let cost = match cost {
                Some(cost) if !alone => cost,
                _ => clock::between(start, now) as f32 / len as f32,
            };
            shared.costs.set(key, Known::Cost(cost));
            panic
        }
    }
}
