//! What rayon programs do, timed with the original rayon-core and with conga's in its place. The program is
//! built twice from this one source, see `compat/bench/run`; the one with the original lets both take turns.
//!
//! | file | what |
//! |---|---|
//! | `cells` | what is measured, and the goals |
//! | `turn` | one turn in one cell, in a process of its own |
//! | `compare` | the interleaved rounds, the table, and `target/conga/rayon.csv` |

mod cells;
mod compare;
mod turn;

use std::process::ExitCode;

use compare::Plan;

const HELP: &str = "\
usage: compat/bench/run [--threads LIST] [--cells LIST] [--rounds N]

  --threads LIST  how many workers, separated by commas; default 1,2,4,8
  --cells LIST    the cells whose names begin with one of these; default all
  --rounds N      how often each takes its turn in each cell; default 5";

/// The first argument of a process that takes a turn, and prints nothing but its figures.
const TURN: &str = "--take-turn";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        [TURN, threads, cell] => turn::take(threads, cell),
        ["--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ["--patched", patched, ref options @ ..] => {
            Plan::parse(options).and_then(|plan| compare::compare(patched, &plan))
        }
        _ => Err("which program has the other rayon-core? compat/bench/run says it".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compat/bench: {error}\n\n{HELP}");
            ExitCode::FAILURE
        }
    }
}
