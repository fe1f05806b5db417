//! rayon: slices in chunks, from outside of its pool and from inside.

use std::ops::Range;

use rayon::prelude::*;

use super::{part, Cost, Loops};
use crate::turn::{Figure, Turn};

/// Each call comes from a thread that is none of rayon's: what a program does that uses the global
/// pool and nothing else. The caller waits, it does not take part.
pub fn run_outside(threads: usize, turn: &Turn) -> Figure {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .expect("rayon can start the threads, and has no global pool yet");
    turn.run(&mut Rayon { threads })
}

/// All calls come from one of the pool's threads.
pub fn run_inside(threads: usize, turn: &Turn) -> Figure {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("rayon can start the threads");
    pool.install(|| turn.run(&mut Rayon { threads }))
}

struct Rayon {
    threads: usize,
}

impl Loops for Rayon {
    #[inline]
    fn for_each_part(
        &mut self,
        y: &mut [f64],
        cost: Cost,
        body: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let len = y.len().div_ceil(cost.shared_parts(y.len(), self.threads));
        y.par_chunks_mut(len)
            .enumerate()
            .for_each(|(c, y)| body(c * len, y));
    }

    #[inline]
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let parts = n.min(self.threads);
        (0..parts)
            .into_par_iter()
            .map(|p| term(part(n, p, parts)))
            .sum()
    }
}
