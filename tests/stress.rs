//! Everything at once, at random, for a while: callers on a pool that they share and on pools of
//! their own, nested loops, panics, growth, tasks; all results are compared with serial ones.
//!
//! `CONGA_STRESS_SECONDS` says how long (20), `CONGA_STRESS_SEED` repeats a run's choices.

mod support;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use conga::{DisjointSlice, Dispatch, Scratch, ThreadPool};
use support::{counters, in_time_of, panic_with, yield_until, Random, DISPATCHES};

/// Threads that use the shared pool.
const CALLERS: usize = 4;
/// As far as the shared pool grows.
const MOST_LANES: usize = 12;

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

/// One caller's view: its choices, the pool, what it has added.
struct Caller<'a> {
    random: Random,
    pool: &'a ThreadPool,
    tasks: &'a Arc<AtomicUsize>,
    added: usize,
}

impl Caller<'_> {
    fn dispatch(&mut self) -> Dispatch {
        DISPATCHES[self.random.below(3)]
    }

    fn threads(&mut self) -> usize {
        1 + self.random.below(16)
    }

    /// Short loops more often than long ones.
    fn len(&mut self) -> usize {
        let most = [3, 20, 300, 5000][self.random.below(4)];
        self.random.below(most)
    }

    fn step(&mut self) {
        let pool = self.pool;
        match self.random.below(16) {
            0..=2 => self.each_index_once(pool),
            3 => self.lanes_and_scratch(pool),
            4 | 5 => self.nested(pool),
            6 | 7 => self.panics(pool),
            8 | 9 => self.reduction(pool),
            10 => self.first_error(pool),
            11 => self.two_bodies_meet(pool),
            12 => self.cuts(pool),
            13 => self.add_tasks(pool),
            14 => self.grow_and_park(pool),
            _ => self.pool_of_its_own(),
        }
    }

    /// Catches lost, doubled and late blocks: the array is written over as soon as the loop
    /// returns.
    fn each_index_once(&mut self, pool: &ThreadPool) {
        let (len, threads, dispatch) = (self.len(), self.threads(), self.dispatch());
        let min = 1 + self.random.below(64);
        let mut x = vec![0_u32; len];
        let places = DisjointSlice::new(&mut x);
        pool.parallel_for(0..len)
            .num_threads(threads)
            .min_block_size(min)
            .dispatch(dispatch)
            .for_each(|i| {
                // SAFETY: a loop gives each index to one call of its body, and the slice is used
                // for nothing else meanwhile.
                *unsafe { places.get_mut(i) } += i as u32 + 1;
            });
        assert!(x.iter().enumerate().all(|(i, &x)| x == i as u32 + 1));
        x.fill(0);
    }

    /// Catches two threads in one lane at once.
    fn lanes_and_scratch(&mut self, pool: &ThreadPool) {
        let (len, threads, dispatch) = (self.len(), self.threads(), self.dispatch());
        let busy: Vec<_> = (0..threads).map(|_| AtomicBool::new(false)).collect();
        let mut scratch = Scratch::new(|| (0_usize, Vec::new()));
        for _ in 0..3 {
            let start = || {
                let bodies = pool.parallel_for(0..len).num_threads(threads);
                bodies.dispatch(dispatch)
            };
            start().for_each_lane_range(|lane, _| {
                assert!(!busy[lane].swap(true, Ordering::Relaxed));
                thread::yield_now();
                busy[lane].store(false, Ordering::Relaxed);
            });
            start().for_each_with(&mut scratch, |(sum, seen), i| {
                *sum += i;
                seen.push(i);
            });
        }
        let mut seen = vec![0; len];
        for (sum, own) in scratch.iter_mut() {
            assert_eq!(own.iter().sum::<usize>(), *sum);
            own.iter().for_each(|&i| seen[i] += 1);
        }
        assert!(seen.iter().all(|&seen| seen == 3));
    }

    fn nested(&mut self, pool: &ThreadPool) {
        let (outer, inner) = (self.random.below(20), self.random.below(40));
        let (threads, dispatch) = (self.threads(), [self.dispatch(), self.dispatch()]);
        let runs = counters(outer * inner);
        pool.parallel_for(0..outer)
            .num_threads(threads)
            .dispatch(dispatch[0])
            .for_each(|i| {
                let held = std::cell::Cell::new(i);
                pool.parallel_for(0..inner)
                    .num_threads(1 + i % 5)
                    .dispatch(dispatch[1])
                    .for_each(|j| {
                        runs[i * inner + j].fetch_add(1, Ordering::Relaxed);
                    });
                assert_eq!(held.get(), i);
            });
        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
    }

    fn panics(&mut self, pool: &ThreadPool) {
        let (len, threads, dispatch) = (1 + self.len(), self.threads(), self.dispatch());
        let (every, nested) = (1 + self.random.below(len), self.random.below(2) == 0);
        let runs = counters(len);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.parallel_for(0..len)
                .num_threads(threads)
                .dispatch(dispatch)
                .for_each(|i| {
                    runs[i].fetch_add(1, Ordering::Relaxed);
                    if i % every == every - 1 && nested {
                        pool.parallel_for(0..7)
                            .dispatch(dispatch)
                            .for_each(|_| panic_with(i));
                    } else if i % every == every - 1 {
                        panic_with(i);
                    }
                });
        }));
        let panicked = *result.unwrap_err().downcast::<usize>().unwrap();
        assert!(panicked % every == every - 1);
        assert_eq!(runs[panicked].load(Ordering::Relaxed), 1);
        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) <= 1));
    }

    /// Affine maps modulo 2^64 under composition: exact, associative, and no two orders agree.
    fn reduction(&mut self, pool: &ThreadPool) {
        let (len, threads, dispatch) = (self.len(), self.threads(), self.dispatch());
        let min = 1 + self.random.below(32);
        let seed = self.random.below(1 << 20) as u64;
        let map = |i: usize| (i as u64 ^ seed | 1, (i as u64).wrapping_mul(seed));
        let then = |a: (u64, u64), b: (u64, u64)| {
            let shift = b.0.wrapping_mul(a.1).wrapping_add(b.1);
            (a.0.wrapping_mul(b.0), shift)
        };
        let result = pool
            .parallel_for(0..len)
            .num_threads(threads)
            .min_block_size(min)
            .dispatch(dispatch)
            .map_reduce(|range| range.map(map).fold((1, 0), then), then);
        assert_eq!(result, (0..len).map(map).fold((1, 0), then));
    }

    fn first_error(&mut self, pool: &ThreadPool) {
        let (len, threads, dispatch) = (1 + self.len(), self.threads(), self.dispatch());
        let bad = self.random.below(2 * len);
        let result = pool
            .parallel_for(0..len)
            .num_threads(threads)
            .dispatch(dispatch)
            .try_for_each(|i| if i == bad { Err(i) } else { Ok(()) });
        assert_eq!(result, if bad < len { Err(bad) } else { Ok(()) });
    }

    /// Callers alone do this, and workers do not: so a worker comes free for each in the end.
    fn two_bodies_meet(&mut self, pool: &ThreadPool) {
        let dispatch = self.dispatch();
        let both = Barrier::new(2);
        pool.parallel_for(0..2)
            .num_threads(2)
            .dispatch(dispatch)
            .for_each(|_| {
                both.wait();
            });
    }

    fn cuts(&mut self, pool: &ThreadPool) {
        let (len, threads, dispatch) = (self.len(), self.threads(), self.dispatch());
        let step = 1 + self.random.below(9);
        let mut bounds: Vec<_> = (0..len).step_by(step).collect();
        bounds.push(len);
        let runs = counters(len);
        let count = |i: usize| {
            runs[i].fetch_add(1, Ordering::Relaxed);
        };
        let start = || {
            let bodies = pool.parallel_for(0..len).num_threads(threads);
            bodies.dispatch(dispatch)
        };
        if len != 0 {
            start().partitions(&bounds).for_each(count);
        }
        start().cumulative_cost(|i| (i * i) as u64).for_each(count);
        let passes = 1 + usize::from(len != 0);
        assert!(runs.iter().all(|r| r.load(Ordering::Relaxed) == passes));
    }

    fn add_tasks(&mut self, pool: &ThreadPool) {
        for _ in 0..self.random.below(10) {
            let tasks = Arc::clone(self.tasks);
            pool.add_task(move || {
                tasks.fetch_add(1, Ordering::Relaxed);
            });
            self.added += 1;
        }
    }

    fn grow_and_park(&mut self, pool: &ThreadPool) {
        // Rarely, so that small pools have their time.
        if self.random.below(50) == 0 {
            let lanes = self.random.below(MOST_LANES + 1);
            assert!(pool.ensure_threads(lanes) >= lanes);
        }
        pool.park_now();
        let stats = pool.stats();
        assert!(stats.loops_brought_in <= stats.loops);
    }

    fn pool_of_its_own(&mut self) {
        let dispatch = self.dispatch();
        let spin = Duration::from_micros([0, 50, 200][self.random.below(3)]);
        let pool = ThreadPool::builder()
            .num_threads(1 + self.random.below(5))
            .dispatch(dispatch)
            .spin(spin)
            .build()
            .unwrap();
        let (ran, mut added) = (Arc::new(AtomicUsize::new(0)), 0);
        for _ in 0..self.random.below(5) {
            self.each_index_once(&pool);
            self.panics(&pool);
            self.reduction(&pool);
            for _ in 0..self.random.below(5) {
                let ran = Arc::clone(&ran);
                pool.add_task(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
                added += 1;
            }
        }
        drop(pool);
        assert_eq!(ran.load(Ordering::Relaxed), added);
    }
}

/// All that a pool does, from several threads at once, mixed at random: results are the serial
/// ones, nothing hangs, all tasks run. Catches what only many threads and odd moments bring out,
/// under ThreadSanitizer data races.
#[test]
fn everything_at_once() {
    let seconds = number("CONGA_STRESS_SECONDS").unwrap_or(20);
    let seed = number("CONGA_STRESS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap().as_nanos() as u64 % 1_000_000
    });
    println!("CONGA_STRESS_SEED={seed}");
    let deadline = Duration::from_secs(2 * seconds + 180);
    in_time_of(deadline, &format!("seed {seed}"), move || {
        let end = Instant::now() + Duration::from_secs(seconds);
        let tasks = Arc::new(AtomicUsize::new(0));
        let steps = AtomicUsize::new(0);
        let mut lives = 0;
        // Several lives, so that small pools are met again.
        while Instant::now() < end {
            let life = end.min(Instant::now() + Duration::from_secs(3));
            let pool = ThreadPool::new(2).unwrap();
            lives += 1;
            let before = tasks.load(Ordering::Relaxed);
            let added: usize = thread::scope(|scope| {
                let callers: Vec<_> = (0..CALLERS as u64)
                    .map(|caller| {
                        let (pool, tasks, steps) = (&pool, &tasks, &steps);
                        scope.spawn(move || {
                            let mut caller = Caller {
                                random: Random((seed * 1000 + lives) * 31 + caller),
                                pool,
                                tasks,
                                added: 0,
                            };
                            while Instant::now() < life {
                                caller.step();
                                steps.fetch_add(1, Ordering::Relaxed);
                            }
                            caller.added
                        })
                    })
                    .collect();
                callers.into_iter().map(|c| c.join().unwrap()).sum()
            });
            yield_until(|| tasks.load(Ordering::Relaxed) == before + added);
            assert!(pool.num_threads() <= MOST_LANES);
            assert_eq!(pool.stats().threads_started + 1, pool.num_threads() as u64);
            drop(pool);
            assert_eq!(Arc::strong_count(&tasks), 1);
        }
        println!("{} steps", steps.into_inner());
    });
}
