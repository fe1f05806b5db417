//! What the figures mean: `regret = adaptive / best`, the goals, and which cells miss them.

use crate::contenders::Pool;
use crate::measure::{median, Measured};
use crate::turn::Figure;

/// Serial loops below are light: there the distance to the serial loop counts, not the ratio.
pub const LIGHT_NS: f64 = 1000.0;

/// The regret that most cells are to stay within.
pub const REGRET: f64 = 1.10;

/// How many of them: the share.
pub const SHARE: f64 = 0.95;

/// The regret that none is to exceed.
pub const REGRET_AT_WORST: f64 = 1.25;

/// The CPU time, as a multiple of the serial loop's, that conga may use where calls are a
/// millisecond apart, and beyond which a peer does not count as best where there is a gap.
pub const CPU_RATIO: f64 = 1.5;

/// What a light call may cost beyond the serial loop, in nanoseconds: in the median over the cells,
/// and at worst. `None` where it is only reported.
pub fn light_goal(gap_us: u64) -> Option<(f64, f64)> {
    match gap_us {
        0 => Some((60.0, 100.0)),
        // The lines are cold.
        20 => Some((150.0, 150.0)),
        _ => None,
    }
}

impl Measured {
    pub fn figure(&self, pool: Pool) -> Figure {
        let found = self.figures.iter().find(|&&(p, _)| p == pool);
        found.map_or(
            Figure {
                ns: f64::NAN,
                cpu_ns: f64::NAN,
            },
            |&(_, figure)| figure,
        )
    }

    pub fn serial(&self) -> Figure {
        self.figure(Pool::Serial)
    }

    pub fn adaptive(&self) -> Figure {
        self.figure(Pool::CongaAdaptive)
    }

    pub fn is_light(&self) -> bool {
        self.serial().ns < LIGHT_NS
    }

    /// The fastest of the serial loop and all other pools. In cells with a gap a peer that buys its
    /// speed by spinning through it does not count.
    pub fn best(&self) -> (Pool, f64) {
        let most_cpu = if self.cell.gap_us == 0 {
            f64::INFINITY
        } else {
            CPU_RATIO * self.serial().cpu_ns
        };
        self.figures
            .iter()
            .filter(|(pool, figure)| !pool.is_conga() && figure.cpu_ns <= most_cpu)
            .map(|&(pool, figure)| (pool, figure.ns))
            .chain([(Pool::Serial, self.serial().ns)])
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or((Pool::Serial, f64::NAN))
    }

    pub fn regret(&self) -> f64 {
        self.adaptive().ns / self.best().1
    }

    /// What conga's adaptive strategy adds to the serial loop, in nanoseconds.
    pub fn overhead(&self) -> f64 {
        self.adaptive().ns - self.serial().ns
    }

    pub fn cpu_ratio(&self) -> f64 {
        self.adaptive().cpu_ns / self.serial().cpu_ns
    }

    /// What this cell misses, in words.
    pub fn misses(&self) -> Vec<String> {
        let mut misses = Vec::new();
        if self.is_light() {
            if let Some((_, worst)) = light_goal(self.cell.gap_us) {
                if self.overhead() > worst {
                    misses.push(format!(
                        "{:.0} ns more than serial ({:.0} ns), the goal is {worst}",
                        self.overhead(),
                        self.serial().ns
                    ));
                }
            }
        } else if self.regret() > REGRET {
            let (pool, ns) = self.best();
            misses.push(format!(
                "regret {:.2}: {:.0} ns, {pool} {ns:.0} ns, the goal is {REGRET:.2}",
                self.regret(),
                self.adaptive().ns
            ));
        }
        if self.cell.gap_us == 1000 && self.cpu_ratio() > CPU_RATIO {
            misses.push(format!(
                "CPU time {:.2} times that of serial ({:.0} ns), the goal is {CPU_RATIO}",
                self.cpu_ratio(),
                self.serial().cpu_ns
            ));
        }
        misses
    }
}

/// The regret over the cells that are not light.
#[derive(Debug, PartialEq)]
pub struct Regrets {
    pub cells: usize,
    /// Share of the cells within [`REGRET`].
    pub within: f64,
    pub maximum: f64,
    /// Over the cells with two threads or more.
    pub geometric_mean: f64,
}

/// `None` if all cells are light. The mean is not a number where all have one thread.
pub fn regrets(cells: &[Measured]) -> Option<Regrets> {
    let heavy: Vec<&Measured> = cells.iter().filter(|m| !m.is_light()).collect();
    let maximum = heavy.iter().map(|m| m.regret()).max_by(f64::total_cmp)?;
    let within = heavy.iter().filter(|m| m.regret() <= REGRET).count();
    let parallel = heavy.iter().filter(|m| m.cell.threads >= 2);
    let logarithms: Vec<f64> = parallel.map(|m| m.regret().ln()).collect();
    Some(Regrets {
        cells: heavy.len(),
        within: within as f64 / heavy.len() as f64,
        maximum,
        geometric_mean: (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp(),
    })
}

/// Median and worst of a figure over some cells. `None` of no cells.
pub fn median_and_worst<'m>(
    cells: impl Iterator<Item = &'m Measured>,
    figure: impl Fn(&Measured) -> f64,
) -> Option<(f64, f64)> {
    let figures: Vec<f64> = cells.map(figure).collect();
    let worst = figures.iter().copied().max_by(f64::total_cmp)?;
    Some((median(figures.into_iter())?, worst))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Cell, Workload};

    /// A cell with these times, each with a CPU time.
    fn cell(threads: usize, gap_us: u64, figures: &[(Pool, f64, f64)]) -> Measured {
        Measured {
            cell: Cell {
                workload: Workload::Zero,
                n: 8,
                threads,
                gap_us,
            },
            figures: figures
                .iter()
                .map(|&(pool, ns, cpu_ns)| (pool, Figure { ns, cpu_ns }))
                .collect(),
        }
    }

    /// conga's own strategies counted among the peers, which would make a regret of 1 the least.
    #[test]
    fn the_best_is_never_conga() {
        let cell = cell(
            2,
            0,
            &[
                (Pool::Serial, 4000.0, 4000.0),
                (Pool::CongaChained, 1000.0, 2000.0),
                (Pool::CongaAdaptive, 1500.0, 3000.0),
                (Pool::Chili, 3000.0, 9000.0),
            ],
        );
        assert_eq!(cell.best(), (Pool::Chili, 3000.0));
        assert_eq!(cell.regret(), 0.5);
    }

    /// A peer that spins through the gap counted as best, or left out where there is no gap.
    #[test]
    fn a_peer_that_spins_through_a_gap_is_not_best() {
        let figures = [
            (Pool::Serial, 4000.0, 4000.0),
            (Pool::CongaAdaptive, 3000.0, 4000.0),
            (Pool::OmpStatic, 2000.0, 6001.0),
            (Pool::TbbAuto, 2500.0, 6000.0),
        ];
        assert_eq!(cell(2, 0, &figures).best().0, Pool::OmpStatic);
        assert_eq!(cell(2, 20, &figures).best().0, Pool::TbbAuto);
        assert_eq!(cell(2, 1000, &figures).regret(), 1.2);
    }

    #[test]
    fn the_mean_leaves_out_light_cells_and_single_threads() {
        let of = |threads, serial, adaptive| {
            let figures = [
                (Pool::Serial, serial, serial),
                (Pool::CongaAdaptive, adaptive, adaptive),
            ];
            cell(threads, 0, &figures)
        };
        let cells = [
            of(2, 2000.0, 1000.0),
            of(4, 2000.0, 4000.0),
            of(1, 2000.0, 2100.0),
            of(8, 999.0, 9999.0),
        ];
        let regrets = regrets(&cells).unwrap();
        assert_eq!(regrets.cells, 3);
        assert_eq!(regrets.maximum, 2.0);
        assert!((regrets.geometric_mean - 1.0).abs() < 1e-12);
        assert!((regrets.within - 2.0 / 3.0).abs() < 1e-12);
    }

    /// A cell that misses its goal and is not measured again.
    #[test]
    fn each_goal_can_be_missed() {
        let of = |gap_us, serial: f64, adaptive: f64, cpu: f64| {
            let figures = [
                (Pool::Serial, serial, 1000.0),
                (Pool::CongaAdaptive, adaptive, cpu),
            ];
            cell(2, gap_us, &figures).misses().len()
        };
        assert_eq!(of(0, 10.0, 110.0, 1000.0), 0);
        assert_eq!(of(0, 10.0, 111.0, 1000.0), 1);
        assert_eq!(of(20, 10.0, 160.0, 1000.0), 0);
        assert_eq!(of(20, 10.0, 161.0, 1000.0), 1);
        assert_eq!(of(1000, 10.0, 999.0, 1000.0), 0);
        assert_eq!(of(0, 1000.0, 1100.0, 9000.0), 0);
        assert_eq!(of(0, 1000.0, 1101.0, 9000.0), 1);
        assert_eq!(of(1000, 1000.0, 1101.0, 1501.0), 2);
    }
}
