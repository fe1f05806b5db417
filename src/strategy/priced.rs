//! `priced`: whether anybody is brought in, by what the loop costs and what a worker costs.

use std::cell::Cell;

use super::work_and_close;
use crate::barrier;
use crate::parking::{Claimed, Reached};
use crate::pool::{Member, Seat, Shared};
use crate::price::{Decision, Helper, Key, Subject};
use crate::slot::body::{Body, Payload};
use crate::slot::shape::Shape;
use crate::slot::{Begin, Slot, Urgency};

/// How a loop is claimed.
pub(super) struct Shapes {
    /// Where others are called.
    pub(super) together: Shape,
    /// Where nobody is called: in line.
    pub(super) alone: Shape,
    /// How the owner claims that: so that whoever comes after all finds something, because bodies
    /// may wait for each other,
    pub(super) carefully: Begin,
    /// and if the loop is light.
    pub(super) lightly: Begin,
}

/// Runs a loop with one of these shapes, and calls `bring_in` once if somebody is to come, with whom
/// `claim` gave before the loop was opened: so that the caller does not wait for the claim behind all
/// that the opening writes.
///
/// # Safety
///
/// As [`Slot::open`](crate::slot::Slot::open); the loop is closed when this returns.
#[inline]
pub(super) unsafe fn run<'c>(
    shared: &Shared,
    seat: &Seat,
    shapes: Shapes,
    body: Body,
    key: Key,
    claim: impl FnOnce() -> Option<Claimed<'c>>,
    bring_in: impl FnOnce(Option<Claimed<'c>>, Urgency) -> Reached,
) -> Option<Payload> {
    let slot = seat.slot();
    let notes = &slot.notes;
    let subject = Subject {
        costs: &shared.costs,
        market: &shared.market,
        key,
        len: body.len(),
    };
    // The pause before the loop, once the clock has been read at its start.
    let pause = Cell::new(None);
    let helper = || {
        pause.set(Some(notes.read_clock()));
        helper(shared)
    };
    let gap = || pause.get().unwrap_or(0);
    let decision = if seat.is_on_the_board() {
        subject.decide(helper, gap, &notes.memory)
    } else {
        // Whoever is on watch does not see it.
        Decision::BringIn {
            expected: None,
            wake: true,
            more_follow: false,
        }
    };
    match decision {
        Decision::Alone { expected, gaps } => {
            let begin = if subject.is_light(expected) {
                shapes.lightly
            } else {
                shapes.carefully
            };
            let gap = pause.get().or_else(|| gaps.then(|| notes.read_clock()));
            // SAFETY: the caller's promise.
            let panic = unsafe { alone(shared, slot, shapes.alone, body, begin) };
            subject.after_alone(expected, gaps, notes.read_clock(), gap);
            panic
        }
        Decision::BringIn {
            expected,
            wake,
            more_follow,
        } => {
            slot.announce_more(more_follow);
            let shape = shapes.together;
            let shape = match expected {
                Some(expected) => shape
                    .in_claims_of(subject.worth_a_claim(expected, shape.units))
                    .in_a_fan(subject.is_large(expected, shape.lanes)),
                None => shape.in_large_claims(),
            };
            if pause.get().is_none() {
                notes.read_clock();
            }
            // SAFETY: the caller's promise.
            unsafe {
                together(slot, shape, body, subject, claim, |claimed| {
                    bring_in(claimed, urgency(wake))
                })
            }
        }
        Decision::Probe => {
            let bring_in = |wake| {
                bring_in(None, urgency(wake));
            };
            let shape = if shapes.together.is_single() {
                shapes.alone
            } else {
                shapes.together.in_large_claims()
            };
            // SAFETY: the caller's promise.
            unsafe { probe(shared, slot, shape, body, subject, bring_in) }
        }
    }
}

fn urgency(wake: bool) -> Urgency {
    if wake {
        Urgency::Speed
    } else {
        Urgency::Ease
    }
}

/// Whom a call would reach.
#[inline]
fn helper(shared: &Shared) -> Helper {
    if shared.sleepers.someone_spins() {
        Helper::Spins
    } else if shared.sleepers.someone_is_awake() {
        Helper::IsAwake
    } else {
        Helper::Sleeps
    }
}

/// # Safety
///
/// As [`run`].
#[inline]
unsafe fn alone(
    shared: &Shared,
    slot: &Slot,
    shape: Shape,
    body: Body,
    begin: Begin,
) -> Option<Payload> {
    let opened = || {
        barrier::light();
        shared.keep_watch(&slot.counts);
    };
    // SAFETY: the caller's promise.
    unsafe { slot.run_solo(body, shape, begin, opened, Member::sleep_at_door) }
}

/// With the clock read at the start.
///
/// # Safety
///
/// As [`run`].
unsafe fn together<'c>(
    slot: &Slot,
    shape: Shape,
    body: Body,
    subject: Subject,
    claim: impl FnOnce() -> Option<Claimed<'c>>,
    bring_in: impl FnOnce(Option<Claimed<'c>>) -> Reached,
) -> Option<Payload> {
    let claimed = claim();
    // SAFETY: the caller's promise; `work_and_close` closes it.
    let (stay, first) = unsafe { slot.open(body, shape, Begin::Together) };
    let reached = bring_in(claimed);
    let before = slot.counts.loops_brought_in.get();
    let panic = work_and_close(slot, stay, first);
    let came = slot.counts.loops_brought_in.get() != before;
    subject.after_help(slot.notes.read_clock(), reached == Reached::Spinning, came);
    panic
}

/// # Safety
///
/// As [`run`].
unsafe fn probe(
    shared: &Shared,
    slot: &Slot,
    shape: Shape,
    body: Body,
    subject: Subject,
    bring_in: impl FnOnce(bool),
) -> Option<Payload> {
    // SAFETY: the caller's promise; it is closed below.
    let (mut stay, first) = unsafe { slot.open(body, shape, Begin::OneByOne) };
    barrier::light();
    shared.keep_watch(&slot.counts);
    slot.notes.read_clock();
    let mut estimate = None;
    let ran = slot.work_and_think(&mut stay, first, || {
        let ticks = slot.notes.since();
        let claims = shape.units.div_ceil(shape.least());
        if let Some(wake) = subject.too_dear_to_probe(ticks, claims, || helper(shared)) {
            estimate = Some(ticks.saturating_mul(claims as u64));
            bring_in(wake);
        }
    });
    ran.add_to(&slot.counts);
    let alone = ran.units == shape.units;
    let panic = slot.close(stay, ran.units, Member::sleep_at_door);
    let took = slot.notes.read_clock();
    // With others about it took less than it would have alone; how much less is a guess from the
    // first unit, which may have been a cheap one.
    subject.after_probe(match estimate {
        Some(estimate) if !alone => estimate.max(took),
        _ => took,
    });
    panic
}
