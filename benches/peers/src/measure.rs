//! The interleaved rounds: in each round every contender of a cell has one turn, and the median
//! over the rounds counts.
//!
//! A turn is a process of its own, which ends with it. So no contender's threads disturb another
//! one's turn, whether they sleep, spin through a millisecond (libgomp), spin for ever (forkunion)
//! or beat in the background (chili); pools that pin the calling thread, or exist once in a
//! process, need no special care; libgomp reads its environment at its start; and one that hangs is
//! ended without harm. A slow spell of the machine hits all contenders of a cell, and a single one
//! cannot move a median.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::contenders::Pool;
use crate::grid::Cell;
use crate::turn::{Figure, Turn, LIMIT};

/// How much time is spent on a figure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Turns of each contender.
    pub rounds: usize,
    quick: bool,
}

impl Effort {
    /// A turn's process takes 4 ms beside its measured part and its warm-up. 370 cells × 17
    /// contenders × 5 rounds × 54 to 64 ms: 30 minutes, and some more for calls that outlast a turn.
    pub const FULL: Effort = Effort {
        rounds: 5,
        quick: false,
    };

    /// 84 cells × 17 contenders × 5 rounds × 13 to 24 ms: 2 minutes, and some more as above.
    pub const QUICK: Effort = Effort {
        rounds: 5,
        quick: true,
    };

    /// The measured part of a turn.
    pub fn measured(&self, gap_us: u64) -> Duration {
        Duration::from_millis(match (self.quick, gap_us) {
            (false, _) => 40,
            (true, 1000) => 12,
            (true, _) => 6,
        })
    }

    /// The part before it. Calls are rarer where there are gaps, and what is learnt from call to
    /// call takes as many of them.
    fn warm_up(&self, gap_us: u64) -> Duration {
        Duration::from_millis(match (self.quick, gap_us) {
            (false, 1000) => 20,
            (false, _) => 10,
            (true, 1000) => 8,
            (true, _) => 3,
        })
    }
}

/// A cell's figures, each the median over the rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub cell: Cell,
    /// In the order of the table's columns.
    pub figures: Vec<(Pool, Figure)>,
}

/// Measures all cells, with a line on standard error for each.
pub fn measure(
    cells: &[Cell],
    pools: &[Pool],
    effort: &Effort,
    iterations: u64,
) -> io::Result<Vec<Measured>> {
    let start = Instant::now();
    let mut measured = Vec::with_capacity(cells.len());
    for &cell in cells {
        measured.push(measure_cell(cell, pools, effort, iterations)?);
        let (done, all) = (measured.len(), cells.len());
        let left = start.elapsed().as_secs_f64() * (all - done) as f64 / done as f64;
        eprintln!("{done:3} of {all}: {cell}; {:.1} minutes left", left / 60.0);
    }
    Ok(measured)
}

fn measure_cell(
    cell: Cell,
    pools: &[Pool],
    effort: &Effort,
    iterations: u64,
) -> io::Result<Measured> {
    let turn = Turn {
        cell,
        iterations,
        warm_up: effort.warm_up(cell.gap_us),
        measured: effort.measured(cell.gap_us),
    };
    let mut turns: Vec<Vec<Figure>> = vec![Vec::new(); pools.len()];
    for round in 0..effort.rounds {
        // Each round starts with another contender, so that none always follows the same one.
        for k in 0..pools.len() {
            let contender = (round + k) % pools.len();
            let turns = &mut turns[contender];
            // Once may have been the machine; twice is enough to know.
            if turns.iter().filter(|&&turn| turn == AT_THE_LIMIT).count() < 2 {
                turns.push(take_turn(pools[contender], turn)?.unwrap_or(AT_THE_LIMIT));
            }
        }
    }
    Ok(Measured {
        cell,
        figures: pools
            .iter()
            .copied()
            .zip(turns.iter().map(|t| median_figure(t)))
            .collect(),
    })
}

/// What stands in the table for a contender that was ended: it takes at least that long.
const AT_THE_LIMIT: Figure = Figure {
    ns: LIMIT.as_nanos() as f64,
    cpu_ns: LIMIT.as_nanos() as f64,
};

/// Starts the process for one turn and waits until it has ended. `None` if it took too long.
fn take_turn(pool: Pool, turn: Turn) -> io::Result<Option<Figure>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(crate::TURN).args(turn.to_args(pool));
    // What the caller's environment says about pools would hit some contenders and not others.
    for name in [
        "CONGA_NUM_THREADS",
        "CONGA_SPIN_US",
        "GOMP_CPU_AFFINITY",
        "GOMP_SPINCOUNT",
        "OMP_DYNAMIC",
        "OMP_NUM_THREADS",
        "OMP_PLACES",
        "OMP_PROC_BIND",
        "OMP_THREAD_LIMIT",
        "OMP_WAIT_POLICY",
        "ORX_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ] {
        command.env_remove(name);
    }
    command.envs(pool.environment());

    let output = command.stderr(Stdio::inherit()).output()?;
    read_turn(output.status, &output.stdout)
        .map_err(|error| io::Error::other(format!("{pool}, {}: {error}", turn.cell)))
}

/// What has become of a turn's process. `None` if it was ended because it took too long.
fn read_turn(status: ExitStatus, stdout: &[u8]) -> Result<Option<Figure>, String> {
    if status.signal() == Some(libc::SIGALRM) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(stdout);
    let words = text.split_whitespace();
    let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [ns, cpu_ns] if status.success() => Ok(Some(Figure { ns, cpu_ns })),
        _ => Err(format!(
            "the process for its turn printed {text:?} instead of two figures and ended with \
             {status}; --pools can leave the contender out"
        )),
    }
}

/// Replaces the figures of a cell by the medians over several measurements of it.
pub fn combine(measurements: &[Measured]) -> Measured {
    let mut combined = measurements[0].clone();
    for (k, (_, figure)) in combined.figures.iter_mut().enumerate() {
        let all: Vec<Figure> = measurements.iter().map(|m| m.figures[k].1).collect();
        *figure = median_figure(&all);
    }
    combined
}

fn median_figure(figures: &[Figure]) -> Figure {
    Figure {
        ns: median(figures.iter().map(|f| f.ns)).unwrap_or(f64::NAN),
        cpu_ns: median(figures.iter().map(|f| f.cpu_ns)).unwrap_or(f64::NAN),
    }
}

/// The middle figure, or the mean of the two in the middle. `None` of none.
pub fn median(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    let lower = figures[(figures.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A collapse that ends the run, or a crash that passes for one.
    #[test]
    fn a_turn_ends_in_one_of_three_ways() {
        let ended_by = ExitStatus::from_raw;
        let figure = Figure {
            ns: 1.5,
            cpu_ns: 3.0,
        };
        assert_eq!(read_turn(ended_by(0), b"1.5 3\n"), Ok(Some(figure)));
        assert_eq!(read_turn(ended_by(libc::SIGALRM), b""), Ok(None));
        assert!(read_turn(ended_by(libc::SIGSEGV), b"").is_err());
        assert!(read_turn(ended_by(0), b"1.5").is_err());
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 9.0, 2.0].into_iter()), Some(3.0));
    }
}
