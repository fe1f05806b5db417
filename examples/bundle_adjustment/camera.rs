//! The camera of the BAL problems: a pinhole with radial distortion, nine parameters.

use crate::jet::Real;

/// Parameters of a camera: Rodrigues rotation (3), translation (3), focal length, two
/// coefficients of radial distortion.
pub const CAMERA_SIZE: usize = 9;
/// Coordinates of a point.
pub const POINT_SIZE: usize = 3;

pub type CameraParameters = [f64; CAMERA_SIZE];
pub type Point = [f64; POINT_SIZE];
pub type Pixel = [f64; 2];

/// A camera ready to project points: what depends on the camera alone is computed once.
#[derive(Clone, Copy)]
pub struct Camera<T> {
    rotation: Rotation<T>,
    translation: [T; 3],
    focal_length: T,
    distortion: [T; 2],
}

impl<T: Real> Camera<T> {
    pub fn new(parameters: &[T; CAMERA_SIZE]) -> Self {
        let [r0, r1, r2, t0, t1, t2, focal_length, l1, l2] = *parameters;
        Camera {
            rotation: Rotation::new([r0, r1, r2]),
            translation: [t0, t1, t2],
            focal_length,
            distortion: [l1, l2],
        }
    }

    /// Where the camera sees `point`, in pixels from the centre of the image.
    ///
    /// The camera looks along its negative z axis. For a point in the plane of the camera
    /// the result is not finite.
    #[inline(always)]
    pub fn project(&self, point: &[T; POINT_SIZE]) -> [T; 2] {
        let rotated = self.rotation.apply(point);
        let [x, y, z] = std::array::from_fn(|i| rotated[i] + self.translation[i]);
        let u = -(x / z);
        let v = -(y / z);
        let radius2 = u * u + v * v;
        let [l1, l2] = self.distortion;
        let scale = self.focal_length * (T::constant(1.0) + radius2 * (l1 + l2 * radius2));
        [scale * u, scale * v]
    }
}

/// A rotation by Rodrigues' formula `R·x = cos θ·x + sin θ·(a × x) + (1 − cos θ)(a·x)·a`,
/// `θ·a` the rotation vector.
#[derive(Clone, Copy)]
struct Rotation<T> {
    axis: [T; 3],
    sin: T,
    cos: T,
}

impl<T: Real> Rotation<T> {
    fn new(vector: [T; 3]) -> Self {
        let angle2 = dot(&vector, &vector);
        if angle2.value() > f64::EPSILON {
            let angle = angle2.sqrt();
            let (sin, cos) = angle.sin_cos();
            Rotation {
                axis: vector.map(|v| v / angle),
                sin,
                cos,
            }
        } else {
            // Near 0 the angle has no derivative. To first order R·x = x + vector × x, which
            // is what these three values make of the formula.
            Rotation {
                axis: vector,
                sin: T::constant(1.0),
                cos: T::constant(1.0),
            }
        }
    }

    #[inline(always)]
    fn apply(&self, x: &[T; 3]) -> [T; 3] {
        let a = &self.axis;
        let cross = [
            a[1] * x[2] - a[2] * x[1],
            a[2] * x[0] - a[0] * x[2],
            a[0] * x[1] - a[1] * x[0],
        ];
        let along = dot(a, x) * (T::constant(1.0) - self.cos);
        std::array::from_fn(|i| self.cos * x[i] + self.sin * cross[i] + along * a[i])
    }
}

#[inline(always)]
fn dot<T: Real>(a: &[T; 3], b: &[T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jet::Jet;

    const CAMERA: CameraParameters = [0.3, -0.2, 0.9, 0.1, -0.4, -2.0, 500.0, -0.1, 0.02];
    const POINT: Point = [0.4, -0.7, -3.0];

    fn project(camera: &CameraParameters, point: &Point) -> Pixel {
        Camera::new(camera).project(point)
    }

    fn jets(camera: &CameraParameters, point: &Point) -> [Jet<12>; 2] {
        let camera: [Jet<12>; 9] = std::array::from_fn(|i| Jet::variable(camera[i], i));
        let point: [Jet<12>; 3] = std::array::from_fn(|i| Jet::variable(point[i], 9 + i));
        Camera::new(&camera).project(&point)
    }

    fn check_derivatives(camera: CameraParameters) {
        let exact = jets(&camera, &POINT);
        for variable in 0..12 {
            let moved = |by: f64| {
                let (mut camera, mut point) = (camera, POINT);
                match variable {
                    0..=8 => camera[variable] += by,
                    _ => point[variable - 9] += by,
                }
                project(&camera, &point)
            };
            let h = 1e-6;
            let (forward, backward) = (moved(h), moved(-h));
            for row in 0..2 {
                let difference = (forward[row] - backward[row]) / (2.0 * h);
                let derivative = exact[row].derivatives[variable];
                assert!(
                    (difference - derivative).abs() < 1e-5 * (1.0 + derivative.abs()),
                    "row {row}, variable {variable}: {derivative} and {difference}"
                );
            }
        }
    }

    /// Catches a slip in the model that breaks its derivatives by any of the 12 variables.
    #[test]
    fn derivatives_agree_with_finite_differences() {
        check_derivatives(CAMERA);
    }

    /// Catches a division by the angle 0, and a first-order formula with a wrong sign.
    #[test]
    fn derivatives_exist_without_a_rotation() {
        let mut camera = CAMERA;
        camera[..3].fill(0.0);
        assert!(jets(&camera, &POINT).iter().all(Jet::is_finite));
        check_derivatives(camera);
    }

    /// Catches a forgotten minus sign and a distortion that is applied twice.
    #[test]
    fn an_unrotated_camera_projects_along_minus_z() {
        let camera = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 0.5, 0.25];
        let [u, v] = project(&camera, &[1.0, 2.0, -2.0]);
        // p = (0.5, 1), |p|² = 1.25, so the distortion is 1 + 1.25·(0.5 + 0.25·1.25).
        let distortion = 1.0 + 1.25 * (0.5 + 0.25 * 1.25);
        assert!((u - 50.0 * distortion).abs() < 1e-12);
        assert!((v - 100.0 * distortion).abs() < 1e-12);
    }

    /// Catches a rotation in the wrong direction.
    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y() {
        let quarter = Rotation::new([0.0, 0.0, std::f64::consts::FRAC_PI_2]);
        let [x, y, z] = quarter.apply(&[1.0, 0.0, 5.0]);
        assert!(x.abs() < 1e-15 && (y - 1.0).abs() < 1e-15 && (z - 5.0).abs() < 1e-15);
    }
}
