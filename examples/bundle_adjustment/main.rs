//! Bundle adjustment on conga: a real problem, solved as Ceres Solver solves it.
//!
//! ```text
//! cargo run --release --example bundle_adjustment -- --help
//! ```
//!
//! From the file to the result: `bal` reads a problem, `structure` sorts it, `camera` and `jet`
//! are what `residuals` evaluates, `jacobian` multiplies, `elimination` reduces the linear system
//! to that of the cameras, `pcg` or `dense` solves it, `minimizer` makes a step of the solution,
//! and `levenberg_marquardt` makes steps until there is a reason to stop.
//! `loops` is where sums over many observations are made in an order that does not depend on
//! the number of threads: all runs end with the same bits.

mod bal;
mod camera;
mod dense;
mod elimination;
mod jacobian;
mod jet;
mod levenberg_marquardt;
mod linear_solver;
mod loops;
mod minimizer;
mod options;
mod parameters;
mod pcg;
mod problem_error;
mod report;
mod residuals;
mod run_error;
mod spd;
mod structure;
mod summary;
#[cfg(test)]
mod synthetic;
mod tokens;
mod trust_region;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use conga::ThreadPool;

use bal::Problem;
use loops::Loops;
use options::{Arguments, Command, STRATEGIES};
use report::Run;
use run_error::RunError;
use structure::Structure;
use summary::{Iteration, Summary};

fn main() -> ExitCode {
    let command = match options::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            complain(&error);
            return ExitCode::from(2);
        }
    };
    let result = match command {
        Command::Help => print_help().map(|()| true),
        Command::Run(arguments) => compare(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.is_broken_pipe() => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn complain(error: &dyn fmt::Display) {
    // Not `eprintln!`, which panics where nothing can be written.
    let _ = writeln!(io::stderr(), "bundle_adjustment: {error}");
}

fn print_help() -> Result<(), RunError> {
    io::stdout().lock().write_all(options::HELP.as_bytes())?;
    Ok(())
}

/// Solves the problem once for each strategy and number of threads. Returns whether all results
/// have the same bits.
fn compare(arguments: &Arguments) -> Result<bool, RunError> {
    let problem = match &arguments.problem {
        Some(path) => Problem::open(path)?,
        None => Problem::built_in()?,
    };
    let structure = Structure::new(&problem);
    let out = &mut io::stdout().lock();
    report::problem(out, &problem)?;

    let mut first_bits = None;
    let mut all_same = true;
    for &strategy in &arguments.strategies {
        for &threads in &arguments.threads {
            let (name, dispatch) = STRATEGIES[strategy];
            let builder = ThreadPool::builder().num_threads(threads);
            let pool = builder
                .dispatch(dispatch)
                .build()
                .map_err(|error| RunError::Pool(threads, error))?;
            if pool.num_threads() < threads {
                let got = pool.num_threads();
                writeln!(out, "only {got} of {threads} threads could be started:")?;
            }
            let loops = Loops::new(&pool, &structure);
            let before = pool.stats();
            let summary = if first_bits.is_none() {
                solve_and_print(out, &loops, &problem, arguments, (name, threads))?
            } else {
                let silent = &mut |_: &Iteration| ();
                solve(&loops, &problem, arguments, silent)?
            };
            let bits = (summary.final_cost.to_bits(), summary.parameters.hash());
            let same_bits = *first_bits.get_or_insert(bits) == bits;
            all_same &= same_bits;
            let stats = (before, pool.stats());
            report::run(out, &Run::new(name, threads, stats, &summary, same_bits))?;
        }
    }
    let runs = arguments.strategies.len() * arguments.threads.len();
    report::footnote(out)?;
    report::verdict(out, runs, all_same)?;
    Ok(all_same)
}

/// Solves with a line for each iteration, and then begins the table.
fn solve_and_print(
    out: &mut impl Write,
    loops: &Loops,
    problem: &Problem,
    arguments: &Arguments,
    (strategy, threads): (&str, usize),
) -> Result<Summary, RunError> {
    writeln!(out, "\n{strategy}, threads: {threads}")?;
    report::iteration_header(out)?;
    let mut printed = Ok(());
    let mut observe = |iteration: &Iteration| {
        if printed.is_ok() {
            printed = report::iteration(out, iteration);
        }
    };
    let summary = solve(loops, problem, arguments, &mut observe)?;
    printed?;
    report::summary(out, &summary)?;
    writeln!(out)?;
    report::run_header(out)?;
    Ok(summary)
}

fn solve(
    loops: &Loops,
    problem: &Problem,
    arguments: &Arguments,
    observe: &mut dyn FnMut(&Iteration),
) -> Result<Summary, RunError> {
    levenberg_marquardt::solve(loops, problem, &arguments.options, observe)
        .map_err(|error| RunError::Solve(problem.name.clone(), error))
}
