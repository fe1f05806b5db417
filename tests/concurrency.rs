//! Workers come: bodies are inside at the same time. Shown by bodies that wait for each other, never by a
//! clock, so that a loop that nobody is called to hangs, which the deadline reports.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{for_every_strategy, pool, wait_until, Meeting};
use conga::{Dispatch, ThreadPool};

for_every_strategy! {
    two_bodies_meet,
    as_many_bodies_as_lanes_meet,
    whoever_comes_gets_another_lane,
    as_many_bodies_as_threads_meet,
    two_bodies_meet_after_loops_that_were_tiny,
    as_many_bodies_as_lanes_meet_after_loops_that_were_tiny,
    bodies_of_nested_loops_meet,
    bodies_of_nested_light_loops_meet,
    bodies_meet_while_other_workers_are_held_up,
    the_caller_need_not_help,
    more_lanes_come_without_the_callers_help,
    loops_of_several_callers_meet,
    parked_workers_come_back,
    workers_that_are_added_take_part,
}

// Two indices with two lanes are inside at the same time, on the first call and on later ones: catches a
// wake-up that is left out, and a claim of both.
fn two_bodies_meet(dispatch: Dispatch) {
    for threads in [2, 3, 8] {
        let pool = pool(threads, dispatch);
        for _ in 0..200 {
            let meeting = Meeting::of(2);
            pool.parallel_for(0..2)
                .num_threads(2)
                .for_each(|_| meeting.attend());
        }
    }
}

/// Runs a loop of as many indices as lanes, whose bodies are all inside at the same time, each as
/// another lane.
fn meet_as_different_lanes(pool: &ThreadPool, lanes: usize) {
    let (meeting, ids) = (Meeting::of(lanes), Mutex::new(Vec::new()));
    pool.parallel_for(0..lanes)
        .num_threads(lanes)
        .for_each_lane(|lane, _| {
            meeting.attend();
            ids.lock().unwrap().push(lane);
        });
    let mut ids = ids.into_inner().unwrap();
    ids.sort();
    assert!(ids.iter().copied().eq(0..lanes), "{ids:?}");
}

// As many indices as lanes, up to eight, are all inside at the same time, on a pool of as many threads or
// of more: catches a chain that ends early, and a lane that takes two indices where every one may
// need a lane.
fn as_many_bodies_as_lanes_meet(dispatch: Dispatch) {
    for lanes in 2..=8 {
        for pool in [pool(lanes, dispatch), pool(8, dispatch)] {
            (0..30).for_each(|_| meet_as_different_lanes(&pool, lanes));
        }
    }
}

// The same with any of the workers held up by tasks, so that any others come: catches an id that goes by
// the worker's number, which two workers may have in common.
fn whoever_comes_gets_another_lane(dispatch: Dispatch) {
    let pool = pool(8, dispatch);
    for free in 0..16 {
        let inside = Arc::new(Meeting::of(4));
        let holds = [0; 4].map(|_| Arc::new(AtomicBool::new(true)));
        for hold in &holds {
            let (inside, hold) = (Arc::clone(&inside), Arc::clone(hold));
            pool.add_task(move || {
                inside.attend();
                wait_until(|| !hold.load(Ordering::Relaxed));
            });
        }
        wait_until(|| inside.is_complete());
        for (bit, hold) in holds.iter().enumerate() {
            hold.store(free >> bit & 1 == 0, Ordering::Relaxed);
        }
        for _ in 0..10 {
            (2..=4).for_each(|lanes| meet_as_different_lanes(&pool, lanes));
        }
        holds
            .iter()
            .for_each(|hold| hold.store(false, Ordering::Relaxed));
    }
}

// The same where the loop may have more lanes than there are indices or threads.
fn as_many_bodies_as_threads_meet(dispatch: Dispatch) {
    for threads in 2..=8 {
        let pool = pool(threads, dispatch);
        for _ in 0..20 {
            let meeting = Meeting::of(threads);
            pool.parallel_for(0..threads)
                .num_threads(8 * threads)
                .for_each(|_| meeting.attend());
        }
    }
}

/// Runs a loop that was tiny 100,000 times, from the same place in the program and with the same body,
/// then has bodies that wait for each other: at once, and after pauses in which whoever looks after
/// loops that call nobody has gone away. The pauses are the history that is tested; nothing relies on
/// their length.
fn meet_after_tiny_loops(pool: &ThreadPool, bodies: usize) {
    let run = |meeting: Option<&Meeting>| {
        pool.parallel_for(0..bodies)
            .num_threads(bodies)
            .for_each(|_| {
                if let Some(meeting) = meeting {
                    meeting.attend();
                }
            });
    };
    for pause in [0, 1, 10, 100] {
        (0..100_000).for_each(|_| run(None));
        thread::sleep(Duration::from_millis(pause));
        run(Some(&Meeting::of(bodies)));
    }
    for _ in 0..50 {
        (0..100).for_each(|_| run(None));
        run(Some(&Meeting::of(bodies)));
    }
}

// Two bodies meet after any history: catches a strategy that has learned to bring in nobody, and a watch
// that lapses for good.
fn two_bodies_meet_after_loops_that_were_tiny(dispatch: Dispatch) {
    for threads in [2, 3, 16] {
        meet_after_tiny_loops(&pool(threads, dispatch), 2);
    }
}

// As many bodies as lanes meet after the same history: catches a loop that is known to be light and whose
// caller takes two bodies in one claim, a lane that comes late and brings nobody in.
fn as_many_bodies_as_lanes_meet_after_loops_that_were_tiny(dispatch: Dispatch) {
    for bodies in [3, 4] {
        meet_after_tiny_loops(&pool(bodies, dispatch), bodies);
    }
}

// Bodies of an inner loop meet while the outer loop holds one more thread: catches an inner loop that
// runs on its caller alone.
fn bodies_of_nested_loops_meet(dispatch: Dispatch) {
    let pool = pool(4, dispatch);
    for _ in 0..50 {
        let outer = Meeting::of(2);
        pool.parallel_for(0..2).for_each(|_| {
            outer.attend();
            let inner = Meeting::of(2);
            pool.parallel_for(0..2).for_each(|_| inner.attend());
        });
    }
}

// The same where the inner loops were light until now, so that somebody has to look for them, and finds the
// outer loop first, which is open and has nothing to give: catches a watch that looks at one loop only.
fn bodies_of_nested_light_loops_meet(dispatch: Dispatch) {
    let pool = pool(4, dispatch);
    let inner = |meeting: Option<&Meeting>| {
        pool.parallel_for(0..2).for_each(|_| {
            if let Some(meeting) = meeting {
                meeting.attend();
            }
        });
    };
    for _ in 0..20 {
        let outer = Meeting::of(2);
        pool.parallel_for(0..2).for_each(|_| {
            outer.attend();
            (0..200).for_each(|_| inner(None));
            inner(Some(&Meeting::of(2)));
        });
    }
}

// A worker that is busy elsewhere is no reason for another one not to come: catches an invitation
// that stays with somebody who cannot take it.
fn bodies_meet_while_other_workers_are_held_up(dispatch: Dispatch) {
    let pool = pool(4, dispatch);
    for _ in 0..20 {
        let held = Arc::new(AtomicBool::new(true));
        for _ in 0..2 {
            let held = Arc::clone(&held);
            pool.add_task(move || wait_until(|| !held.load(Ordering::Relaxed)));
        }
        let meeting = Meeting::of(2);
        pool.parallel_for(0..2).for_each(|_| meeting.attend());
        held.store(false, Ordering::Relaxed);
    }
}

/// Runs loops of many lengths, whose caller stays in its first body until `done` other lanes are in one.
fn caller_waits_for(pool: &ThreadPool, others: usize) {
    let caller = thread::current().id();
    for len in [2, 3, 8, 100, 4097] {
        if len <= others {
            continue;
        }
        let inside = Meeting::of(others);
        pool.parallel_for(0..len).for_each_range(|_| {
            if thread::current().id() == caller {
                wait_until(|| inside.is_complete());
            } else if !inside.is_complete() {
                inside.attend();
            }
        });
    }
}

// The caller stays in its first body until another lane has run one: catches a second lane that is only
// brought in between the caller's claims, and a first claim of everything.
fn the_caller_need_not_help(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    (0..50).for_each(|_| caller_waits_for(&pool, 1));
}

// The same for all the other lanes, which are inside together while the caller is: catches a chain
// whose links depend on the caller.
fn more_lanes_come_without_the_callers_help(dispatch: Dispatch) {
    for threads in [3, 4, 8] {
        let pool = pool(threads, dispatch);
        for _ in 0..20 {
            caller_waits_for(&pool, threads - 1);
        }
    }
}

// Three callers' loops get a worker each, though each worker that comes stays for ever so long: catches a
// call that goes to a worker who has been called already.
fn loops_of_several_callers_meet(dispatch: Dispatch) {
    let pool = pool(4, dispatch);
    for _ in 0..50 {
        let all = Meeting::of(6);
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    pool.parallel_for(0..2)
                        .num_threads(2)
                        .for_each(|_| all.attend())
                });
            }
        });
    }
}

// Workers that `park_now` has sent to sleep, and those that fell asleep by themselves, come when they are
// called: catches a wake-up that only spinning workers hear.
fn parked_workers_come_back(dispatch: Dispatch) {
    for spin in [0, 200] {
        let pool = ThreadPool::builder()
            .num_threads(3)
            .dispatch(dispatch)
            .spin(std::time::Duration::from_micros(spin))
            .build()
            .unwrap();
        for _ in 0..100 {
            let meeting = Meeting::of(3);
            pool.parallel_for(0..3).for_each(|_| meeting.attend());
            pool.park_now();
        }
    }
}

// A loop that is open while the pool gets its first workers, or more, has them in it: catches workers
// that start by going to sleep.
fn workers_that_are_added_take_part(dispatch: Dispatch) {
    for before in [1, 2] {
        for _ in 0..10 {
            let pool = pool(before, dispatch);
            let (open, met) = (Meeting::of(before), Meeting::of(4));
            thread::scope(|s| {
                s.spawn(|| {
                    wait_until(|| open.is_complete());
                    pool.ensure_threads(4);
                });
                let arrived = AtomicUsize::new(0);
                pool.parallel_for(0..4).num_threads(4).for_each(|_| {
                    if arrived.fetch_add(1, Ordering::Relaxed) < before {
                        open.attend();
                    }
                    met.attend();
                });
            });
        }
    }
}

/// Every pair of blocks of one loop waits for each other, under a strategy that claims single blocks in order.
fn every_pair_of_blocks_meets(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for a in 0..8 {
        for b in 0..a {
            let meeting = Meeting::of(2);
            pool.parallel_for(0..8).for_each(|i| {
                if i == a || i == b {
                    meeting.attend();
                }
            });
        }
    }
}

// Under `Chained` bodies of any two different blocks meet, though there are four blocks for each lane:
// catches a claim of two blocks.
#[test]
fn every_pair_of_blocks_meets_under_chained() {
    common::deadline(120, || every_pair_of_blocks_meets(Dispatch::Chained));
}

// The same under `PerThread`.
#[test]
fn every_pair_of_blocks_meets_under_per_thread() {
    common::deadline(120, || every_pair_of_blocks_meets(Dispatch::PerThread));
}
