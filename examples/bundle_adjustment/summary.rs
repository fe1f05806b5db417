//! What goes into a solve and what comes out of it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::dense::TooLarge;
use crate::linear_solver::Solver;
use crate::parameters::Parameters;
use crate::pcg::Tolerance;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub solver: Solver,
    /// For conjugate gradients.
    pub linear: Tolerance,
    pub max_iterations: usize,
    /// Stop when the cost changes by no more than this fraction.
    pub function_tolerance: f64,
}

/// What is known after an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    pub number: usize,
    /// At the point that was tried, whether it was taken or not.
    pub cost: f64,
    /// By how much the cost is lower than before.
    pub cost_change: f64,
    /// The largest absolute value of the gradient, where the method now stands.
    pub gradient: f64,
    /// The length of the step.
    pub step: f64,
    /// The cost change relative to that of the model.
    pub ratio: f64,
    pub radius: f64,
    pub inner_iterations: usize,
    pub time: Duration,
    /// Since the solve began.
    pub total_time: Duration,
}

/// Why a solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Termination {
    FunctionTolerance,
    GradientTolerance,
    ParameterTolerance,
    MaxIterations,
    /// The trust region became too small, or several steps in a row could not be computed.
    NoProgress,
    /// The last step led to where a derivative is not finite.
    NotDifferentiable,
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Termination::FunctionTolerance => "converged: the cost hardly changes any more",
            Termination::GradientTolerance => "converged: the gradient is zero",
            Termination::ParameterTolerance => "converged: the parameters hardly change any more",
            Termination::MaxIterations => "not converged: the limit of iterations is reached",
            Termination::NoProgress => "not converged: no step lowers the cost",
            Termination::NotDifferentiable => "not converged: a derivative is not finite",
        })
    }
}

/// The result of a solve.
#[derive(Clone, Debug)]
pub struct Summary {
    pub initial_cost: f64,
    pub final_cost: f64,
    pub iterations: usize,
    /// In all iterations together.
    pub inner_iterations: usize,
    pub termination: Termination,
    pub parameters: Parameters,
    pub time: Duration,
}

/// Why there is no result at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SolveError {
    /// The residual of this camera and point, or a derivative of it, is not finite at the
    /// start.
    NotFinite {
        camera: u32,
        point: u32,
    },
    /// The cost at the start is too large for a number.
    Overflow,
    TooLarge(TooLarge),
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolveError::NotFinite { camera, point } => write!(
                f,
                "cannot start: where camera {camera} sees point {point} is not a finite number; \
                 move the point out of the plane of the camera, or remove the observation"
            ),
            SolveError::Overflow => write!(
                f,
                "cannot start: the sum of the squared residuals is too large for a number; \
                 give cameras and points closer to a solution"
            ),
            SolveError::TooLarge(TooLarge { cameras, bytes }) => write!(
                f,
                "cannot form the reduced camera matrix: for {cameras} cameras it takes {} MiB; \
                 use --solver cg",
                bytes >> 20
            ),
        }
    }
}

impl Error for SolveError {}

impl From<TooLarge> for SolveError {
    fn from(error: TooLarge) -> Self {
        SolveError::TooLarge(error)
    }
}
