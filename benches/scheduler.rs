//! Ceres Solver's `SchedulerBenchmark`: what does it cost to start a loop that does next to
//! nothing?
//!
//! The body is `x[i] = 0`, the lengths and thread counts are Ceres's, and the calls follow each
//! other without a gap. Each is timed with the pool's three strategies.
//!
//! ```sh
//! cargo bench --bench scheduler              # criterion, the table, target/conga/scheduler.csv
//! cargo bench --bench scheduler -- 128/2     # criterion for these cells only; the whole table
//! cargo bench --bench scheduler -- --test    # every cell once, no figures
//! ```
//!
//! Criterion times one cell after the other, which is good for comparing two versions of the same
//! cell and bad for comparing strategies: the machine changes between them. The table and the file
//! therefore come from a loop of their own, in which the contenders of a cell take turns
//! (`scheduler/interleaved.rs`).

#[path = "scheduler/contender.rs"]
mod contender;
#[path = "scheduler/interleaved.rs"]
mod interleaved;
#[path = "scheduler/machine.rs"]
mod machine;
#[path = "scheduler/report.rs"]
mod report;

use std::cell::OnceCell;
use std::io;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};

use contender::{strategy_name, zero_on_pool, LENGTHS, STRATEGIES, THREADS};
use interleaved::Effort;

fn main() -> io::Result<()> {
    // 60 cells of 0.4 s and the table's 20 s have to fit in two minutes, with a margin for slow
    // machines and for the build. What the command line says overrides these.
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .nresamples(10_000)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    criterion_cells(&mut criterion);
    criterion.final_summary();

    match Mode::from_args(std::env::args().skip(1)) {
        Mode::Measure => {
            let effort = Effort::FULL;
            let cells = interleaved::measure(&effort);
            print!("\n{}", report::table(&cells, &effort));
            let path = report::write_csv(&cells)?;
            println!("\nwritten to {}", path.display());
        }
        Mode::Test => {
            let cells = interleaved::measure(&Effort::ONCE);
            let rows = report::csv(&cells).lines().count();
            assert_eq!(rows, 1 + cells.len() * STRATEGIES.len());
            assert!(!report::table(&cells, &Effort::ONCE).is_empty());
        }
        Mode::Nothing => {}
    }
    Ok(())
}

/// What is to be done after criterion's part.
enum Mode {
    /// Measure, print the table and write the file.
    Measure,
    /// Run each cell once, to see that it works.
    Test,
    /// Criterion was asked for something that needs no table.
    Nothing,
}

impl Mode {
    /// Reads criterion's own flags. Cargo passes `--bench` from `cargo bench` and not from `cargo
    /// test --benches`.
    fn from_args(args: impl Iterator<Item = String>) -> Mode {
        let (mut bench, mut test) = (false, false);
        for arg in args {
            match arg.split('=').next() {
                Some("--bench") => bench = true,
                Some("--test") => test = true,
                Some("--list" | "--profile-time") => return Mode::Nothing,
                _ => {}
            }
        }
        if bench && !test {
            Mode::Measure
        } else {
            Mode::Test
        }
    }
}

/// One criterion benchmark, `SchedulerBenchmark/<strategy>/<n>/<threads>`, for each cell.
fn criterion_cells(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("SchedulerBenchmark");
    for n in LENGTHS {
        for threads in THREADS {
            for dispatch in STRATEGIES {
                let id = BenchmarkId::new(strategy_name(dispatch), format!("{n}/{threads}"));
                // Criterion calls the closure once for each sample, so the pool is made outside of it:
                // every sample meets workers that have started. A cell that the filter leaves out
                // makes no pool.
                let pool = OnceCell::new();
                let mut x = contender::array(n);
                group.bench_function(id, |bencher| {
                    let pool = pool.get_or_init(|| contender::pool(threads));
                    bencher.iter(|| zero_on_pool(pool, dispatch, &mut x));
                });
            }
        }
    }
    group.finish();
}
