//! Loops inside loops, and loops of many callers on one pool: all complete, each index once.

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use common::{for_each_pool, for_every_strategy, pool, ActiveLanes, Form, Visits, FORMS};
use conga::{Dispatch, ThreadPool};

for_every_strategy! {
    every_form_inside_every_form,
    three_deep_from_four_threads_at_once,
    a_lock_held_across_a_nested_loop,
    a_thread_local_borrowed_across_a_nested_loop,
    a_lane_held_across_a_nested_loop,
    nested_lanes_count_from_nought,
    concurrent_callers,
    more_callers_than_the_board_has_slots,
    a_loop_on_another_pool_inside,
    a_loop_inside_a_task,
}

/// Visits `0..len` by a loop of this form.
fn visit_all(pool: &ThreadPool, form: &Form, len: usize, visit: &(dyn Fn(usize) + Sync)) {
    (form.run)(pool.parallel_for(0..len), 0..len, visit);
}

// A loop of any form inside a loop of any form visits each index of each inner loop once: catches a slot,
// a scratch or a lane that the inner loop takes from the outer one.
fn every_form_inside_every_form(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        let pool = pool(threads, dispatch);
        for outer in &FORMS {
            for inner in &FORMS {
                let visits = Visits::of(0..9 * 11);
                visit_all(&pool, outer, 9, &|i| {
                    visit_all(&pool, inner, 11, &|j| visits.visit(11 * i + j))
                });
                visits.assert_each(1, &format!("{} in {}", inner.name, outer.name));
            }
        }
    }
}

// Loops nested three deep from four threads at once on one pool complete, each index once: catches a
// wait that runs, or waits for, somebody else's work, and slots that mix loops up.
fn three_deep_from_four_threads_at_once(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..5 {
                        let visits = Visits::of(0..6 * 5 * 7);
                        pool.parallel_for(0..6).for_each(|i| {
                            pool.parallel_for(0..5).for_each(|j| {
                                pool.parallel_for(0..7)
                                    .for_each(|k| visits.visit((i * 5 + j) * 7 + k))
                            })
                        });
                        visits.assert_each(1, &format!("{threads} threads"));
                    }
                });
            }
        });
    });
}

// Each of 100 bodies takes the one lock there is, then runs a loop while it holds it: completes, because
// the holder waits for its own loop only. Catches a waiter that runs another of the outer bodies, which
// would lock twice.
fn a_lock_held_across_a_nested_loop(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        let lock = Mutex::new(0);
        let inner = AtomicUsize::new(0);
        pool.parallel_for(0..100).for_each(|_| {
            let mut held = lock.lock().unwrap();
            pool.parallel_for(0..20).for_each(|_| {
                inner.fetch_add(1, Ordering::Relaxed);
            });
            *held += 1;
        });
        let (held, inner) = (lock.into_inner().unwrap(), inner.into_inner());
        assert_eq!((held, inner), (100, 2000), "{threads} threads");
    });
}

// A thread's own `RefCell` is mutably borrowed by each outer body across an inner loop, and never twice:
// catches a waiter that picks up another body of the outer loop meanwhile.
fn a_thread_local_borrowed_across_a_nested_loop(dispatch: Dispatch) {
    thread_local!(static SCRATCH: RefCell<usize> = const { RefCell::new(0) });
    for_each_pool(dispatch, |pool, threads| {
        let inner = AtomicUsize::new(0);
        pool.parallel_for(0..100).for_each(|_| {
            SCRATCH.with(|scratch| {
                let mut scratch = scratch.try_borrow_mut().expect("not borrowed yet");
                pool.parallel_for(0..20).for_each(|_| {
                    inner.fetch_add(1, Ordering::Relaxed);
                });
                *scratch += 1;
            });
        });
        assert_eq!(inner.into_inner(), 2000, "{threads} threads");
    });
}

// The same with a cell for each lane, as Ceres's users index their scratch by thread id: nobody else is
// given the lane while its body is in an inner loop, not even one of three callers' loops at once.
fn a_lane_held_across_a_nested_loop(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    let borrowed: Vec<_> = (0..threads).map(|_| AtomicBool::new(false)).collect();
                    pool.parallel_for(0..50).for_each_lane(|lane, _| {
                        let cell = &borrowed[lane];
                        assert!(!cell.swap(true, Ordering::Relaxed), "lane {lane} twice");
                        pool.parallel_for(0..20).for_each(|_| ());
                        cell.store(false, Ordering::Relaxed);
                    });
                });
            }
        });
    });
}

// In a nested loop lane ids are unique and start at 0 again, with the thread that calls it: catches ids
// that go by the worker.
fn nested_lanes_count_from_nought(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        pool.parallel_for(0..20).for_each(|_| {
            let active = ActiveLanes::of(threads, 30);
            pool.parallel_for(0..30)
                .for_each_lane(|lane, _| active.inside(lane, || ()));
        });
    });
}

// Eight threads run 100 loops each on one pool, of all lengths, at the same time: each index once.
// Catches a claim that goes to another caller's loop, and a caller that waits for another's blocks.
fn concurrent_callers(dispatch: Dispatch) {
    for threads in [1, 2, 4, 8] {
        let pool = pool(threads, dispatch);
        thread::scope(|s| {
            for caller in 0..8 {
                let pool = &pool;
                s.spawn(move || {
                    for round in 0..100 {
                        let form = &FORMS[(caller + round) % FORMS.len()];
                        let len = round * round % 301;
                        let visits = Visits::of(0..len);
                        visit_all(pool, form, len, &|i| visits.visit(i));
                        visits.assert_each(1, form.name);
                    }
                });
            }
        });
    }
}

// 300 loops are open at once, each inside the one before, more than there are slots for all workers to
// see: the last ones complete as well. Catches a loop that waits for a slot.
fn more_callers_than_the_board_has_slots(dispatch: Dispatch) {
    fn descend(pool: &ThreadPool, depth: usize, visited: &AtomicUsize) {
        pool.parallel_for(0..2).for_each(|i| {
            visited.fetch_add(1, Ordering::Relaxed);
            if i == 0 && depth > 1 {
                descend(pool, depth - 1, visited);
            }
        });
    }
    for threads in [2, 4] {
        let pool = pool(threads, dispatch);
        for _ in 0..5 {
            let visited = AtomicUsize::new(0);
            descend(&pool, 300, &visited);
            assert_eq!(visited.into_inner(), 600);
        }
    }
}

// Loops on two pools inside each other, from both sides: catches a thread's slot that is taken for one of
// the other pool, and pools that wait for each other.
fn a_loop_on_another_pool_inside(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        let (a, b) = (pool(threads, dispatch), pool(2, dispatch));
        let run = |outer: &ThreadPool, inner: &ThreadPool| {
            for _ in 0..10 {
                let visits = Visits::of(0..13 * 17);
                outer.parallel_for(0..13).for_each(|i| {
                    inner
                        .parallel_for(0..17)
                        .for_each(|j| visits.visit(17 * i + j))
                });
                visits.assert_each(1, &format!("{threads} threads"));
            }
        };
        thread::scope(|s| {
            s.spawn(|| run(&a, &b));
            s.spawn(|| run(&b, &a));
        });
    }
}

// Tasks that run loops on their own pool, on each of its workers at once, complete: catches a worker that
// waits for a worker.
fn a_loop_inside_a_task(dispatch: Dispatch) {
    for threads in [1, 2, 4] {
        let pool = std::sync::Arc::new(pool(threads, dispatch));
        let (sender, receiver) = std::sync::mpsc::channel();
        for _ in 0..20 {
            let (inner, sender) = (std::sync::Arc::clone(&pool), sender.clone());
            pool.add_task(move || {
                let sum = inner
                    .parallel_for(0..100)
                    .map_reduce(|range| range.sum::<usize>(), |a, b| a + b);
                // The handle goes first: the last one joins the workers, which only its holder may wait for.
                drop(inner);
                sender.send(sum).unwrap();
            });
        }
        drop(sender);
        assert!(receiver.iter().eq([4950; 20]), "{threads} threads");
    }
}
