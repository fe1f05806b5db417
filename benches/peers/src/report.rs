//! The table and the verdict on standard output, and the file `target/conga/peers.csv`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::grid::{Workload, GAPS, THREADS};
use crate::machine;
use crate::measure::{Effort, Measured};
use crate::regret::{
    light_goal, median_and_worst, regrets, CPU_RATIO, REGRET, REGRET_AT_WORST, SHARE,
};
use crate::turn::LIMIT;

/// All figures, one line each.
pub fn csv(cells: &[Measured]) -> String {
    let mut text = String::from("workload,n,threads,gap_us,pool,ns,cpu_ns\n");
    for Measured { cell, figures } in cells {
        for (pool, figure) in figures {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{},{},{pool},{:.1},{:.1}",
                cell.workload, cell.n, cell.threads, cell.gap_us, figure.ns, figure.cpu_ns
            );
        }
    }
    text
}

/// Writes [`csv`] to `target/conga/peers.csv` in conga's directory, and returns its path.
pub fn write_csv(cells: &[Measured]) -> io::Result<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/conga");
    fs::create_dir_all(&directory)?;
    let path = directory.canonicalize()?.join("peers.csv");
    fs::write(&path, csv(cells))?;
    Ok(path)
}

/// One table for each workload and gap: a row for each length and number of threads, a column for
/// each contender.
pub fn tables(cells: &[Measured], effort: &Effort) -> String {
    let mut text = format!(
        "{}; medians of {} interleaved rounds, each turn a process of its own\n\
         Nanoseconds per call. regret: conga_adaptive / best of serial and all other pools. \
         {} s: ended by then.\n",
        machine::describe(),
        effort.rounds,
        LIMIT.as_secs()
    );
    for workload in Workload::ALL {
        for gap_us in GAPS {
            let of_table = |m: &&Measured| m.cell.workload == workload && m.cell.gap_us == gap_us;
            let cells: Vec<&Measured> = cells.iter().filter(of_table).collect();
            let Some(first) = cells.first() else { continue };

            let mut header = vec!["n".to_owned(), "threads".to_owned()];
            header.extend(first.figures.iter().map(|(pool, _)| pool.to_string()));
            header.extend(["regret", "best"].map(String::from));
            let mut rows = vec![header];
            for m in cells {
                let mut row = vec![m.cell.n.to_string(), m.cell.threads.to_string()];
                row.extend(m.figures.iter().map(|(_, figure)| nanoseconds(figure.ns)));
                row.push(format!("{:.2}", m.regret()));
                row.push(m.best().0.to_string());
                rows.push(row);
            }
            let _ = write!(
                text,
                "\n{workload}, gap {gap_us} µs, turns of {} ms\n{}",
                effort.measured(gap_us).as_millis(),
                markdown(&rows)
            );
        }
    }
    text
}

/// A Markdown table with aligned columns. The first row is the header.
fn markdown(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).filter_map(width).collect();
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();

    let mut text = String::new();
    for row in rows[..1].iter().chain([&rule]).chain(&rows[1..]) {
        for (field, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {field:>width$} ");
        }
        text.push_str("|\n");
    }
    text
}

/// One decimal below 100.
fn nanoseconds(ns: f64) -> String {
    if ns >= LIMIT.as_nanos() as f64 {
        format!("{} s", LIMIT.as_secs())
    } else if ns < 99.95 {
        format!("{ns:.1}")
    } else {
        format!("{ns:.0}")
    }
}

/// Every goal with what was reached, and every cell that loses.
pub fn verdict(cells: &[Measured]) -> String {
    let mut text = String::new();
    let mut line = |s: String| {
        text.push_str(&s);
        text.push('\n');
    };

    match regrets(cells) {
        Some(r) => {
            line(format!("{} cells with serial >= 1 µs:", r.cells));
            line(format!(
                "  regret <= {REGRET:.2} in {:.1} % (goal {} %: {})",
                100.0 * r.within,
                100.0 * SHARE,
                met(r.within >= SHARE)
            ));
            line(format!(
                "  maximum {:.2} (goal {REGRET_AT_WORST:.2}: {})",
                r.maximum,
                met(r.maximum <= REGRET_AT_WORST)
            ));
            line(if r.geometric_mean.is_nan() {
                "  no cell with 2 threads or more, so no geometric mean".to_owned()
            } else {
                format!(
                    "  geometric mean with 2 threads or more {:.3} (goal 1.00, aim 0.95: {})",
                    r.geometric_mean,
                    met(r.geometric_mean <= 1.0)
                )
            });
        }
        None => line("no cells with serial >= 1 µs".to_owned()),
    }

    for gap_us in GAPS {
        let light = |m: &&Measured| m.is_light() && m.cell.gap_us == gap_us;
        let light: Vec<&Measured> = cells.iter().filter(light).collect();
        for threads in THREADS {
            let of_threads = light.iter().copied().filter(|m| m.cell.threads == threads);
            let Some((median, worst)) = median_and_worst(of_threads, Measured::overhead) else {
                continue;
            };
            let goal = light_goal(gap_us).map_or("no goal".to_owned(), |goal| {
                let reached = median <= goal.0 && worst <= goal.1;
                format!("goals {} and {}: {}", goal.0, goal.1, met(reached))
            });
            line(format!(
                "light cells, gap {gap_us:4} µs, threads {threads:2}: adaptive - serial \
                 {median:4.0} ns in the median, {worst:4.0} ns at worst ({goal})"
            ));
        }
    }

    let asleep = cells.iter().filter(|m| m.cell.gap_us == 1000);
    if let Some((median, worst)) = median_and_worst(asleep, Measured::cpu_ratio) {
        line(format!(
            "CPU time, gap 1000 µs: {median:.2} times that of serial in the median, {worst:.2} at \
             worst (goal {CPU_RATIO}: {})",
            met(worst <= CPU_RATIO)
        ));
    }

    let missing: Vec<&Measured> = cells.iter().filter(|m| !m.misses().is_empty()).collect();
    line(format!(
        "\n{} of {} cells miss a goal",
        missing.len(),
        cells.len()
    ));
    for m in missing {
        line(format!("  {}: {}", m.cell, m.misses().join("; ")));
    }

    let loses = |m: &&Measured| !m.is_light() && m.regret() > 1.0 && m.regret() <= REGRET;
    let losing: Vec<&Measured> = cells.iter().filter(loses).collect();
    line(format!("\n{} cells lose, within the goal", losing.len()));
    for m in losing {
        let (pool, ns) = m.best();
        line(format!(
            "  {}: regret {:.2}: {:.0} ns, {pool} {ns:.0} ns",
            m.cell,
            m.regret(),
            m.adaptive().ns
        ));
    }
    text
}

fn met(reached: bool) -> &'static str {
    if reached {
        "met"
    } else {
        "missed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::Pool;
    use crate::grid::Cell;
    use crate::turn::Figure;

    /// The format that scripts read.
    #[test]
    fn a_line_of_the_file() {
        let cells = [Measured {
            cell: Cell {
                workload: Workload::Dot,
                n: 8,
                threads: 2,
                gap_us: 20,
            },
            figures: vec![(
                Pool::RayonInstall,
                Figure {
                    ns: 1.25,
                    cpu_ns: 2500.0,
                },
            )],
        }];
        assert_eq!(
            csv(&cells),
            "workload,n,threads,gap_us,pool,ns,cpu_ns\ndot,8,2,20,rayon_install,1.2,2500.0\n"
        );
    }
}
