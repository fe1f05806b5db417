//! Residuals and their derivatives: projected minus observed pixels.

use conga::{vector, DisjointSlice, Scratch};

use crate::camera::{Camera, CameraParameters, Pixel, Point, CAMERA_SIZE, POINT_SIZE};
use crate::jacobian::{EBlock, FBlock, Jacobian, Row};
use crate::jet::{Jet, Real};
use crate::loops::Loops;
use crate::parameters::Parameters;

/// A number with its derivatives by the parameters of a camera, then those of a point.
type PixelJet = Jet<{ CAMERA_SIZE + POINT_SIZE }>;

/// The residual of this observation is not finite, or has a derivative that is not. There may
/// be others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotFinite {
    pub observation: usize,
}

/// What a lane keeps from one observation to the next: the camera it has prepared. Observations
/// are sorted by camera, so sine and cosine of its rotation are computed once per block or so
/// and not once per observation.
struct Workspace<T> {
    prepared: Option<(u32, Camera<T>)>,
}

impl<T: Real> Workspace<T> {
    fn new() -> Self {
        Workspace { prepared: None }
    }

    fn camera(&mut self, index: u32, lift: impl Fn() -> [T; CAMERA_SIZE]) -> &Camera<T> {
        if !matches!(self.prepared, Some((prepared, _)) if prepared == index) {
            self.prepared = None;
        }
        let prepare = || (index, Camera::new(&lift()));
        &self.prepared.get_or_insert_with(prepare).1
    }
}

/// One workspace per lane, kept from evaluation to evaluation.
type Workspaces<T> = Scratch<Workspace<T>, fn() -> Workspace<T>>;

/// Evaluates residuals, with or without derivatives.
pub struct Evaluator {
    plain: Workspaces<f64>,
    jets: Workspaces<PixelJet>,
}

impl Evaluator {
    pub fn new() -> Self {
        Evaluator {
            plain: Scratch::new(Workspace::new),
            jets: Scratch::new(Workspace::new),
        }
    }

    /// Writes the residuals at `x`, by observation. Returns the cost, half their squared norm,
    /// which may overflow. After an error the residuals are unspecified.
    pub fn residuals(
        &mut self,
        loops: &Loops,
        x: &Parameters,
        residuals: &mut [Row],
    ) -> Result<f64, NotFinite> {
        forget(&mut self.plain);
        let structure = loops.structure;
        let rows = DisjointSlice::new(residuals);
        loops
            .pool
            .parallel_for(0..structure.num_observations())
            .try_for_each_with(&mut self.plain, |workspace, o| {
                let c = structure.camera_of[o];
                let camera = workspace.camera(c, || x.cameras[c as usize]);
                let projected = camera.project(&x.points[structure.point_of[o] as usize]);
                let [u, v] = structure.pixel_of[o];
                let residual = [projected[0] - u, projected[1] - v];
                // SAFETY: `o` is an index of the loop and of `residuals`, and the body runs at
                // most once for each index: nobody else has this element.
                *unsafe { rows.get_mut(o) } = residual;
                check(residual.iter().all(|r| r.is_finite()), o)
            })?;
        Ok(cost(loops, residuals))
    }

    /// As [`residuals`](Self::residuals), with the derivatives. After an error both are
    /// unspecified.
    pub fn jacobian(
        &mut self,
        loops: &Loops,
        x: &Parameters,
        residuals: &mut [Row],
        jacobian: &mut Jacobian,
    ) -> Result<f64, NotFinite> {
        forget(&mut self.jets);
        let structure = loops.structure;
        let rows = DisjointSlice::new(residuals);
        let e_blocks = DisjointSlice::new(&mut jacobian.e);
        let f_blocks = DisjointSlice::new(&mut jacobian.f);
        loops
            .pool
            .parallel_for(0..structure.num_observations())
            .try_for_each_with(&mut self.jets, |workspace, o| {
                let c = structure.camera_of[o];
                let camera = workspace.camera(c, || lift_camera(&x.cameras[c as usize]));
                let point = lift_point(&x.points[structure.point_of[o] as usize]);
                let projected = camera.project(&point);
                let (row, e, f) = split(&projected, &structure.pixel_of[o]);
                // SAFETY: `o` is an index of the loop and of `residuals`, and the body runs at
                // most once for each index: nobody else has this element.
                *unsafe { rows.get_mut(o) } = row;
                // SAFETY: the same holds for `f`, which is by observation too.
                *unsafe { f_blocks.get_mut(o) } = f;
                let place = structure.place_of[o] as usize;
                // SAFETY: `place_of` is a permutation of the observations, so `place` is an
                // index of `e`, and another one for each `o`.
                *unsafe { e_blocks.get_mut(place) } = e;
                check(projected.iter().all(Jet::is_finite), o)
            })?;
        Ok(cost(loops, residuals))
    }
}

/// Cameras move from one evaluation to the next, so those prepared by the last one are stale.
fn forget<T: Real + Send>(workspaces: &mut Workspaces<T>) {
    for workspace in workspaces.iter_mut() {
        workspace.prepared = None;
    }
}

fn check(finite: bool, observation: usize) -> Result<(), NotFinite> {
    if finite {
        Ok(())
    } else {
        Err(NotFinite { observation })
    }
}

fn cost(loops: &Loops, residuals: &[Row]) -> f64 {
    let residuals = residuals.as_flattened();
    0.5 * vector::dot(loops.pool, residuals, residuals)
}

fn lift_camera(camera: &CameraParameters) -> [PixelJet; CAMERA_SIZE] {
    std::array::from_fn(|i| Jet::variable(camera[i], i))
}

fn lift_point(point: &Point) -> [PixelJet; POINT_SIZE] {
    std::array::from_fn(|i| Jet::variable(point[i], CAMERA_SIZE + i))
}

fn split(projected: &[PixelJet; 2], observed: &Pixel) -> (Row, EBlock, FBlock) {
    let row = std::array::from_fn(|i| projected[i].value - observed[i]);
    let derivatives = |i: usize, column: usize| projected[i].derivatives[column];
    let e = std::array::from_fn(|i| std::array::from_fn(|k| derivatives(i, CAMERA_SIZE + k)));
    let f = std::array::from_fn(|i| std::array::from_fn(|k| derivatives(i, k)));
    (row, e, f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bal::Problem;
    use crate::structure::Structure;
    use crate::synthetic;
    use conga::ThreadPool;

    fn start(problem: &Problem) -> Parameters {
        Parameters {
            cameras: problem.cameras.clone(),
            points: problem.points.clone(),
        }
    }

    /// Catches a residual or a derivative in the wrong place, and a workspace that keeps a
    /// camera of the evaluation before.
    #[test]
    fn derivatives_predict_residuals_nearby() {
        let problem = synthetic::problem(4, 100);
        let structure = Structure::new(&problem);
        let pool = ThreadPool::new(2).unwrap();
        let loops = Loops::new(&pool, &structure);
        let mut evaluator = Evaluator::new();
        let mut jacobian = Jacobian::new(&structure);
        let n = structure.num_observations();
        let (mut at, mut near) = (vec![[0.0; 2]; n], vec![[0.0; 2]; n]);
        let mut x = start(&problem);
        let mut random = synthetic::Random::new(5);
        for _ in 0..2 {
            let cost = evaluator
                .jacobian(&loops, &x, &mut at, &mut jacobian)
                .unwrap();
            assert_eq!(cost, evaluator.residuals(&loops, &x, &mut near).unwrap());
            assert_eq!(at, near);

            let mut step = Parameters::zeros(&structure);
            for step in step.flat_mut().flatten() {
                *step = 1e-6 * random.next();
            }
            let before = x.clone();
            x.set_sum(&pool, &before, &step);
            evaluator.residuals(&loops, &x, &mut near).unwrap();
            let (mut fx, mut ey) = (vec![[0.0; 2]; n], vec![[0.0; 2]; n]);
            jacobian.right_f(&loops, &step.cameras, &mut fx);
            jacobian.right_e(&loops, &step.points, &mut ey);
            for o in 0..n {
                let ey = ey[structure.place_of[o] as usize];
                for i in 0..2 {
                    let predicted = at[o][i] + fx[o][i] + ey[i];
                    assert!((near[o][i] - predicted).abs() < 1e-7, "{o}");
                }
            }
        }
    }

    /// Catches numbers that are not finite and go unnoticed into the solver.
    #[test]
    fn a_point_in_the_plane_of_a_camera_is_an_error() {
        let problem = synthetic::problem(3, 50);
        let structure = Structure::new(&problem);
        let pool = ThreadPool::new(2).unwrap();
        let loops = Loops::new(&pool, &structure);
        let mut x = start(&problem);
        x.cameras[1] = [0.0, 0.0, 0.0, 0.0, 0.0, -10.0, 500.0, 0.0, 0.0];
        x.points[20] = [1.0, 1.0, 10.0];
        let mut residuals = vec![[0.0; 2]; structure.num_observations()];
        let plain = Evaluator::new().residuals(&loops, &x, &mut residuals);
        let NotFinite { observation } = plain.unwrap_err();
        assert_eq!(structure.camera_of[observation], 1);
        assert_eq!(structure.point_of[observation], 20);
        let mut jacobian = Jacobian::new(&structure);
        let jets = Evaluator::new().jacobian(&loops, &x, &mut residuals, &mut jacobian);
        assert_eq!(jets.unwrap_err(), plain.unwrap_err());
    }

    /// The published cost at the start of the built-in problem.
    #[test]
    fn the_built_in_problem_starts_at_the_published_cost() {
        let problem = Problem::built_in().unwrap();
        let structure = Structure::new(&problem);
        let pool = ThreadPool::new(2).unwrap();
        let loops = Loops::new(&pool, &structure);
        let mut residuals = vec![[0.0; 2]; structure.num_observations()];
        let cost = Evaluator::new().residuals(&loops, &start(&problem), &mut residuals);
        assert_eq!(format!("{:.6e}", cost.unwrap()), "4.185660e6");
    }
}
