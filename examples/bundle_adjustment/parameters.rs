//! Vectors with an element for each parameter: the unknowns, and whatever has their shape.

use conga::vector;
use conga::ThreadPool;

use crate::camera::{CameraParameters, Point, CAMERA_SIZE, POINT_SIZE};
use crate::structure::Structure;

/// A vector of camera and point blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pub cameras: Vec<CameraParameters>,
    pub points: Vec<Point>,
}

impl Parameters {
    pub fn zeros(structure: &Structure) -> Self {
        Parameters {
            cameras: vec![[0.0; CAMERA_SIZE]; structure.num_cameras()],
            points: vec![[0.0; POINT_SIZE]; structure.num_points()],
        }
    }

    /// The numbers, first the cameras', then the points'.
    pub fn flat(&self) -> impl Iterator<Item = &[f64]> {
        [self.cameras.as_flattened(), self.points.as_flattened()].into_iter()
    }

    pub fn flat_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        [
            self.cameras.as_flattened_mut(),
            self.points.as_flattened_mut(),
        ]
        .into_iter()
    }

    pub fn dot(&self, pool: &ThreadPool, other: &Self) -> f64 {
        self.flat()
            .zip(other.flat())
            .map(|(a, b)| vector::dot(pool, a, b))
            .sum()
    }

    pub fn norm(&self, pool: &ThreadPool) -> f64 {
        self.dot(pool, self).sqrt()
    }

    /// The largest absolute value; NaN if any element is.
    pub fn max_norm(&self, pool: &ThreadPool) -> f64 {
        let mut largest = 0.0;
        for x in self.flat() {
            let here = vector::max(pool, x).max(-vector::min(pool, x));
            // Both are NaN if an element is. Once `largest` is NaN nothing is above it.
            if here > largest || here.is_nan() {
                largest = here;
            }
        }
        largest
    }

    /// `self = a + b`.
    pub fn set_sum(&mut self, pool: &ThreadPool, a: &Self, b: &Self) {
        for ((sum, a), b) in self.flat_mut().zip(a.flat()).zip(b.flat()) {
            vector::axpby(pool, 1.0, a, 1.0, b, sum);
        }
    }

    /// Multiplies each element by that of `other`.
    pub fn multiply(&mut self, pool: &ThreadPool, other: &Self) {
        for (x, other) in self.flat_mut().zip(other.flat()) {
            vector::multiply_assign(pool, other, x);
        }
    }

    pub fn negate(&mut self, pool: &ThreadPool) {
        for x in self.flat_mut() {
            vector::scale(pool, -1.0, x);
        }
    }

    /// A hash of all bits: equal for vectors that are equal to the last bit, and hardly ever
    /// for others.
    pub fn hash(&self) -> u64 {
        // FNV-1a, by words.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for x in self.flat().flatten() {
            hash = (hash ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3);
            // Without this, a word's high bits would never reach the low ones.
            hash ^= hash >> 32;
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Parameters {
        Parameters {
            cameras: vec![[1.0, -2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]],
            points: vec![[4.0, 0.0, -9.0], [0.25, 1.0, 1.0]],
        }
    }

    /// Catches a hash that ignores some elements, or some bits of them.
    #[test]
    fn the_hash_depends_on_every_bit() {
        let original = sample();
        assert_eq!(original.hash(), sample().hash());
        for part in 0..2 {
            for i in 0..[9, 6][part] {
                for bit in 0..64 {
                    let mut changed = sample();
                    let element = &mut changed.flat_mut().nth(part).unwrap()[i];
                    *element = f64::from_bits(element.to_bits() ^ 1 << bit);
                    assert_ne!(changed.hash(), original.hash());
                }
            }
        }
    }

    /// Catches a hash in which two flipped signs cancel out, since the highest bit of a word
    /// reaches no other.
    #[test]
    fn flipped_signs_do_not_cancel_out_in_the_hash() {
        let mut changed = sample();
        changed.cameras[0][0] *= -1.0;
        changed.points[1][2] *= -1.0;
        assert_ne!(changed.hash(), sample().hash());
    }

    /// Catches a norm that loses the sign, one of the parts, or a NaN.
    #[test]
    fn the_largest_absolute_value_may_be_negative_or_nan() {
        let pool = ThreadPool::new(2).unwrap();
        assert_eq!(sample().max_norm(&pool), 9.0);
        for part in 0..2 {
            let mut x = sample();
            x.flat_mut().nth(part).unwrap()[3] = -10.0;
            assert_eq!(x.max_norm(&pool), 10.0);
            x.flat_mut().nth(part).unwrap()[3] = f64::NAN;
            assert!(x.max_norm(&pool).is_nan());
        }
    }
}
