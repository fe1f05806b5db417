//! The method of Levenberg and Marquardt: iterations until something says stop.

use std::time::Instant;

use crate::bal::Problem;
use crate::linear_solver::LinearSolver;
use crate::loops::Loops;
use crate::minimizer::{Minimizer, Outcome};
use crate::summary::{Iteration, Options, SolveError, Summary, Termination};

/// Minimises half the sum of the squared residuals. `observe` is told of the start and of each
/// iteration.
pub fn solve(
    loops: &Loops,
    problem: &Problem,
    options: &Options,
    observe: &mut dyn FnMut(&Iteration),
) -> Result<Summary, SolveError> {
    let linear = LinearSolver::new(options.solver, options.linear, loops.structure)?;
    // What depends on the structure alone is not counted as time of the solve.
    let start = Instant::now();
    let mut minimizer = Minimizer::new(loops, problem, linear);
    minimizer.start()?;
    let initial_cost = minimizer.cost();

    let time = start.elapsed();
    let mut last = Iteration {
        number: 0,
        cost: initial_cost,
        cost_change: 0.0,
        gradient: minimizer.gradient(),
        step: 0.0,
        ratio: 0.0,
        radius: minimizer.radius(),
        inner_iterations: 0,
        time,
        total_time: time,
    };
    observe(&last);
    let mut inner_iterations = 0;
    let mut termination = minimizer.standstill();
    while termination.is_none() && last.number < options.max_iterations {
        let cost_before = minimizer.cost();
        let (mut iteration, outcome) = minimizer.iterate();
        iteration.number = last.number + 1;
        iteration.total_time = start.elapsed();
        iteration.time = iteration.total_time - last.total_time;
        observe(&iteration);
        inner_iterations += iteration.inner_iterations;
        last = iteration;

        let few = options.function_tolerance * cost_before;
        termination = match outcome {
            Outcome::NotDifferentiable => Some(Termination::NotDifferentiable),
            Outcome::TinyStep => Some(Termination::ParameterTolerance),
            Outcome::Valid if last.cost_change.abs() <= few => Some(Termination::FunctionTolerance),
            Outcome::Valid | Outcome::Invalid => minimizer.standstill(),
        };
    }
    Ok(Summary {
        initial_cost,
        final_cost: minimizer.cost(),
        iterations: last.number,
        inner_iterations,
        termination: termination.unwrap_or(Termination::MaxIterations),
        parameters: minimizer.into_parameters(),
        time: start.elapsed(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear_solver::Solver;
    use crate::pcg::Tolerance;
    use crate::structure::Structure;
    use crate::synthetic;
    use conga::{Dispatch, ThreadPool};

    fn options(solver: Solver) -> Options {
        Options {
            solver,
            linear: Tolerance {
                eta: 0.1,
                max_iterations: 500,
            },
            max_iterations: 50,
            function_tolerance: 1e-6,
        }
    }

    fn solve_with(problem: &Problem, pool: &ThreadPool, options: &Options) -> Summary {
        let structure = Structure::new(problem);
        let loops = Loops::new(pool, &structure);
        let mut numbers = Vec::new();
        let mut observe = |iteration: &Iteration| numbers.push(iteration.number);
        let summary = solve(&loops, problem, options, &mut observe).unwrap();
        assert!(numbers.into_iter().eq(0..=summary.iterations));
        summary
    }

    /// Catches a step that leads somewhere else than to the minimum. The pixels are exact, so
    /// the minimum is 0.
    #[test]
    fn both_solvers_find_the_minimum() {
        let problem = synthetic::problem(5, 300);
        let pool = ThreadPool::new(2).unwrap();
        for solver in [Solver::Dense, Solver::ConjugateGradients] {
            let summary = solve_with(&problem, &pool, &options(solver));
            assert!(summary.initial_cost > 1.0);
            assert!(
                summary.final_cost < 1e-6 * summary.initial_cost,
                "{summary:?}"
            );
        }
    }

    /// Catches any sum whose order depends on who ran what.
    #[test]
    fn the_bits_depend_on_neither_threads_nor_strategy() {
        let problem = synthetic::problem(4, 400);
        for solver in [Solver::Dense, Solver::ConjugateGradients] {
            let mut expected = None;
            for dispatch in [Dispatch::PerThread, Dispatch::Chained, Dispatch::Adaptive] {
                for threads in [1, 2, 4] {
                    let builder = ThreadPool::builder();
                    let pool = builder.num_threads(threads).dispatch(dispatch);
                    let mut options = options(solver);
                    options.max_iterations = 3;
                    let summary = solve_with(&problem, &pool.build().unwrap(), &options);
                    let bits = (summary.final_cost.to_bits(), summary.parameters.hash());
                    assert_eq!(
                        *expected.get_or_insert(bits),
                        bits,
                        "{dispatch:?} {threads}"
                    );
                }
            }
        }
    }

    /// Catches an endless loop or a failure where there is nothing left to do.
    #[test]
    fn starting_at_the_minimum_ends_at_once() {
        let mut problem = synthetic::problem(3, 30);
        for observation in &mut problem.observations {
            let camera = &problem.cameras[observation.camera as usize];
            let point = &problem.points[observation.point as usize];
            observation.pixel = crate::camera::Camera::new(camera).project(point);
        }
        let pool = ThreadPool::new(2).unwrap();
        let summary = solve_with(&problem, &pool, &options(Solver::ConjugateGradients));
        assert_eq!(summary.iterations, 0);
        assert_eq!(summary.termination, Termination::GradientTolerance);
    }

    /// Catches a panic, or a result made of NaN, where nothing can be computed at the start.
    #[test]
    fn a_start_that_is_not_finite_is_an_error() {
        let pool = ThreadPool::new(2).unwrap();
        let start = |problem: &Problem| {
            let structure = Structure::new(problem);
            let loops = Loops::new(&pool, &structure);
            let options = options(Solver::ConjugateGradients);
            solve(&loops, problem, &options, &mut |_| ()).err()
        };
        let mut problem = synthetic::problem(3, 30);
        problem.observations[4].pixel[0] = 1e200;
        assert_eq!(start(&problem), Some(SolveError::Overflow));
        let mut problem = synthetic::problem(3, 30);
        let (camera, point) = (
            problem.observations[4].camera,
            problem.observations[4].point,
        );
        problem.cameras[camera as usize][..6].fill(0.0);
        problem.points[point as usize] = [1.0, 1.0, 0.0];
        assert_eq!(
            start(&problem),
            Some(SolveError::NotFinite { camera, point })
        );
    }
}
