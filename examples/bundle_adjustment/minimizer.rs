//! Where the minimisation stands, and one iteration of it.

use std::time::Duration;

use conga::vector;

use crate::bal::Problem;
use crate::camera::CAMERA_SIZE;
use crate::elimination::System;
use crate::jacobian::{Jacobian, Row};
use crate::linear_solver::LinearSolver;
use crate::loops::Loops;
use crate::parameters::Parameters;
use crate::residuals::{Evaluator, NotFinite};
use crate::summary::{Iteration, SolveError, Termination};
use crate::trust_region::TrustRegion;

// The constants of Ceres Solver.
const MIN_DIAGONAL: f64 = 1e-6;
const MAX_DIAGONAL: f64 = 1e32;
const GRADIENT_TOLERANCE: f64 = 1e-10;
const PARAMETER_TOLERANCE: f64 = 1e-8;
const MAX_CONSECUTIVE_INVALID_STEPS: usize = 5;

/// What became of a step.
pub enum Outcome {
    /// It could be computed; it was taken or not.
    Valid,
    /// It was shorter than the parameters are precise.
    TinyStep,
    /// The linear system had no solution, or the model does not fall along it.
    Invalid,
    /// It was taken, but there the derivatives are not finite.
    NotDifferentiable,
}

/// Parameters, everything that is known at them, and room for the next step.
pub struct Minimizer<'a> {
    loops: &'a Loops<'a>,
    evaluator: Evaluator,
    linear: LinearSolver,
    region: TrustRegion,
    invalid_steps: usize,

    x: Parameters,
    /// The next three are those at `x`.
    cost: f64,
    residuals: Vec<Row>,
    jacobian: Jacobian,
    /// The largest absolute value of the gradient at `x`.
    gradient: f64,

    /// Scales of the columns, so that parameters of different kinds compare. They are those of
    /// the start; the Jacobian and what is solved with it are scaled, `x` is not.
    scale: Parameters,
    /// The clamped diagonal of `JᵀJ`, and `D`.
    diagonal: Parameters,
    damping: Parameters,
    step: Parameters,
    candidate: Parameters,
    /// Rows of the step, then residuals of the candidate.
    rows: Vec<Row>,
    ey: Vec<Row>,
    partials: Vec<[f64; CAMERA_SIZE]>,
}

impl<'a> Minimizer<'a> {
    pub fn new(loops: &'a Loops<'a>, problem: &Problem, linear: LinearSolver) -> Self {
        let structure = loops.structure;
        let rows = vec![[0.0; 2]; structure.num_observations()];
        let zeros = Parameters::zeros(structure);
        Minimizer {
            loops,
            evaluator: Evaluator::new(),
            linear,
            region: TrustRegion::new(),
            invalid_steps: 0,
            x: Parameters {
                cameras: problem.cameras.clone(),
                points: problem.points.clone(),
            },
            cost: 0.0,
            residuals: rows.clone(),
            jacobian: Jacobian::new(structure),
            gradient: 0.0,
            scale: zeros.clone(),
            diagonal: zeros.clone(),
            damping: zeros.clone(),
            step: zeros.clone(),
            candidate: zeros,
            ey: rows.clone(),
            rows,
            partials: vec![[0.0; CAMERA_SIZE]; structure.num_segments()],
        }
    }

    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// The largest absolute value of the gradient.
    pub fn gradient(&self) -> f64 {
        self.gradient
    }

    /// The radius of the trust region.
    pub fn radius(&self) -> f64 {
        self.region.radius()
    }

    pub fn into_parameters(self) -> Parameters {
        self.x
    }

    /// Evaluates at the start and derives the scales from it.
    pub fn start(&mut self) -> Result<(), SolveError> {
        let structure = self.loops.structure;
        self.evaluate()
            .map_err(|NotFinite { observation }| SolveError::NotFinite {
                camera: structure.camera_of[observation],
                point: structure.point_of[observation],
            })?;
        if !self.cost.is_finite() {
            return Err(SolveError::Overflow);
        }
        let pool = self.loops.pool;
        let Self {
            jacobian,
            scale,
            partials,
            ..
        } = self;
        jacobian.squared_column_norms(self.loops, partials, scale);
        for scale in scale.flat_mut() {
            pool.for_each_mut(scale, |_, scale| *scale = 1.0 / (1.0 + scale.sqrt()));
        }
        self.scale_jacobian();
        Ok(())
    }

    /// Cost, residuals, derivatives and gradient at `x`. The Jacobian is left unscaled.
    fn evaluate(&mut self) -> Result<(), NotFinite> {
        let Self {
            loops,
            x,
            residuals,
            jacobian,
            partials,
            ..
        } = self;
        self.cost = self.evaluator.jacobian(loops, x, residuals, jacobian)?;
        // The next step overwrites it.
        let gradient = &mut self.candidate;
        jacobian.left_e(loops, residuals, &mut gradient.points);
        jacobian.left_f(loops, |o| residuals[o], partials, &mut gradient.cameras);
        self.gradient = gradient.max_norm(loops.pool);
        Ok(())
    }

    fn scale_jacobian(&mut self) {
        let Self {
            loops,
            jacobian,
            diagonal,
            partials,
            ..
        } = self;
        jacobian.scale_columns(loops, &self.scale);
        jacobian.squared_column_norms(loops, partials, diagonal);
        for diagonal in diagonal.flat_mut() {
            vector::clamp(loops.pool, MIN_DIAGONAL, MAX_DIAGONAL, diagonal);
        }
    }

    /// Why no further iteration makes sense, if so.
    pub fn standstill(&self) -> Option<Termination> {
        if self.gradient <= GRADIENT_TOLERANCE {
            Some(Termination::GradientTolerance)
        } else if self.region.is_exhausted() || self.invalid_steps >= MAX_CONSECUTIVE_INVALID_STEPS
        {
            Some(Termination::NoProgress)
        } else {
            None
        }
    }

    /// Computes a step, tries it, and takes it if it is good. Number and times of the iteration
    /// are for the caller to fill in.
    pub fn iterate(&mut self) -> (Iteration, Outcome) {
        let pool = self.loops.pool;
        let mut iteration = Iteration {
            number: 0,
            cost: self.cost,
            cost_change: 0.0,
            gradient: self.gradient,
            step: 0.0,
            ratio: 0.0,
            radius: 0.0,
            inner_iterations: 0,
            time: Duration::ZERO,
            total_time: Duration::ZERO,
        };
        let outcome = match self.compute_step() {
            None => {
                self.invalid_steps += 1;
                self.region.accepts(f64::NAN);
                Outcome::Invalid
            }
            Some((model_change, inner_iterations)) => {
                self.invalid_steps = 0;
                iteration.inner_iterations = inner_iterations;
                iteration.step = self.step.norm(pool);
                iteration.cost = self.try_step();
                iteration.cost_change = self.cost - iteration.cost;
                iteration.ratio = iteration.cost_change / model_change;
                let length = self.x.norm(pool);
                let tiny = PARAMETER_TOLERANCE * (length + PARAMETER_TOLERANCE);
                let taken = self.region.accepts(iteration.ratio);
                if taken && !self.take_step(iteration.cost) {
                    Outcome::NotDifferentiable
                } else if iteration.step <= tiny {
                    Outcome::TinyStep
                } else {
                    Outcome::Valid
                }
            }
        };
        iteration.gradient = self.gradient;
        iteration.radius = self.region.radius();
        (iteration, outcome)
    }

    /// Solves the linear system of this radius. Returns by how much the model falls along the
    /// step, and the inner iterations that it took. `step` is unscaled then.
    fn compute_step(&mut self) -> Option<(f64, usize)> {
        let Self {
            loops,
            jacobian,
            residuals,
            damping,
            step,
            rows,
            ey,
            ..
        } = self;
        let pool = loops.pool;
        for (diagonal, damping) in self.diagonal.flat().zip(damping.flat_mut()) {
            vector::sqrt_divide(pool, diagonal, self.region.radius(), damping);
        }
        let system = System {
            loops,
            jacobian,
            residuals,
            damping,
        };
        let inner_iterations = self.linear.solve(&system, step)?;
        step.negate(pool);

        // The model changes by rᵀJs + |Js|²/2.
        jacobian.right_f(loops, &step.cameras, rows);
        jacobian.right_e(loops, &step.points, ey);
        let (ey, place_of) = (&*ey, &loops.structure.place_of);
        pool.for_each_mut(rows, |o, row| {
            let ey = ey[place_of[o] as usize];
            *row = [row[0] + ey[0], row[1] + ey[1]];
        });
        let rows = rows.as_flattened();
        let linear = vector::dot(pool, rows, residuals.as_flattened());
        let model_change = -linear - 0.5 * vector::dot(pool, rows, rows);
        step.multiply(pool, &self.scale);
        (model_change > 0.0 && model_change.is_finite()).then_some((model_change, inner_iterations))
    }

    /// The cost after the step: infinite where there is none.
    fn try_step(&mut self) -> f64 {
        let Self {
            loops,
            candidate,
            rows,
            ..
        } = self;
        candidate.set_sum(loops.pool, &self.x, &self.step);
        self.evaluator
            .residuals(loops, candidate, rows)
            .unwrap_or(f64::INFINITY)
    }

    /// Moves to the candidate. Returns whether the derivatives are finite there.
    fn take_step(&mut self, cost: f64) -> bool {
        std::mem::swap(&mut self.x, &mut self.candidate);
        let differentiable = self.evaluate().is_ok();
        if differentiable {
            self.scale_jacobian();
        } else {
            self.cost = cost;
        }
        differentiable
    }
}
