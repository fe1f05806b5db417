//! Preconditioned conjugate gradients on the implicit Schur complement: `S` is never formed,
//! only multiplied with.

use conga::vector;

use crate::camera::CAMERA_SIZE;
use crate::elimination::{Elimination, System, PACKED_CAMERA};
use crate::spd;
use crate::structure::Structure;

type CameraBlock = [f64; CAMERA_SIZE];

/// After so many steps the residual is computed anew, since the one that is updated drifts away
/// from the true one.
const RESIDUAL_RESET_PERIOD: usize = 10;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Stop when the quadratic model that is minimised gains less in one step than this
    /// fraction of its mean gain per step (Nash and Sofer, "Assessing a search direction within
    /// a truncated Newton method", 1990).
    pub eta: f64,
    pub max_iterations: usize,
}

/// The vectors of the method. Made once per solve, so that no iteration allocates.
pub struct ConjugateGradients {
    residual: Vec<CameraBlock>,
    preconditioned: Vec<CameraBlock>,
    direction: Vec<CameraBlock>,
    product: Vec<CameraBlock>,
    damped: Vec<CameraBlock>,
    right_hand_side: Vec<CameraBlock>,
    diagonal_blocks: Vec<[f64; PACKED_CAMERA]>,
    inverse_blocks: Vec<[CameraBlock; CAMERA_SIZE]>,
}

impl ConjugateGradients {
    pub fn new(structure: &Structure) -> Self {
        let cameras = structure.num_cameras();
        let zeros = || vec![[0.0; CAMERA_SIZE]; cameras];
        ConjugateGradients {
            residual: zeros(),
            preconditioned: zeros(),
            direction: zeros(),
            product: zeros(),
            damped: zeros(),
            right_hand_side: zeros(),
            diagonal_blocks: vec![[0.0; PACKED_CAMERA]; cameras],
            inverse_blocks: vec![[[0.0; CAMERA_SIZE]; CAMERA_SIZE]; cameras],
        }
    }

    /// Solves the reduced camera system for `x`, starting at 0. Returns how many iterations it
    /// took, or `None` if numbers stopped being finite, or `S` turned out not to be positive
    /// definite, before there was any solution.
    pub fn solve(
        &mut self,
        system: &System,
        elimination: &mut Elimination,
        tolerance: &Tolerance,
        x: &mut [CameraBlock],
    ) -> Option<usize> {
        let pool = system.loops.pool;
        elimination.right_hand_side(system, &mut self.right_hand_side);
        self.prepare_preconditioner(system, elimination);

        vector::fill(pool, 0.0, x.as_flattened_mut());
        let b = self.right_hand_side.as_flattened();
        vector::copy(pool, b, self.residual.as_flattened_mut());
        if vector::norm2(pool, b) == 0.0 {
            return Some(0);
        }
        let mut last_rho = 1.0;
        let mut last_model = 0.0;
        for iteration in 1..=tolerance.max_iterations {
            self.precondition(system);
            let z = self.preconditioned.as_flattened();
            let rho = vector::dot(pool, self.residual.as_flattened(), z);
            if !is_positive(rho) {
                return (iteration > 1).then_some(iteration - 1);
            }
            let direction = self.direction.as_flattened_mut();
            if iteration == 1 {
                // Not multiplied by 0: what is left from the solve before may have overflowed.
                vector::copy(pool, z, direction);
            } else {
                vector::axpby_assign(pool, 1.0, z, rho / last_rho, direction);
            }
            last_rho = rho;

            multiply(
                system,
                elimination,
                &self.direction,
                &mut self.damped,
                &mut self.product,
            );
            let direction = self.direction.as_flattened();
            let curvature = vector::dot(pool, direction, self.product.as_flattened());
            if !is_positive(curvature) {
                return (iteration > 1).then_some(iteration - 1);
            }
            let alpha = rho / curvature;
            vector::axpy(pool, alpha, direction, x.as_flattened_mut());

            let b = self.right_hand_side.as_flattened();
            if iteration % RESIDUAL_RESET_PERIOD == 0 {
                multiply(system, elimination, x, &mut self.damped, &mut self.product);
                let product = self.product.as_flattened();
                vector::axpby(
                    pool,
                    1.0,
                    b,
                    -1.0,
                    product,
                    self.residual.as_flattened_mut(),
                );
            } else {
                let product = self.product.as_flattened();
                vector::axpy(pool, -alpha, product, self.residual.as_flattened_mut());
            }

            // The model is xᵀSx/2 − xᵀb = −xᵀ(b + residual)/2; the half cancels out.
            let x = x.as_flattened();
            let model =
                -vector::dot(pool, x, b) - vector::dot(pool, x, self.residual.as_flattened());
            let gain = iteration as f64 * (model - last_model) / model;
            last_model = model;
            if gain < tolerance.eta {
                return Some(iteration);
            }
        }
        Some(tolerance.max_iterations)
    }

    /// The preconditioner (Schur-Jacobi) inverts what [`Elimination::diagonal_blocks`] computes.
    fn prepare_preconditioner(&mut self, system: &System, elimination: &mut Elimination) {
        elimination.diagonal_blocks(system, &mut self.diagonal_blocks);
        let blocks = &self.diagonal_blocks;
        let inverses = &mut self.inverse_blocks;
        system.loops.pool.for_each_mut(inverses, |camera, inverse| {
            *inverse = spd::invert(&spd::unpack(&blocks[camera]));
        });
    }

    fn precondition(&mut self, system: &System) {
        let (residual, inverses) = (&self.residual, &self.inverse_blocks);
        let preconditioned = &mut self.preconditioned;
        system.loops.pool.for_each_mut(preconditioned, |camera, z| {
            *z = spd::multiply(&inverses[camera], &residual[camera]);
        });
    }
}

/// `product = S x`; `damped` is overwritten.
fn multiply(
    system: &System,
    elimination: &mut Elimination,
    x: &[CameraBlock],
    damped: &mut [CameraBlock],
    product: &mut [CameraBlock],
) {
    let pool = system.loops.pool;
    elimination.multiply(system, x, product);
    let damping = system.damping.cameras.as_flattened();
    vector::multiply_squared(pool, damping, x.as_flattened(), damped.as_flattened_mut());
    vector::axpy(pool, 1.0, damped.as_flattened(), product.as_flattened_mut());
}

/// Whether a number can be divided by and leads downhill.
fn is_positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}
