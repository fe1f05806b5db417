//! A worker that waits at a loop's door runs nothing, but answers what only it can answer: else a broadcast
//! from inside the loop would wait for it, and it for the broadcast.

mod common;

use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;

use common::{deadline, pool, Meeting};
use conga::{Dispatch, ThreadPool};

/// Rounds: in a few of them the loop's caller is at the door before the letter comes, and in others after.
const ROUNDS: usize = 200;

/// Runs a loop in `pool` of two bodies that meet. The one that is not on the calling thread then broadcasts
/// in `target`, while the calling thread waits at the loop's door.
fn broadcast_while_the_caller_waits(pool: &ThreadPool, target: &ThreadPool) {
    let (caller, meeting) = (thread::current().id(), Meeting::of(2));
    pool.parallel_for(0..2).min_block_size(1).for_each(|_| {
        meeting.attend();
        if thread::current().id() != caller {
            let numbers = target.broadcast(|worker| worker.index());
            assert!(numbers.into_iter().eq(0..target.broadcast(|_| ()).len()));
        }
    });
}

#[test]
fn a_guest_at_a_door_answers() {
    deadline(120, || {
        for _ in 0..ROUNDS {
            // A new one: after the first broadcast nobody is a guest.
            let pool = pool(3, Dispatch::Chained);
            pool.install(|| broadcast_while_the_caller_waits(&pool, &pool));
        }
    });
}

#[test]
fn a_worker_at_a_door_answers() {
    deadline(120, || {
        let pool = Arc::new(pool(3, Dispatch::Chained));
        for _ in 0..ROUNDS {
            let (done, is_done) = channel();
            let inner = Arc::clone(&pool);
            pool.spawn(move || {
                broadcast_while_the_caller_waits(&inner, &inner);
                done.send(()).unwrap();
            });
            is_done.recv().unwrap();
        }
    });
}

#[test]
fn a_worker_at_another_pools_door_answers() {
    deadline(120, || {
        let (home, other) = (
            Arc::new(pool(2, Dispatch::Chained)),
            Arc::new(pool(2, Dispatch::Chained)),
        );
        for _ in 0..ROUNDS {
            let (done, is_done) = channel();
            let (target, other) = (Arc::clone(&home), Arc::clone(&other));
            home.spawn(move || {
                broadcast_while_the_caller_waits(&other, &target);
                done.send(()).unwrap();
            });
            is_done.recv().unwrap();
        }
    });
}
