//! conga beside other thread pools, over a grid of workloads, lengths, thread counts and gaps
//! between calls.
//!
//! | file | what |
//! |---|---|
//! | `args` | the command line |
//! | `grid` | the axes, and which cells are measured |
//! | `workloads` | what the loops do |
//! | `contenders` | the pools, each used as its documentation recommends |
//! | `turn` | one contender's turn in one cell, in a process of its own |
//! | `measure` | the interleaved rounds |
//! | `regret` | what the figures mean, and the goals |
//! | `report` | the tables, the verdict, and `target/conga/peers.csv` |

mod args;
mod contenders;
mod grid;
#[path = "../../scheduler/machine.rs"]
mod machine;
mod measure;
mod regret;
mod report;
mod turn;
mod workloads;

use std::io;
use std::process::ExitCode;

use args::Args;
use measure::{Effort, Measured};

/// The first argument of a process that takes a turn, and prints nothing but its figure.
const TURN: &str = "--take-turn";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == TURN) {
        turn::main(&args[1..]);
        return ExitCode::SUCCESS;
    }
    let outcome = match Args::parse(&args) {
        Ok(args) if args.help => {
            println!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(args) => run(&args).map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<()> {
    if cfg!(debug_assertions) {
        eprintln!("peers: built without --release: these figures mean nothing");
    }
    let effort = if args.selection.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let cells = args.selection.cells();
    if cells.is_empty() {
        return Err(io::Error::other(
            "no cell of the grid is all of that: work and skew go up to --n 1024",
        ));
    }
    let iterations = workloads::iterations_per_microsecond();
    let mut measured = measure::measure(&cells, &args.pools, &effort, iterations)?;
    if args.retry {
        retry(&mut measured, args, &effort, iterations)?;
    }

    println!("{}", report::tables(&measured, &effort));
    println!("{}", report::verdict(&measured));
    println!("written to {}", report::write_csv(&measured)?.display());
    Ok(())
}

/// Measures the cells that miss their goal three more times. Each contender's median over the four
/// measurements counts, conga's and the peers' alike, whether that makes the cell better or worse.
fn retry(
    measured: &mut [Measured],
    args: &Args,
    effort: &Effort,
    iterations: u64,
) -> io::Result<()> {
    let mut again: Vec<&mut Measured> = measured
        .iter_mut()
        .filter(|m| !m.misses().is_empty())
        .collect();
    let cells: Vec<grid::Cell> = again.iter().map(|m| m.cell).collect();
    let mut measurements: Vec<Vec<Measured>> = again.iter().map(|m| vec![(*m).clone()]).collect();
    for time in 1..=3 {
        eprintln!("measuring {} cells again, {time} of 3", cells.len());
        let once_more = measure::measure(&cells, &args.pools, effort, iterations)?;
        for (measurements, measured) in measurements.iter_mut().zip(once_more) {
            measurements.push(measured);
        }
    }
    for (cell, measurements) in again.iter_mut().zip(&measurements) {
        **cell = measure::combine(measurements);
    }
    Ok(())
}
