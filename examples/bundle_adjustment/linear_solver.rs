//! The linear system of one step, solved for cameras and points.

use crate::dense::{DenseSchur, TooLarge};
use crate::elimination::{Elimination, System};
use crate::parameters::Parameters;
use crate::pcg::{ConjugateGradients, Tolerance};
use crate::structure::Structure;

/// How the reduced camera system is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// Preconditioned conjugate gradients on the implicit Schur complement.
    ConjugateGradients,
    /// A Cholesky factorisation of the Schur complement.
    Dense,
}

/// Elimination of the points, one of the solvers for the cameras, back-substitution.
pub struct LinearSolver {
    elimination: Elimination,
    cameras: CameraSolver,
}

enum CameraSolver {
    ConjugateGradients(ConjugateGradients, Tolerance),
    Dense(DenseSchur),
}

impl LinearSolver {
    pub fn new(
        solver: Solver,
        tolerance: Tolerance,
        structure: &Structure,
    ) -> Result<Self, TooLarge> {
        Ok(LinearSolver {
            cameras: match solver {
                Solver::ConjugateGradients => {
                    let method = ConjugateGradients::new(structure);
                    CameraSolver::ConjugateGradients(method, tolerance)
                }
                Solver::Dense => CameraSolver::Dense(DenseSchur::new(structure)?),
            },
            elimination: Elimination::new(structure),
        })
    }

    /// Solves `(JᵀJ + D²) s = Jᵀ r` for `s`. Returns the number of inner iterations, 1 for a
    /// factorisation, or `None` if there is no solution to working precision.
    pub fn solve(&mut self, system: &System, solution: &mut Parameters) -> Option<usize> {
        let elimination = &mut self.elimination;
        elimination.invert_v(system);
        let x = &mut solution.cameras;
        let iterations = match &mut self.cameras {
            CameraSolver::ConjugateGradients(method, tolerance) => {
                method.solve(system, elimination, tolerance, x)?
            }
            CameraSolver::Dense(schur) => {
                schur.solve(system, elimination, x)?;
                1
            }
        };
        elimination.back_substitute(system, &solution.cameras, &mut solution.points);
        Some(iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bal::Problem;
    use crate::jacobian::Jacobian;
    use crate::loops::Loops;
    use crate::residuals::Evaluator;
    use crate::synthetic;
    use conga::ThreadPool;

    /// How far `solution` is from a solution: `(JᵀJ + D²) s − Jᵀ r`, relative to `Jᵀ r`.
    fn error(system: &System, solution: &Parameters) -> f64 {
        let System {
            loops, jacobian, ..
        } = system;
        let s = loops.structure;
        let n = s.num_observations();
        let (mut fx, mut ey) = (vec![[0.0; 2]; n], vec![[0.0; 2]; n]);
        jacobian.right_f(loops, &solution.cameras, &mut fx);
        jacobian.right_e(loops, &solution.points, &mut ey);
        let mut rest = vec![[0.0; 2]; n];
        for o in 0..n {
            for i in 0..2 {
                let product = fx[o][i] + ey[s.place_of[o] as usize][i];
                rest[o][i] = product - system.residuals[o][i];
            }
        }
        let left = |rows: &[[f64; 2]]| {
            let mut out = Parameters::zeros(s);
            let mut partials = vec![[0.0; 9]; s.num_segments()];
            jacobian.left_e(loops, rows, &mut out.points);
            jacobian.left_f(loops, |o| rows[o], &mut partials, &mut out.cameras);
            out
        };
        let mut error = left(&rest);
        let damping = system.damping.flat().flatten();
        let damped = damping
            .zip(solution.flat().flatten())
            .map(|(d, s)| d * d * s);
        for (error, damped) in error.flat_mut().flatten().zip(damped) {
            *error += damped;
        }
        let pool = loops.pool;
        error.norm(pool) / left(system.residuals).norm(pool)
    }

    fn check(problem: &Problem) {
        let structure = Structure::new(problem);
        let pool = ThreadPool::new(2).unwrap();
        let loops = Loops::new(&pool, &structure);
        let x = Parameters {
            cameras: problem.cameras.clone(),
            points: problem.points.clone(),
        };
        let mut residuals = vec![[0.0; 2]; structure.num_observations()];
        let mut jacobian = Jacobian::new(&structure);
        let mut evaluator = Evaluator::new();
        evaluator
            .jacobian(&loops, &x, &mut residuals, &mut jacobian)
            .unwrap();
        let mut damping = Parameters::zeros(&structure);
        damping.flat_mut().flatten().for_each(|d| *d = 10.0);
        let system = System {
            loops: &loops,
            jacobian: &jacobian,
            residuals: &residuals,
            damping: &damping,
        };
        let not_finite = vec![[f64::NAN; 2]; residuals.len()];
        let broken = System {
            residuals: &not_finite,
            ..system
        };
        // Conjugate gradients that go on until nothing changes.
        let tolerance = Tolerance {
            eta: 1e-14,
            max_iterations: 1000,
        };
        for solver in [Solver::Dense, Solver::ConjugateGradients] {
            let mut solution = Parameters::zeros(&structure);
            let mut linear = LinearSolver::new(solver, tolerance, &structure).unwrap();
            for _ in 0..2 {
                // Leaves numbers that are not finite in the workspaces.
                let _ = linear.solve(&broken, &mut solution);
                let iterations = linear.solve(&system, &mut solution).unwrap();
                assert!(iterations <= 2 * 9 * structure.num_cameras());
                let error = error(&system, &solution);
                assert!(error < 1e-8, "{solver:?}: {error}");
            }
        }
    }

    /// Catches a wrong block of the Schur complement, its operator or its right-hand side, and
    /// a wrong back-substitution; directions that are not conjugate, and so take many more
    /// iterations; and a solve that depends on the one before.
    #[test]
    fn both_solvers_solve_the_whole_system() {
        check(&synthetic::problem(5, 300));
    }

    /// Catches contributions to a block on the diagonal that are missing where a camera sees a
    /// point twice, and indices that go wrong where one sees nothing.
    #[test]
    fn repeated_and_missing_observations_are_fine() {
        let mut problem = synthetic::problem(4, 100);
        problem
            .observations
            .retain(|o| o.camera != 2 && o.point != 5);
        let again: Vec<_> = problem.observations.iter().step_by(3).copied().collect();
        problem
            .observations
            .extend(again.iter().chain(&again[..10]));
        check(&problem);
    }
}
