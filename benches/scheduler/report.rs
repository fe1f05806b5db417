//! The table on stdout and the file `target/conga/scheduler.csv`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::contender::{strategy_name, LENGTHS, STRATEGIES, THREADS};
use crate::interleaved::{Cell, Effort};
use crate::machine;

/// Ceres's published figures for the same grid, in nanoseconds: one task per thread, and chained.
/// They were taken on 28 cores with 56 hardware threads.
const CERES: [[(f64, f64); THREADS.len()]; LENGTHS.len()] = [
    [
        (14.1, 14.1),
        (3965.0, 2411.0),
        (13162.0, 3556.0),
        (30643.0, 4346.0),
        (63694.0, 5066.0),
    ],
    [
        (24.1, 24.2),
        (3878.0, 2330.0),
        (13293.0, 3864.0),
        (31117.0, 4399.0),
        (59503.0, 5111.0),
    ],
    [
        (56.7, 55.9),
        (4346.0, 2541.0),
        (13487.0, 3977.0),
        (30982.0, 4607.0),
        (63199.0, 5031.0),
    ],
    [
        (189.0, 188.0),
        (5932.0, 4203.0),
        (14784.0, 4832.0),
        (35857.0, 5605.0),
        (63934.0, 6425.0),
    ],
];

/// The table, one column for each thread count: for each length the strategies, the plain loop and
/// Ceres's figures.
pub fn table(cells: &[Cell], effort: &Effort) -> String {
    let mut rows = vec![row(
        "n \\ threads",
        THREADS.map(|threads| threads.to_string()),
    )];
    for ((n, cells), ceres) in LENGTHS.iter().zip(cells.chunks(THREADS.len())).zip(CERES) {
        let cells = cells.iter();
        rows.push(row(
            &n.to_string(),
            cells.clone().map(|c| arrows(&c.strategies)),
        ));
        rows.push(row(
            &format!("{n}, plain loop"),
            cells.map(|c| arrows(&[c.serial])),
        ));
        rows.push(row(
            &format!("{n}, Ceres"),
            ceres.map(|(old, new)| arrows(&[old, new])),
        ));
    }

    format!(
        "SchedulerBenchmark, x[i] = 0, no gap between calls, nanoseconds per call:\n\
         per thread → chained → adaptive\n\
         Here: {}; medians of {} interleaved rounds of {} ms\n\
         Ceres: published, on 28 cores with 56 hardware threads, one task per thread → chained\n\n{}",
        machine::describe(),
        effort.rounds,
        effort.turn.as_millis(),
        markdown(&rows),
    )
}

/// A Markdown table with aligned columns. The first row is the header.
fn markdown(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).filter_map(width).collect();
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();

    let mut text = String::new();
    for row in rows[..1].iter().chain([&rule]).chain(&rows[1..]) {
        for (field, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(text, "| {field:width$} ");
        }
        text.push_str("|\n");
    }
    text
}

fn row(label: &str, fields: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(label.to_owned()).chain(fields).collect()
}

/// Figures as the table shows them: one decimal below 100.
fn arrows(figures: &[f64]) -> String {
    let figures: Vec<String> = figures
        .iter()
        .map(|&ns| {
            if ns < 99.95 {
                format!("{ns:.1}")
            } else {
                format!("{ns:.0}")
            }
        })
        .collect();
    figures.join(" → ")
}

/// The strategies' figures, one line each, under the header `n,threads,dispatch,ns`.
pub fn csv(cells: &[Cell]) -> String {
    let mut text = String::from("n,threads,dispatch,ns\n");
    for cell in cells {
        for (dispatch, ns) in STRATEGIES.into_iter().zip(cell.strategies) {
            let _ = writeln!(
                text,
                "{},{},{},{ns:.1}",
                cell.n,
                cell.threads,
                strategy_name(dispatch)
            );
        }
    }
    text
}

/// Writes [`csv`] to `conga/scheduler.csv` in Cargo's target directory, and returns its path.
pub fn write_csv(cells: &[Cell]) -> io::Result<PathBuf> {
    let target = match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
    };
    let directory = target.join("conga");
    fs::create_dir_all(&directory)?;
    let path = directory.join("scheduler.csv");
    fs::write(&path, csv(cells))?;
    Ok(path)
}
