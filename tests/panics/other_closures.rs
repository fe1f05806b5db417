//! Panics in other closures than a plain body: scratch, reductions, fallible bodies, costs, slices.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use conga::{Dispatch, Scratch};

use crate::support::{assert_whole, for_each_setting, panic_with, payload_of, pool_of};

/// A partial result that counts how many there are.
struct Partial<'a, const N: usize> {
    living: &'a AtomicUsize,
    _bulk: [u8; N],
}

impl<'a, const N: usize> Partial<'a, N> {
    fn new(living: &'a AtomicUsize) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Partial {
            living,
            _bulk: [0; N],
        }
    }
}

impl<const N: usize> Drop for Partial<'_, N> {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The closure that makes a lane's scratch panics: as a body's panic, and the scratch is made later
/// by a loop that can. Catches a half-made scratch, and a lock that stays poisoned.
#[test]
fn in_the_making_of_a_scratch() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let refuse = AtomicBool::new(true);
        let mut scratch = Scratch::new(|| {
            if refuse.load(Ordering::Relaxed) {
                panic_with("no scratch");
            }
            vec![0]
        });
        let payload = payload_of(|| {
            pool.parallel_for(0..1000)
                .dispatch(dispatch)
                .for_each_with(&mut scratch, |s, _| s[0] += 1);
        });
        assert_eq!(*payload.downcast::<&str>().unwrap(), "no scratch");
        assert_eq!(scratch.iter_mut().count(), 0);
        refuse.store(false, Ordering::Relaxed);
        pool.parallel_for(0..1000)
            .dispatch(dispatch)
            .for_each_with(&mut scratch, |s, _| s[0] += 1);
        assert_eq!(scratch.iter_mut().map(|s| s[0]).sum::<i32>(), 1000);
        assert_whole(&pool);
    });
}

/// A panic in `map`, or in `reduce`, leaves no partial result alive, on the stack or allocated.
/// Catches partials in memory that nobody drops.
#[test]
fn in_a_reduction() {
    fn check<const N: usize>(dispatch: Dispatch, threads: usize) {
        let pool = pool_of(threads);
        for len in [1, 7, 30, 1000] {
            for num_threads in [1, threads] {
                let living = AtomicUsize::new(0);
                let reduce = |bad_map: usize, bad_reduce: usize| {
                    let mut reductions = 0;
                    pool.parallel_for(0..len)
                        .num_threads(num_threads)
                        .dispatch(dispatch)
                        .map_reduce(
                            |range| {
                                if range.contains(&bad_map) {
                                    panic_with("map");
                                }
                                Partial::<N>::new(&living)
                            },
                            |a, _| {
                                reductions += 1;
                                if reductions == bad_reduce {
                                    panic_with("reduce");
                                }
                                a
                            },
                        );
                };
                for bad in [0, len / 2, len - 1] {
                    let payload = payload_of(|| reduce(bad, 0));
                    assert_eq!(*payload.downcast::<&str>().unwrap(), "map");
                    assert_eq!(living.load(Ordering::Relaxed), 0);
                }
                for bad in [1, len / 4, len.min(256) - 1] {
                    if (1..len.min(256)).contains(&bad) {
                        let payload = payload_of(|| reduce(len, bad));
                        assert_eq!(*payload.downcast::<&str>().unwrap(), "reduce");
                        assert_eq!(living.load(Ordering::Relaxed), 0);
                    }
                }
                reduce(len, 0);
                assert_eq!(living.load(Ordering::Relaxed), 0);
            }
        }
        assert_whole(&pool);
    }
    for_each_setting(check::<1>);
    for_each_setting(check::<1024>);
}

/// A panic in a fallible body, in a cost function and in a body over slices is as one in any other
/// body. Catches a form of loop that has a way of its own around the catch.
#[test]
fn in_other_forms_of_loops() {
    for_each_setting(|dispatch, threads| {
        let pool = pool_of(threads);
        let start = || pool.parallel_for(0..100).dispatch(dispatch);
        let mut x = [0; 100];
        let bounds: Vec<usize> = (0..=100).collect();
        let bad = |i: usize| {
            if i == 63 {
                panic_with(i);
            }
        };
        let mut payloads = Vec::new();
        payloads.push(payload_of(|| {
            let _: Result<(), ()> = start().try_for_each(|i| {
                bad(i);
                Ok(())
            });
        }));
        payloads.push(payload_of(|| start().partitions(&bounds).for_each(bad)));
        payloads.push(payload_of(|| {
            start()
                .cumulative_cost(|i| {
                    bad(i);
                    i as u64
                })
                .for_each(|_| {});
            // Whether the search asks for this index is its own affair.
            bad(63);
        }));
        payloads.push(payload_of(|| start().for_each_mut(&mut x, |i, _| bad(i))));
        payloads.push(payload_of(|| {
            start().for_each_part_mut(&mut x, &bounds, |i, _| bad(i));
        }));
        for payload in payloads {
            assert_eq!(*payload.downcast::<usize>().unwrap(), 63);
        }
        assert_whole(&pool);
    });
}
