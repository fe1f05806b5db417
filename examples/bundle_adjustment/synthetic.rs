//! Small made-up problems for the tests.

use crate::bal::{Observation, Problem};
use crate::camera::Camera;

/// Numbers in -1..1 from a linear congruential generator: the same ones each time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Points around the origin seen by cameras ten units away, where each camera misses some of
/// the points. Pixels are exact; then cameras and points are moved a little.
pub fn problem(num_cameras: usize, num_points: usize) -> Problem {
    let mut random = Random::new(7);
    let mut cameras: Vec<[f64; 9]> = (0..num_cameras)
        .map(|_| {
            let mut r = || random.next();
            let (x, y) = (r(), r());
            [
                0.2 * r(),
                0.2 * r(),
                0.2 * r(),
                x,
                y,
                -10.0 + r(),
                500.0,
                1e-2 * r(),
                1e-3 * r(),
            ]
        })
        .collect();
    let mut points: Vec<[f64; 3]> = (0..num_points)
        .map(|_| std::array::from_fn(|_| random.next()))
        .collect();
    let mut observations = Vec::new();
    for (p, point) in points.iter().enumerate() {
        for (c, camera) in cameras.iter().enumerate() {
            if (p + c) % 4 != 3 {
                observations.push(Observation {
                    camera: c as u32,
                    point: p as u32,
                    pixel: Camera::new(camera).project(point),
                });
            }
        }
    }
    for camera in &mut cameras {
        for parameter in &mut camera[..6] {
            *parameter += 0.01 * random.next();
        }
    }
    for coordinate in points.as_flattened_mut() {
        *coordinate += 0.01 * random.next();
    }
    Problem {
        name: "synthetic".into(),
        cameras,
        points,
        observations,
    }
}
