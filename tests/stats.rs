//! What a pool counts, and what the counts promise: few wake-ups, every block accounted for.

mod common;

use std::sync::Arc;

use common::{deadline, for_each_pool, for_every_strategy, pool, wait_until, Meeting, STRATEGIES};
use conga::{Blocks, Dispatch, Stats, ThreadPool};

for_every_strategy! {
    at_most_one_wake_up_for_each_other_lane,
    at_most_three_wake_ups_for_four_blocks,
    every_block_is_counted,
    stopped_loops_count_what_ran,
    counts_fit_together,
    loops_that_others_took_part_in,
    one_thread_means_no_thread,
    light_loops_call_nobody,
    threads_and_tasks_are_counted,
}

/// What `f` has added to the pool's counts.
fn change<R>(pool: &ThreadPool, f: impl FnOnce() -> R) -> Stats {
    let before = pool.stats();
    f();
    let after = pool.stats();
    let mut change = after;
    change.loops -= before.loops;
    change.loops_brought_in -= before.loops_brought_in;
    change.wake_ups -= before.wake_ups;
    change.blocks_by_caller -= before.blocks_by_caller;
    change.blocks_by_others -= before.blocks_by_others;
    change
}

// A loop calls at most one worker for each lane but the caller's, and none for lanes that have no block,
// however many lanes it may have: catches a broadcast, and a chain whose links call twice.
fn at_most_one_wake_up_for_each_other_lane(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for len in [0, 1, 2, 3, 7, 64, 1000] {
            for lanes in [1, 2, 5, threads, 1_000_000] {
                for _ in 0..10 {
                    let l = pool.parallel_for(0..len).num_threads(lanes);
                    let change = change(pool, || l.for_each(|_| std::thread::yield_now()));
                    let most = lanes.min(len).saturating_sub(1) as u64;
                    assert!(
                        change.wake_ups <= most,
                        "{len} with {lanes} lanes on {threads} threads: {change:?}"
                    );
                }
            }
        }
    });
}

// A pool of eight and loops of four blocks, back to back: each wakes three at most. Catches wake-ups
// that go by the size of the pool.
fn at_most_three_wake_ups_for_four_blocks(dispatch: Dispatch) {
    let pool = pool(8, dispatch);
    for _ in 0..500 {
        let l = pool.parallel_for(0..4000).min_block_size(1000);
        let change = change(&pool, || {
            l.for_each_range(|range| {
                std::hint::black_box(range);
            })
        });
        assert!(change.wake_ups <= 3, "{change:?}");
    }
}

// Each block of a loop is counted once, by the one who ran it: catches a count that is lost when a worker
// leaves, and one that counts claims or indices.
fn every_block_is_counted(dispatch: Dispatch) {
    if dispatch == Dispatch::Adaptive {
        // It may run a light loop without a look at its blocks.
        return;
    }
    for_each_pool(dispatch, |pool, threads| {
        for (len, lanes, min) in [(2, 2, 1), (64, 3, 1), (1000, threads, 3), (4097, 16, 1000)] {
            let blocks = Blocks::for_loop(len, lanes, min).count() as u64;
            let expected = if lanes == 1 { (0, 0) } else { (1, blocks) };
            let l = pool.parallel_for(0..len);
            let l = l.num_threads(lanes).min_block_size(min);
            let change = change(pool, || l.for_each(|_| ()));
            let ran = change.blocks_by_caller + change.blocks_by_others;
            assert_eq!((change.loops, ran), expected, "{len} with {lanes} lanes");
        }
    });
}

// A loop that ends early does not count blocks that no body saw: catches a count that is taken
// from the claim that ends it.
fn stopped_loops_count_what_ran(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    for _ in 0..100 {
        let bodies = std::sync::atomic::AtomicUsize::new(0);
        let l = pool.parallel_for(0..1000).num_threads(250);
        let change = change(&pool, || {
            l.try_for_each_range(|range| {
                bodies.fetch_add(range.len(), std::sync::atomic::Ordering::Relaxed);
                Err(())
            })
        });
        let ran = change.blocks_by_caller + change.blocks_by_others;
        assert_eq!(ran as usize, bodies.into_inner());
    }
}

// Parts never exceed their whole, after many loops of all kinds: catches a count on the wrong side.
fn counts_fit_together(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        for len in 0..200 {
            pool.parallel_for(0..len).for_each(|_| ());
        }
        let stats = pool.stats();
        let blocks = stats.blocks_by_caller + stats.blocks_by_others;
        assert!(stats.loops <= 198, "{threads} threads: {stats:?}");
        assert!(stats.loops_brought_in <= stats.loops, "{stats:?}");
        assert!(
            stats.loops_brought_in <= stats.blocks_by_others,
            "{stats:?}"
        );
        assert!(stats.blocks_from_other_runs <= blocks, "{stats:?}");
        assert!(stats.wake_ups_found_nothing <= stats.wake_ups, "{stats:?}");
        assert_eq!((stats.tasks, stats.threads_refused), (0, 0), "{stats:?}");
    });
}

// A loop in which a worker is known to have run a body counts as one that others took part in; a loop
// without free workers does not: catches a count of calls instead of arrivals.
fn loops_that_others_took_part_in(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    let together = change(&pool, || {
        for _ in 0..20 {
            let meeting = Meeting::of(2);
            pool.parallel_for(0..2).for_each(|_| meeting.attend());
        }
    });
    let counts = (together.loops, together.loops_brought_in);
    assert_eq!(counts, (20, 20), "{together:?}");
    let blocks = (together.blocks_by_caller, together.blocks_by_others);
    assert_eq!(blocks, (20, 20), "{together:?}");

    let (inside, over) = (Arc::new(Meeting::of(1)), Arc::new(Meeting::of(1)));
    let (i, o) = (Arc::clone(&inside), Arc::clone(&over));
    pool.add_task(move || {
        i.attend();
        wait_until(|| o.is_complete());
    });
    wait_until(|| inside.is_complete());
    let alone = change(&pool, || {
        for _ in 0..20 {
            pool.parallel_for(0..100).for_each(|_| ());
        }
    });
    over.attend();
    let counts = (alone.loops_brought_in, alone.blocks_by_others);
    assert_eq!((counts, alone.wake_ups), ((0, 0), 0), "{alone:?}");
}

// A loop that is known to be light calls nobody: of 10,000 calls no more than one in a hundred does, which
// leaves room for calls in which the caller lost its processor and that look dear. Catches a loop that is
// taken for expensive every time.
fn light_loops_call_nobody(dispatch: Dispatch) {
    if dispatch == Dispatch::PerThread {
        return; // It calls everybody, always.
    }
    for threads in [2, 16] {
        let pool = pool(threads, dispatch);
        let light = |times: usize| {
            for _ in 0..times {
                pool.parallel_for(0..64).for_each(|i| {
                    std::hint::black_box(i);
                });
            }
        };
        light(1000);
        let change = change(&pool, || light(10_000));
        assert_eq!(change.loops, 10_000);
        assert!(change.wake_ups <= 100, "{change:?}");
        assert!(change.blocks_by_others <= 100 * 64, "{change:?}");
    }
}

// A pool of one thread starts none, calls nobody, and still runs everything, tasks included: catches a
// worker that is started for lanes that a loop asks for.
fn one_thread_means_no_thread(dispatch: Dispatch) {
    let pool = pool(1, dispatch);
    assert_eq!(pool.num_threads(), 1);
    for lanes in [1, 2, 1000] {
        let caller = std::thread::current().id();
        pool.parallel_for(0..1000)
            .num_threads(lanes)
            .for_each_lane(|lane, _| {
                assert_eq!((lane, std::thread::current().id()), (0, caller));
            });
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.add_task(move || sender.send(std::thread::current().id()).unwrap());
    assert_eq!(receiver.try_recv(), Ok(std::thread::current().id()));
    let stats = pool.stats();
    assert_eq!((stats.threads_started, stats.wake_ups), (0, 0), "{stats:?}");
    assert_eq!((stats.blocks_by_others, stats.tasks), (0, 0), "{stats:?}");
}

// Threads are counted when they start, tasks when they have run: catches a thread too many, the caller
// counted as a worker, and a task that is counted as it is queued.
fn threads_and_tasks_are_counted(dispatch: Dispatch) {
    for_each_pool(dispatch, |pool, threads| {
        assert_eq!(pool.stats().threads_started as usize, threads - 1);
        assert_eq!(pool.ensure_threads(threads + 1), threads + 1);
        assert_eq!(pool.ensure_threads(1), threads + 1);
        assert_eq!(pool.stats().threads_started as usize, threads);
        (0..100).for_each(|_| pool.add_task(|| ()));
        wait_until(|| pool.stats().tasks == 100);
    });
}

// Ten loops at once on one pool, of one lane more than there are threads each: what is counted
// together is exact once all are over. Catches a counter with two writers.
#[test]
fn concurrent_loops_are_counted() {
    deadline(120, || {
        for dispatch in STRATEGIES {
            let pool = pool(4, dispatch);
            std::thread::scope(|s| {
                for _ in 0..10 {
                    s.spawn(|| {
                        for _ in 0..100 {
                            pool.parallel_for(0..20).num_threads(5).for_each(|_| ());
                        }
                    });
                }
            });
            let stats = pool.stats();
            if dispatch != Dispatch::Adaptive {
                let blocks = stats.blocks_by_caller + stats.blocks_by_others;
                assert_eq!((stats.loops, blocks), (1000, 20_000), "{stats:?}");
            }
            assert!(stats.wake_ups <= 4000, "{stats:?}");
        }
    });
}
