//! The grid: its axes, its cells, and which of them are measured.

use std::fmt;

/// What a loop does; the bodies are in `workloads`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// `x[i] = 0`: the least that a loop can do.
    Zero,
    /// `y[i] += a * x[i]`.
    Axpy,
    /// `x · y`.
    Dot,
    /// 1 µs of arithmetic for each index.
    Work,
    /// `n` µs in all, index `i` costs in proportion to `i²`.
    Skew,
}

impl Workload {
    pub const ALL: [Workload; 5] = [Self::Zero, Self::Axpy, Self::Dot, Self::Work, Self::Skew];

    pub fn name(self) -> &'static str {
        match self {
            Workload::Zero => "zero",
            Workload::Axpy => "axpy",
            Workload::Dot => "dot",
            Workload::Work => "work",
            Workload::Skew => "skew",
        }
    }

    pub fn from_name(name: &str) -> Option<Workload> {
        Self::ALL.into_iter().find(|w| w.name() == name)
    }

    /// Whether an index costs about a microsecond instead of less than a nanosecond.
    fn is_heavy(self) -> bool {
        matches!(self, Workload::Work | Workload::Skew)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

pub const LENGTHS: [usize; 10] = [1, 2, 8, 64, 128, 1024, 4096, 16_384, 65_536, 1 << 20];

/// Threads that work on a loop, the calling one included where the pool lets it take part.
pub const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// Microseconds between two calls: none, serial work, asleep.
pub const GAPS: [u64; 3] = [0, 20, 1000];

/// One combination of the axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub workload: Workload,
    pub n: usize,
    pub threads: usize,
    pub gap_us: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:4} n {:7}, threads {:2}, gap {:4} µs",
            self.workload, self.n, self.threads, self.gap_us
        )
    }
}

/// Which cells are measured. An axis that is named on the command line is taken as named; the
/// others are thinned.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub quick: bool,
    pub workloads: Option<Vec<Workload>>,
    pub lengths: Option<Vec<usize>>,
    pub threads: Option<Vec<usize>>,
    pub gaps: Option<Vec<u64>>,
}

impl Selection {
    /// The cells in the order in which they are measured.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for workload in Workload::ALL {
            for gap_us in GAPS {
                for n in LENGTHS {
                    for threads in THREADS {
                        let cell = Cell {
                            workload,
                            n,
                            threads,
                            gap_us,
                        };
                        if self.takes(&cell) {
                            cells.push(cell);
                        }
                    }
                }
            }
        }
        cells
    }

    fn takes(&self, cell: &Cell) -> bool {
        fn named<T: PartialEq>(axis: &Option<Vec<T>>, value: &T) -> Option<bool> {
            axis.as_ref().map(|values| values.contains(value))
        }
        // 2^20 indices of 1 µs would take a second each call; beyond 1024 they are all alike.
        let possible = !(cell.workload.is_heavy() && cell.n > 1024);
        possible
            && named(&self.workloads, &cell.workload).unwrap_or(true)
            && named(&self.gaps, &cell.gap_us).unwrap_or(true)
            && named(&self.lengths, &cell.n).unwrap_or_else(|| self.keeps_length(cell))
            && named(&self.threads, &cell.threads).unwrap_or_else(|| self.keeps_threads(cell))
    }

    /// With a gap, 2 indices do not differ from 1, nor 64 from 128: what is timed then are cold
    /// lines and wake-ups. The quick grid has one length from each order of magnitude.
    fn keeps_length(&self, cell: &Cell) -> bool {
        if self.quick {
            let quick: &[usize] = if cell.workload.is_heavy() {
                &[8, 128, 1024]
            } else {
                &[8, 128, 4096, 65_536, 1 << 20]
            };
            return quick.contains(&cell.n);
        }
        cell.gap_us == 0 || !matches!(cell.n, 2 | 64)
    }

    /// One thread has nobody to wake, so a gap adds nothing but cold lines, which two threads show
    /// as well. After 20 µs, 4 and 8 threads lie between 2 and 16; after 1 ms everybody is asleep
    /// and 8 threads stand for the rest. The quick grid has two threads, and sixteen back to back.
    fn keeps_threads(&self, cell: &Cell) -> bool {
        match (self.quick, cell.gap_us) {
            (true, 0) => matches!(cell.threads, 2 | 16),
            (true, _) => cell.threads == 2,
            (false, 0) => true,
            (false, 20) => matches!(cell.threads, 2 | 4 | 16),
            (false, _) => matches!(cell.threads, 2 | 8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid that grew beyond the 40 and 3 minutes it may take: see `measure::Effort`.
    #[test]
    fn the_grids_are_as_large_as_planned() {
        assert_eq!(Selection::default().cells().len(), 210 + 96 + 64);
        let quick = Selection {
            quick: true,
            ..Selection::default()
        };
        assert_eq!(quick.cells().len(), 42 + 21 + 21);
    }

    /// A named value that thinning takes away again, or that brings other values back.
    #[test]
    fn a_named_axis_is_taken_as_named() {
        let named = Selection {
            workloads: Some(vec![Workload::Dot]),
            lengths: Some(vec![64]),
            threads: Some(vec![1, 8]),
            gaps: Some(vec![20]),
            ..Selection::default()
        };
        let expected = [1, 8].map(|threads| Cell {
            workload: Workload::Dot,
            n: 64,
            threads,
            gap_us: 20,
        });
        assert_eq!(named.cells(), expected);
    }

    /// A call of a second.
    #[test]
    fn heavy_loops_stay_short() {
        let named = Selection {
            workloads: Some(vec![Workload::Work, Workload::Skew]),
            lengths: Some(vec![1 << 20]),
            ..Selection::default()
        };
        assert_eq!(named.cells(), []);
    }
}
