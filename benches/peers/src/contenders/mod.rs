//! The contenders: conga's three strategies, the plain loop, and the other pools.
//!
//! Each pool is used as its documentation recommends, and gets the cut that suits it: a loop of
//! equal indices in one part for each thread where the pool hands out parts as they are, in a few
//! more where it shares them out while the loop runs, and a loop whose last indices cost the most in
//! many small ones. The cost of an index is known to a pool only in that way. conga is told
//! nothing.

mod chili;
mod conga;
#[cfg(feature = "cpp")]
mod cpp;
#[cfg(feature = "cpp")]
mod forkunion;
mod orx;
mod paralight;
mod pool;
mod rayon;
mod serial;
mod std_scope;

use std::ops::Range;

pub use self::pool::Pool;
pub use self::serial::PlainLoop;
use crate::turn::{Figure, Turn};
use crate::workloads;
use Pool::*;

impl Pool {
    /// Those that this program was built with.
    pub fn available() -> Vec<Pool> {
        let all = Self::NAMES.iter().map(|&(pool, _)| pool);
        all.filter(|pool| cfg!(feature = "cpp") || !pool.is_cpp())
            .collect()
    }

    pub fn from_name(name: &str) -> Option<Pool> {
        Self::available()
            .into_iter()
            .find(|pool| pool.name() == name)
    }

    fn is_cpp(self) -> bool {
        self == Forkunion || self.is_omp() || matches!(self, TbbStatic | TbbAuto)
    }

    fn is_omp(self) -> bool {
        matches!(self, OmpStatic | OmpDynamic) || self.is_passive_omp()
    }

    fn is_passive_omp(self) -> bool {
        matches!(self, OmpStaticPassive | OmpDynamicPassive)
    }

    /// What the process has to have in its environment from the start: libgomp reads it before
    /// `main`.
    pub fn environment(self) -> Option<(&'static str, &'static str)> {
        self.is_passive_omp()
            .then_some(("OMP_WAIT_POLICY", "passive"))
    }

    /// Makes the pool, gives it its turn and takes it down.
    pub fn run(self, turn: &Turn) -> Figure {
        let threads = turn.cell.threads;
        match self {
            Serial => turn.run(&mut PlainLoop),
            CongaPerThread | CongaChained | CongaAdaptive => conga::run(self, threads, turn),
            RayonOutside => rayon::run_outside(threads, turn),
            RayonInstall => rayon::run_inside(threads, turn),
            Chili => chili::run(threads, turn),
            Paralight => turn.run(&mut paralight::Paralight::new(threads)),
            Orx => turn.run(&mut orx::Orx::new(threads)),
            StdScope => turn.run(&mut std_scope::StdScope { threads }),
            #[cfg(feature = "cpp")]
            Forkunion => turn.run(&mut forkunion::ForkUnion::new(threads)),
            #[cfg(feature = "cpp")]
            OmpStatic | OmpStaticPassive => turn.run(&mut cpp::Cpp::omp_static(threads)),
            #[cfg(feature = "cpp")]
            OmpDynamic | OmpDynamicPassive => turn.run(&mut cpp::Cpp::omp_dynamic(threads)),
            #[cfg(feature = "cpp")]
            TbbStatic => cpp::in_arena(threads, || turn.run(&mut cpp::Cpp::tbb_static(threads))),
            #[cfg(feature = "cpp")]
            TbbAuto => cpp::in_arena(threads, || turn.run(&mut cpp::Cpp::tbb_auto(threads))),
            #[cfg(not(feature = "cpp"))]
            _ => unreachable!("{self} is not available without the feature `cpp`"),
        }
    }
}

/// What an index costs: what somebody who writes the loop knows when he cuts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A nanosecond or less.
    Light,
    /// A microsecond, each of them.
    Heavy,
    /// A microsecond on average, rising with the index.
    Rising,
}

impl Cost {
    /// How many parts a loop of `n` indices is cut into for a pool that shares parts out while the
    /// loop runs: one for each thread where a part is short, and where the costs rise so many that
    /// the last one is a few hundredths of the whole.
    fn shared_parts(self, n: usize, threads: usize) -> usize {
        let parts_per_thread = match self {
            // With 4 or 8, rayon was 5 to 20 % slower on `axpy` of 65,536.
            Cost::Light => 1,
            Cost::Heavy => 4,
            Cost::Rising => 32,
        };
        n.min(threads * parts_per_thread)
    }
}

/// Part `p` of `0..n` cut into `parts`.
fn part(n: usize, p: usize, parts: usize) -> Range<usize> {
    n * p / parts..n * (p + 1) / parts
}

/// The workloads, as calls. Each returns when all is done.
pub trait Contender {
    fn zero(&mut self, y: &mut [f64]);
    fn axpy(&mut self, a: f64, x: &[f64], y: &mut [f64]);
    fn dot(&mut self, x: &[f64], y: &[f64]) -> f64;
    fn work(&mut self, iterations: u64, y: &mut [f64]);
    fn skew(&mut self, scale: f64, y: &mut [f64]);
}

/// The two loops that a pool in Rust has to know.
pub trait Loops {
    /// Calls `body(start, part)` for disjoint parts that make up `y`, `start` being the index of
    /// the part's first element.
    fn for_each_part(&mut self, y: &mut [f64], cost: Cost, body: impl Fn(usize, &mut [f64]) + Sync);

    /// The sum of `term(range)` over ranges that make up `0..n`, whose indices are light.
    fn sum(&mut self, n: usize, term: impl Fn(Range<usize>) -> f64 + Sync) -> f64;

    /// `x · y`: for a pool that brings its own.
    #[inline]
    fn inner_product(&mut self, x: &[f64], y: &[f64]) -> f64 {
        self.sum(x.len(), |range| {
            workloads::dot(&x[range.clone()], &y[range])
        })
    }
}

impl<L: Loops> Contender for L {
    #[inline]
    fn zero(&mut self, y: &mut [f64]) {
        self.for_each_part(y, Cost::Light, |_, y| workloads::zero(y));
    }

    #[inline]
    fn axpy(&mut self, a: f64, x: &[f64], y: &mut [f64]) {
        self.for_each_part(y, Cost::Light, |start, y| {
            workloads::axpy(a, &x[start..start + y.len()], y)
        });
    }

    #[inline]
    fn dot(&mut self, x: &[f64], y: &[f64]) -> f64 {
        self.inner_product(x, y)
    }

    #[inline]
    fn work(&mut self, iterations: u64, y: &mut [f64]) {
        self.for_each_part(y, Cost::Heavy, |start, y| {
            workloads::work(iterations, start, y)
        });
    }

    #[inline]
    fn skew(&mut self, scale: f64, y: &mut [f64]) {
        self.for_each_part(y, Cost::Rising, |start, y| workloads::skew(scale, start, y));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A pool without a name, or two with the same.
    #[test]
    fn names_are_distinct() {
        let pools = Pool::available();
        let names: HashSet<&str> = pools.iter().map(|pool| pool.name()).collect();
        assert_eq!(names.len(), pools.len());
        assert!(!names.contains("?"));
        assert!(pools
            .iter()
            .all(|&pool| Pool::from_name(pool.name()) == Some(pool)));
    }

    /// Parts that overlap or leave something out.
    #[test]
    fn parts_make_up_the_range() {
        for (n, parts) in [(1, 1), (10, 3), (64, 16), (1000, 7)] {
            let indices: Vec<usize> = (0..parts).flat_map(|p| part(n, p, parts)).collect();
            assert!(indices.into_iter().eq(0..n), "{n} in {parts}");
        }
    }
}
