//! Models of the whole: a pool as users have it, whose workers are loom's threads.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::harness::{check, Frame};
use crate::parking::Parker;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::{Dispatch, ThreadPool};

/// A pool with `workers` workers that never spin.
fn pool_with(workers: usize) -> ThreadPool {
    let pool = ThreadPool::builder()
        .num_threads(1)
        .spin(Duration::ZERO)
        .build()
        .unwrap();
    // Loom does not see the `OnceLock` behind which the board's slots are made.
    let shared = pool.shared();
    shared.board.release(shared.board.hold().unwrap());
    pool.ensure_threads(workers + 1);
    pool
}

/// A loop with as many lanes as bodies, in which each body waits for the next one, which another
/// lane must run.
fn all_meet(pool: &ThreadPool, dispatch: Dispatch, bodies: usize) {
    let begun: Vec<_> = (0..bodies).map(|_| Parker::new()).collect();
    let bodies_loop = pool.parallel_for(0..bodies).num_threads(bodies);
    bodies_loop.dispatch(dispatch).for_each(|i| {
        if i + 1 < bodies {
            begun[i + 1].park();
        }
        begun[i].unpark();
    });
}

/// Two bodies meet with one worker, which may be about to sleep, and the pool ends. Catches: no
/// call, no second call after the mark, workers not called when the pool closes.
#[test]
fn two_bodies_meet() {
    check(3, || all_meet(&pool_with(1), Dispatch::Adaptive, 2));
}

/// The same through the queue. Catches: a push without a call.
#[test]
fn two_bodies_meet_in_line() {
    check(3, || all_meet(&pool_with(1), Dispatch::Chained, 2));
}

/// Three bodies meet, though the caller brings in one worker only and waits in its own body.
/// Catches: the invitation not passed on, or passed on after the first body.
#[test]
fn three_bodies_meet() {
    check(1, || all_meet(&pool_with(2), Dispatch::Adaptive, 3));
}

/// The same through the queue.
#[test]
fn three_bodies_meet_in_line() {
    check(2, || all_meet(&pool_with(2), Dispatch::Chained, 3));
}

/// The same where the caller queues a place for each lane.
#[test]
fn three_bodies_meet_per_thread() {
    check(2, || all_meet(&pool_with(2), Dispatch::PerThread, 3));
}

/// What is on the way from the loop before leads to the next loop, which then calls nobody of its
/// own.
fn one_loop_then_all_meet(dispatch: Dispatch, bodies: usize) {
    let pool = pool_with(bodies - 1);
    let frame = Frame::new(2, 2);
    pool.parallel_for(0..2)
        .num_threads(2)
        .dispatch(dispatch)
        .for_each_lane(|lane, i| {
            frame.run(lane, i..i + 1);
        });
    frame.go_away();
    all_meet(&pool, dispatch, bodies);
}

/// A place that is left over in the queue. Catches: no fence in `post` or in `arrived`, `arrived`
/// after the visit.
#[test]
fn a_place_left_over_leads_to_the_next_loop() {
    check(3, || one_loop_then_all_meet(Dispatch::Chained, 2));
}

/// A worker that was called. Catches: `arrived` after the visit, a call counted though nobody was
/// idle.
#[test]
fn a_called_worker_comes_to_the_next_loop() {
    check(3, || one_loop_then_all_meet(Dispatch::Adaptive, 2));
}

/// The same with two workers.
#[test]
fn a_place_left_over_leads_three_bodies_on() {
    check(2, || one_loop_then_all_meet(Dispatch::Chained, 3));
}

/// The same with two workers.
#[test]
fn a_called_worker_leads_three_bodies_on() {
    check(0, || one_loop_then_all_meet(Dispatch::Adaptive, 3));
}

/// Two workers, two bodies that each wait for a task, and the caller queues the task in its own: one
/// worker is left for it. Catches: a task that calls nobody.
#[test]
fn bodies_that_wait_for_a_task() {
    check(1, || {
        let pool = pool_with(2);
        let tokens: Arc<Vec<_>> = Arc::new((0..2).map(|_| Parker::new()).collect());
        pool.parallel_for(0..2).num_threads(2).for_each(|i| {
            if i == 0 {
                let tokens = Arc::clone(&tokens);
                pool.add_task(move || tokens.iter().for_each(Parker::unpark));
            }
            tokens[i].park();
        });
    });
}

/// A worker that is started while a loop is open comes in, though nobody was there to be called.
/// Catches: a mark without another call after it, none at all, a pool that grows without looking
/// for work.
fn a_new_worker_comes_in(dispatch: Dispatch) {
    check(3, move || {
        let pool = Arc::new(pool_with(0));
        let grower = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert_eq!(pool.ensure_threads(2), 2))
        };
        all_meet(&pool, dispatch, 2);
        grower.join().unwrap();
    });
}

/// See [`a_new_worker_comes_in`].
#[test]
fn a_new_worker_comes_into_a_loop() {
    a_new_worker_comes_in(Dispatch::Adaptive);
}

/// See [`a_new_worker_comes_in`].
#[test]
fn a_new_worker_comes_into_a_loop_in_line() {
    a_new_worker_comes_in(Dispatch::Chained);
}

/// What was queued before the pool is dropped has been run afterwards.
fn a_dropped_pool_runs_two_tasks(workers: usize) {
    let pool = pool_with(workers);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let ran = Arc::clone(&ran);
        pool.add_task(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        });
    }
    drop(pool);
    assert_eq!(ran.load(Ordering::Relaxed), 2);
}

/// One worker runs both tasks, wherever the end of the pool meets it. Catches: a worker that ends
/// though something is queued, no fence in `close`, a close that calls nobody.
#[test]
fn a_dropped_pool_has_run_its_tasks() {
    check(3, || a_dropped_pool_runs_two_tasks(1));
}

/// The same with two workers. Catches: an announcement without Release, a claim without Acquire.
#[test]
fn a_dropped_pool_of_two_has_run_its_tasks() {
    check(2, || a_dropped_pool_runs_two_tasks(2));
}
