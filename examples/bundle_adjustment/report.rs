//! What is printed.

use std::io::{self, Write};
use std::time::Duration;

use conga::Stats;

use crate::bal::Problem;
use crate::summary::{Iteration, Summary};

pub fn problem(out: &mut impl Write, problem: &Problem) -> io::Result<()> {
    writeln!(
        out,
        "{}: {} cameras, {} points, {} observations",
        problem.name,
        problem.cameras.len(),
        problem.points.len(),
        problem.observations.len()
    )
}

/// The columns are those that Ceres Solver prints.
pub fn iteration_header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "iter          cost  cost_change  |gradient|    |step|   tr_ratio  tr_radius  ls_iter  \
         iter_time  total_time"
    )
}

pub fn iteration(out: &mut impl Write, i: &Iteration) -> io::Result<()> {
    writeln!(
        out,
        "{:4}  {:>12}  {:>11}  {:>10}  {:>8}  {:>9}  {:>9}  {:>7}  {:>9}  {:>10}",
        i.number,
        scientific(i.cost, 6),
        scientific(i.cost_change, 2),
        scientific(i.gradient, 2),
        scientific(i.step, 2),
        scientific(i.ratio, 2),
        scientific(i.radius, 2),
        i.inner_iterations,
        scientific(i.time.as_secs_f64(), 2),
        scientific(i.total_time.as_secs_f64(), 2),
    )
}

pub fn summary(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(
        out,
        "cost {} -> {} in {} iterations ({} inner); {}",
        scientific(summary.initial_cost, 6),
        scientific(summary.final_cost, 4),
        summary.iterations,
        summary.inner_iterations,
        summary.termination
    )
}

/// One run of the table.
pub struct Run<'a> {
    pub strategy: &'a str,
    pub threads: usize,
    pub time: Duration,
    /// What the pool counted during the run.
    pub loops: u64,
    pub wake_ups: u64,
    pub final_cost: f64,
    pub same_bits: bool,
}

impl<'a> Run<'a> {
    pub fn new(
        strategy: &'a str,
        threads: usize,
        (before, after): (Stats, Stats),
        summary: &Summary,
        same_bits: bool,
    ) -> Self {
        Run {
            strategy,
            threads,
            time: summary.time,
            loops: after.loops - before.loops,
            wake_ups: after.wake_ups - before.wake_ups,
            final_cost: summary.final_cost,
            same_bits,
        }
    }
}

pub fn run_header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "strategy    threads     total time    loops  loops/s  wake-ups/loop  final cost  \
         same bits"
    )
}

pub fn run(out: &mut impl Write, run: &Run) -> io::Result<()> {
    let seconds = run.time.as_secs_f64();
    let (rate, wake_ups) = match run.loops {
        0 => ("-".into(), "-".into()),
        loops => (
            format!("{:.0}", loops as f64 / seconds),
            format!("{:.3}", run.wake_ups as f64 / loops as f64),
        ),
    };
    writeln!(
        out,
        "{:10}  {:7}  {:10.1} ms  {:7}  {rate:>7}  {wake_ups:>13}  {:>10}  {:>9}",
        run.strategy,
        run.threads,
        1e3 * seconds,
        run.loops,
        scientific(run.final_cost, 4),
        if run.same_bits { "yes" } else { "NO" },
    )?;
    // Each row as soon as it is known: the table is the progress.
    out.flush()
}

/// What the reader of the table has to know.
pub fn footnote(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "loops: those open to other threads. With one thread there are none, and loops that are \
         too short to be cut are never counted."
    )
}

pub fn verdict(out: &mut impl Write, runs: usize, same_bits: bool) -> io::Result<()> {
    match (runs, same_bits) {
        (1, _) => Ok(()),
        (_, true) => writeln!(out, "all {runs} results have the same bits"),
        (_, false) => writeln!(out, "NOT all of the {runs} results have the same bits"),
    }
}

/// As C prints `%.*e`: an exponent with a sign and two digits at least.
fn scientific(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{exponent:0>2}")
        }
        // Infinity or NaN.
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches exponents as Rust prints them.
    #[test]
    fn numbers_look_as_c_prints_them() {
        for (x, text) in [
            (4_185_660.25, "4.19e+06"),
            (0.0, "0.00e+00"),
            (-1.5e-7, "-1.50e-07"),
            (1e-123, "1.00e-123"),
            (1.0, "1.00e+00"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(scientific(x, 2), text);
        }
    }
}
