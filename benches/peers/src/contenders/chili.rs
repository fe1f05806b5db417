//! chili: the range halved by `join` down to a leaf.
//!
//! A heartbeat, each 100 µs, decides whether a half is given away, so leaves may be short; the
//! number of threads does not matter to the cut. The scope is kept for all calls, as in chili's own
//! benchmark.

use std::num::NonZero;
use std::ops::Range;

use chili::{Config, Scope, ThreadPool};

use super::{Cost, Loops};
use crate::turn::{Figure, Turn};

/// Light indices in a leaf. On 2 threads 512 to 4096 were tried: shorter ones cost more in `join`s,
/// longer ones leave too few at which a heartbeat is seen.
const LIGHT_LEAF: usize = 2048;

/// Gives chili its turn.
pub fn run(threads: usize, turn: &Turn) -> Figure {
    let pool = ThreadPool::with_config(Config {
        thread_count: NonZero::new(threads),
        ..Config::default()
    });
    turn.run(&mut Chili {
        scope: pool.scope(),
    })
}

struct Chili<'p> {
    scope: Scope<'p>,
}

impl Loops for Chili<'_> {
    #[inline]
    fn for_each_part(
        &mut self,
        y: &mut [f64],
        cost: Cost,
        body: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let leaf = match cost {
            Cost::Light => LIGHT_LEAF,
            Cost::Heavy | Cost::Rising => 1,
        };
        halve(&mut self.scope, 0, y, leaf, &body);
    }

    #[inline]
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        sum_halves(&mut self.scope, 0..n, &term)
    }
}

fn halve(
    scope: &mut Scope<'_>,
    start: usize,
    y: &mut [f64],
    leaf: usize,
    body: &(impl Fn(usize, &mut [f64]) + Sync),
) {
    if y.len() <= leaf {
        return body(start, y);
    }
    let middle = y.len() / 2;
    let (left, right) = y.split_at_mut(middle);
    scope.join(
        |scope| halve(scope, start, left, leaf, body),
        |scope| halve(scope, start + middle, right, leaf, body),
    );
}

fn sum_halves(
    scope: &mut Scope<'_>,
    range: Range<usize>,
    term: &(impl Fn(Range<usize>) -> f64 + Sync),
) -> f64 {
    if range.len() <= LIGHT_LEAF {
        return term(range);
    }
    let middle = range.start + range.len() / 2;
    let (left, right) = scope.join(
        |scope| sum_halves(scope, range.start..middle, term),
        |scope| sum_halves(scope, middle..range.end, term),
    );
    left + right
}
