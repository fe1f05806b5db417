//! Ceres Solver's `parallel_utils_test.cc`.

mod common;

use std::collections::HashSet;
use std::sync::Mutex;

use common::{pool, STRATEGIES};
use conga::ceres::{linear_index_to_upper_triangular_index, parallel_for, ThreadPool};

/// A body by index.
type Body<'a> = &'a (dyn Fn(usize) + Sync);

/// All pairs `(i, j)` with `i <= j < n`.
fn triangle(n: usize) -> HashSet<(usize, usize)> {
    (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).collect()
}

// Ceres's LinearIndexToUpperTriangularIndexTest.UniqueAndValid: for every size below 100 the indices give
// each pair of the upper triangle once. Catches a wrong width, and even and odd sizes mixed up.
#[test]
fn unique_and_valid() {
    for n in 0..100 {
        let count = n * (n + 1) / 2;
        let pairs: Vec<_> = (0..count)
            .map(|k| linear_index_to_upper_triangular_index(k, n))
            .collect();
        assert_eq!(pairs.len(), triangle(n).len(), "{n}");
        assert_eq!(
            pairs.into_iter().collect::<HashSet<_>>(),
            triangle(n),
            "{n}"
        );
    }
}

// What it is for: one loop over all pairs, as Ceres's covariance has, reaches each once.
#[test]
fn one_loop_over_all_pairs() {
    common::deadline(60, || {
        let ceres = ThreadPool::with_threads(3);
        for n in [1, 2, 7, 20] {
            let count = n * (n + 1) / 2;
            let check = |run: &dyn Fn(Body<'_>)| {
                let seen = Mutex::new(HashSet::new());
                run(&|k| {
                    let pair = linear_index_to_upper_triangular_index(k, n);
                    assert!(seen.lock().unwrap().insert(pair), "{pair:?} again");
                });
                assert_eq!(seen.into_inner().unwrap(), triangle(n));
            };
            check(&|body| parallel_for(&ceres, 0, count, 4, |k: usize| body(k), 1));
            for dispatch in STRATEGIES {
                let pool = pool(4, dispatch);
                check(&|body| pool.parallel_for(0..count).for_each(body));
            }
        }
    });
}
