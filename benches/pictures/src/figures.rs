//! What has been measured, in the types that the measuring package's `regret.rs` is written for.

use std::collections::BTreeSet;

use crate::contenders::Pool;
use crate::grid::{Cell, Workload};

/// Nanoseconds per call. What is missing is not a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    pub ns: f64,
    pub cpu_ns: f64,
}

/// A cell's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub cell: Cell,
    pub figures: Vec<(Pool, Figure)>,
}

/// Whether a figure has a place on a logarithmic axis.
pub fn is_drawable(figure: f64) -> bool {
    figure.is_finite() && figure > 0.0
}

/// The middle figure, or the mean of the two in the middle. `None` of none.
pub fn median(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    let lower = figures[(figures.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// A pool's figures over the length, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub pool: Pool,
    pub points: Vec<(usize, f64)>,
}

/// The lines of the cells with this workload, number of threads and gap, one for each pool that has
/// something to draw, in the order of the tables.
pub fn lines(
    cells: &[Measured],
    (workload, threads, gap_us): (Workload, usize, u64),
    figure: impl Fn(&Measured, Pool) -> f64,
) -> Vec<Line> {
    let mut cells: Vec<&Measured> = cells
        .iter()
        .filter(|m| {
            let cell = m.cell;
            (cell.workload, cell.threads, cell.gap_us) == (workload, threads, gap_us)
        })
        .collect();
    cells.sort_by_key(|m| m.cell.n);
    Pool::NAMES
        .iter()
        .map(|&(pool, _)| Line {
            pool,
            points: cells
                .iter()
                .map(|m| (m.cell.n, figure(m, pool)))
                .filter(|&(_, figure)| is_drawable(figure))
                .collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect()
}

/// The pools that have lines, in the order of the tables.
pub fn pools<'l>(lines: impl Iterator<Item = &'l Line>) -> Vec<Pool> {
    let drawn: Vec<Pool> = lines.map(|line| line.pool).collect();
    let all = Pool::NAMES.into_iter().map(|(pool, _)| pool);
    all.filter(|pool| drawn.contains(pool)).collect()
}

/// The values of an axis of the grid, in ascending order.
pub fn axis<T: Ord>(cells: &[Measured], value: impl Fn(&Cell) -> T) -> Vec<T> {
    let values: BTreeSet<T> = cells.iter().map(|m| value(&m.cell)).collect();
    values.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 9.0, 2.0].into_iter()), Some(3.0));
    }

    /// A line that goes back and forth, has a hole in its values, or is there without any.
    #[test]
    fn lines_hold_what_can_be_drawn() {
        let measured = |n: usize, serial: f64, chili: f64| Measured {
            cell: Cell {
                workload: Workload::Dot,
                n,
                threads: 2,
                gap_us: 0,
            },
            figures: [(Pool::Serial, serial), (Pool::Chili, chili)]
                .map(|(pool, ns)| (pool, Figure { ns, cpu_ns: ns }))
                .to_vec(),
        };
        let cells = [
            measured(64, 4.0, f64::NAN),
            measured(1, 2.0, 0.0),
            measured(8, f64::NAN, f64::NAN),
        ];
        let lines = lines(&cells, (Workload::Dot, 2, 0), |m, pool| m.figure(pool).ns);
        let serial = Line {
            pool: Pool::Serial,
            points: vec![(1, 2.0), (64, 4.0)],
        };
        assert_eq!(lines, [serial]);
    }
}
