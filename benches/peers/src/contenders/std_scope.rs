//! `std::thread::scope`: threads are started for each loop. The caller takes the last part.

use std::ops::Range;
use std::thread;

use super::{part, Cost, Loops};

pub struct StdScope {
    pub threads: usize,
}

impl Loops for StdScope {
    fn for_each_part(&mut self, y: &mut [f64], _: Cost, body: impl Fn(usize, &mut [f64]) + Sync) {
        let n = y.len();
        let len = n.div_ceil(self.threads);
        let last = (n.div_ceil(len) - 1) * len;
        let (others, own) = y.split_at_mut(last);
        thread::scope(|scope| {
            for (c, y) in others.chunks_mut(len).enumerate() {
                let body = &body;
                scope.spawn(move || body(c * len, y));
            }
            body(last, own);
        });
    }

    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let parts = n.min(self.threads);
        thread::scope(|scope| {
            let term = &term;
            let others: Vec<_> = (0..parts - 1)
                .map(|p| scope.spawn(move || term(part(n, p, parts))))
                .collect();
            let own = term(part(n, parts - 1, parts));
            let others = others
                .into_iter()
                .map(|thread| thread.join().unwrap_or(f64::NAN));
            own + others.sum::<f64>()
        })
    }
}
