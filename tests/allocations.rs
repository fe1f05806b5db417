//! No allocation on the path of an `Adaptive` loop, once it is warm. One test alone in its process, because
//! what is counted is the whole process.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use common::{deadline, pool, wait_until, Meeting, STRATEGIES};
use conga::{ceres, Dispatch, Scratch, ThreadPool};

/// The system's allocator, which counts while it is armed.
struct Counting;

static ARMED: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

fn count() {
    if ARMED.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: everything is the system's allocator's; the counting allocates nothing and cannot panic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Panics if `f` allocates, on any thread, in each of three rounds. Three, because the test harness's own
/// thread may allocate once when it has started a test; a loop that allocates does so in every round.
fn assert_no_allocation(what: &str, mut f: impl FnMut()) {
    let mut least = usize::MAX;
    for _ in 0..3 {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        ARMED.store(true, Ordering::Relaxed);
        f();
        ARMED.store(false, Ordering::Relaxed);
        least = least.min(ALLOCATIONS.load(Ordering::Relaxed) - before);
        if least == 0 {
            return;
        }
    }
    panic!("{what}: {least} allocations");
}

const LEN: usize = 1000;
const LANES: usize = 40;

/// Makes whatever the pool makes when it is first needed. As many threads as will ever be in a loop at
/// once are in one, with as many lanes as any; then each worker runs a loop of its own.
fn warm_up(pool: &ThreadPool, threads: usize) {
    let loops = 2 * threads + 10;
    let meeting = Meeting::of(loops);
    thread::scope(|s| {
        for _ in 0..loops {
            s.spawn(|| {
                pool.parallel_for(0..LEN).num_threads(LANES).for_each(|i| {
                    if i == 0 {
                        meeting.attend();
                    }
                });
            });
        }
    });
    let meeting = Meeting::of(threads);
    pool.parallel_for(0..threads).for_each(|_| {
        meeting.attend();
        pool.parallel_for(0..LEN).for_each(|i| {
            black_box(i);
        });
    });
}

/// Every form of a body that should not allocate, also one that fails.
fn every_form(pool: &ThreadPool, x: &mut [f64], bounds: &[usize]) {
    let l = || pool.parallel_for(0..LEN);
    l().for_each(|i| {
        black_box(i);
    });
    l().num_threads(LANES).for_each_range(|range| {
        black_box(range);
    });
    l().for_each_lane(|lane, i| {
        black_box((lane, i));
    });
    l().for_each_lane_range(|lane, range| {
        black_box((lane, range));
    });
    assert_eq!(l().try_for_each(|_| Ok::<_, usize>(())), Ok(()));
    assert!(l().try_for_each_range(|range| Err(range.start)).is_err());
    l().for_each_mut(x, |i, x| *x += i as f64);
    pool.for_each_chunk_mut(x, 7, |c, chunk| chunk.fill(c as f64));
    pool.for_each_part_mut(x, bounds, |p, part| part.fill(p as f64));
    l().partitions(bounds).for_each(|i| {
        black_box(i);
    });
    let sum = l().map_reduce(|range| x[range].iter().sum::<f64>(), |a, b| a + b);
    black_box(sum);
    black_box(conga::vector::dot(pool, x, x));
    black_box(conga::vector::norm2(pool, x));
}

/// Loops in loops, two deep.
fn nested(pool: &ThreadPool) {
    pool.parallel_for(0..20).for_each(|_| {
        let sum = pool
            .parallel_for(0..LEN)
            .map_reduce(|range| range.map(|i| i as f64).sum::<f64>(), |a, b| a + b);
        assert_eq!(sum, 499_500.0);
    });
}

fn adaptive_loops(threads: usize) {
    let pool = pool(threads, Dispatch::Adaptive);
    warm_up(&pool, threads);
    let mut x = vec![0.0; LEN];
    let bounds = [0, 3, 3, 100, 999, LEN];
    every_form(&pool, &mut x, &bounds);
    assert_no_allocation(&format!("every form on {threads} threads"), || {
        for _ in 0..200 {
            every_form(&pool, &mut x, &bounds);
        }
    });
    nested(&pool);
    assert_no_allocation(&format!("nested loops on {threads} threads"), || {
        for _ in 0..100 {
            nested(&pool);
        }
    });
}

/// Scratch that exists for each lane: no more is made.
fn scratch(threads: usize) {
    let pool = pool(threads, Dispatch::Adaptive);
    warm_up(&pool, threads);
    let mut scratch = Scratch::new(|| vec![0; 100]);
    let meeting = Meeting::of(threads);
    pool.parallel_for(0..threads)
        .for_each_with(&mut scratch, |_, _| meeting.attend());
    assert_no_allocation(&format!("scratch on {threads} threads"), || {
        for _ in 0..200 {
            let l = || pool.parallel_for(0..LEN);
            l().for_each_with(&mut scratch, |s, i| s[i % 100] += i);
            l().for_each_range_with(&mut scratch, |s, range| s[0] += range.len());
            let done = l().try_for_each_with(&mut scratch, |s, i| {
                s[1] += i;
                Ok::<_, usize>(())
            });
            assert_eq!(done, Ok(()));
        }
    });
}

/// Loops and nested loops of four callers at the same time.
fn several_callers(threads: usize) {
    const CALLERS: usize = 4;
    let pool = pool(threads, Dispatch::Adaptive);
    warm_up(&pool, threads);
    let turn = Barrier::new(CALLERS + 1);
    let over = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..CALLERS {
            s.spawn(|| {
                nested(&pool);
                loop {
                    turn.wait();
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    for _ in 0..20 {
                        nested(&pool);
                    }
                    turn.wait();
                }
            });
        }
        assert_no_allocation(&format!("{CALLERS} callers on {threads} threads"), || {
            turn.wait();
            turn.wait();
        });
        over.store(true, Ordering::Relaxed);
        turn.wait();
    });
}

/// The number of allocations of `f`, on any thread. The harness has long come to rest where this is used.
fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    ARMED.store(true, Ordering::Relaxed);
    f();
    ARMED.store(false, Ordering::Relaxed);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// A pool without workers: its loops leave nothing in the queue, not even once. (In Ceres each leaves a
/// task.) The first item takes room, since no other came before.
fn nothing_is_left_in_the_queue() {
    let pool = ceres::ThreadPool::new();
    let l = || pool.as_conga().parallel_for(0..LEN).num_threads(8);
    // Makes the slot without a use of the queue.
    l().dispatch(Dispatch::Adaptive).for_each(|_| ());
    let ceres = || ceres::parallel_for(&pool, 0, LEN, 8, |i: usize| assert!(i < LEN), 1);
    assert_eq!(allocations(ceres), 0, "one loop of Ceres's");
    let per_thread = || l().dispatch(Dispatch::PerThread).for_each(|_| ());
    assert_eq!(allocations(per_thread), 0, "one loop of `PerThread`");
}

/// A pool whose worker is held up while others' loops come and go: what they leave in the queue does not
/// grow from loop to loop.
fn nothing_piles_up_in_the_queue(dispatch: Dispatch) {
    let pool = pool(2, dispatch);
    let (inside, over) = (Arc::new(Meeting::of(1)), Arc::new(Meeting::of(1)));
    let (i, o) = (Arc::clone(&inside), Arc::clone(&over));
    pool.add_task(move || {
        i.attend();
        wait_until(|| o.is_complete());
    });
    wait_until(|| inside.is_complete());
    let run = || pool.parallel_for(0..LEN).num_threads(8).for_each(|_| ());
    run();
    let left = allocations(|| (0..500).for_each(|_| run()));
    over.attend();
    assert_eq!(left, 0, "{dispatch:?}");
}

// After warm-up no loop of `Adaptive` allocates, on any thread of the process: no form of a body, no
// reduction, no nested loop, with one caller or four, on pools of 2, 4 and 16, nor with scratch that exists; nor do
// loops of any strategy that no worker can come to. Catches a boxed body, a partial per block on the heap, a task in
// the queue, a lane's scratch that is made anew.
#[test]
fn loops_allocate_nothing_once_they_are_warm() {
    deadline(120, || {
        // That the counting counts.
        ARMED.store(true, Ordering::Relaxed);
        drop(black_box(Box::new(1)));
        ARMED.store(false, Ordering::Relaxed);
        assert_ne!(ALLOCATIONS.load(Ordering::Relaxed), 0);

        for threads in [2, 4, 16] {
            adaptive_loops(threads);
            scratch(threads);
            several_callers(threads);
        }
        nothing_is_left_in_the_queue();
        STRATEGIES
            .into_iter()
            .for_each(nothing_piles_up_in_the_queue);
    });
}
