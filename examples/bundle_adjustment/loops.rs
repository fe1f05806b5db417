//! The two shapes of loop in which several observations add up to one number, and the order in
//! which they do.
//!
//! Nothing is ever summed per lane: which lane runs what depends on timing, and the order of
//! additions decides the last bits. Instead each result is *gathered*, from front to back, by
//! whichever lane has it.

use conga::ceres::partition_range_for_parallel_for;
use conga::ThreadPool;

use crate::structure::Structure;

/// Parts per lane. With some more parts than lanes, a lane that is late leaves its parts to
/// others.
const PARTS_PER_LANE: usize = 4;

/// A pool, a structure, and how the pool's lanes share the structure.
///
/// The costs of points and cameras never change, so they are partitioned once, and the loops of
/// each iteration allocate nothing.
pub struct Loops<'a> {
    pub pool: &'a ThreadPool,
    pub structure: &'a Structure,
    point_parts: Vec<usize>,
    segment_parts: Vec<usize>,
}

impl<'a> Loops<'a> {
    pub fn new(pool: &'a ThreadPool, structure: &'a Structure) -> Self {
        let max_parts = PARTS_PER_LANE * pool.num_threads();
        // Where a point's places end is what it and those before it cost.
        let parts = |bounds: &[usize]| {
            let ends = &bounds[1..];
            partition_range_for_parallel_for(0, ends.len(), max_parts, ends, |&end| end as u64)
        };
        Loops {
            pool,
            structure,
            point_parts: parts(&structure.point_bounds),
            segment_parts: parts(&structure.segment_bounds),
        }
    }

    /// `out[p] = f(p, places of p)` for each point.
    pub fn gather_points<T: Send>(
        &self,
        out: &mut [T],
        f: impl Fn(usize, std::ops::Range<usize>) -> T + Sync,
    ) {
        let bounds = &self.structure.point_bounds;
        self.pool
            .parallel_for(0..out.len())
            .partitions(&self.point_parts)
            .for_each_mut(out, |p, out| *out = f(p, bounds[p]..bounds[p + 1]));
    }

    /// `out[c] =` the sum over the observations of camera `c`, to which `add(o, sum)` adds that
    /// of observation `o`.
    ///
    /// There are few cameras and they have many observations, so first the segments are summed,
    /// then each camera's segments. `partials` has an element for each segment.
    pub fn gather_cameras<const N: usize>(
        &self,
        partials: &mut [[f64; N]],
        out: &mut [[f64; N]],
        add: impl Fn(usize, &mut [f64; N]) + Sync,
    ) {
        let bounds = &self.structure.segment_bounds;
        self.pool
            .parallel_for(0..partials.len())
            .partitions(&self.segment_parts)
            .for_each_mut(partials, |segment, partial| {
                let mut sum = [0.0; N];
                for o in bounds[segment]..bounds[segment + 1] {
                    add(o, &mut sum);
                }
                *partial = sum;
            });
        let (segments, partials) = (&self.structure.camera_segments, &*partials);
        self.pool.for_each_mut(out, |camera, out| {
            let mut sum = [0.0; N];
            for partial in &partials[segments[camera]..segments[camera + 1]] {
                for (sum, partial) in sum.iter_mut().zip(partial) {
                    *sum += partial;
                }
            }
            *out = sum;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    /// Catches a partition or a segment that is left out or counted twice.
    #[test]
    fn each_observation_is_gathered_once() {
        let structure = Structure::new(&synthetic::problem(5, 900));
        for lanes in [1, 2, 3, 8] {
            let pool = ThreadPool::new(lanes).unwrap();
            let loops = Loops::new(&pool, &structure);

            let mut sums = vec![0; structure.num_points()];
            loops.gather_points(&mut sums, |p, places| {
                places
                    .map(|place| {
                        assert_eq!(structure.point_at[place] as usize, p);
                        structure.observation_at[place] as u64
                    })
                    .sum::<u64>()
            });
            let n = structure.num_observations() as u64;
            assert_eq!(sums.iter().sum::<u64>(), n * (n - 1) / 2);

            let mut partials = vec![[0.0; 2]; structure.num_segments()];
            let mut out = vec![[0.0; 2]; structure.num_cameras()];
            loops.gather_cameras(&mut partials, &mut out, |o, sum| {
                sum[0] += 1.0;
                sum[1] += f64::from(structure.camera_of[o]);
            });
            for (camera, [count, cameras]) in out.into_iter().enumerate() {
                let expected = structure
                    .camera_of
                    .iter()
                    .filter(|&&c| c as usize == camera);
                assert_eq!(count, expected.count() as f64);
                assert_eq!(cameras, camera as f64 * count);
            }
        }
    }
}
