//! `regret.svg`: what conga's adaptive strategy takes against the best of all others, cell by cell.
//!
//! What is best, which cells are light and what the goals are is the measuring package's
//! `regret.rs`, which is part of this package too.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::colors::{overhead_color, regret_color, text_color, DARKEST_NS, SATURATED};
use crate::figures::{axis, is_drawable, Measured};
use crate::grid::Workload;
use crate::panel;
use crate::paper::{
    below, bold, font, picture, write, write_title, Area, Drawn, GREY, LABEL, MARGIN, TEXT,
};
use crate::regret::{
    light_goal, median_and_worst, regrets, CPU_RATIO, LIGHT_NS, REGRET, REGRET_AT_WORST,
};

/// What a cell shows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shown {
    Regret(f64),
    /// Of a light loop: nanoseconds beyond the serial loop.
    Overhead(f64),
}

impl Shown {
    /// `None` if one of the figures that it takes is missing.
    fn of(m: &Measured) -> Option<Shown> {
        let complete = is_drawable(m.serial().ns)
            && is_drawable(m.adaptive().ns)
            // Without the serial loop's CPU time nobody knows which peers count.
            && (m.cell.gap_us == 0 || is_drawable(m.serial().cpu_ns));
        match (complete, m.is_light()) {
            (false, _) => None,
            (true, true) => Some(Shown::Overhead(m.overhead())),
            (true, false) => Some(Shown::Regret(m.regret())),
        }
    }

    fn text(self) -> String {
        match self {
            Shown::Regret(regret) if regret >= 99.5 => format!("{regret:.0}"),
            Shown::Regret(regret) if regret >= 9.95 => format!("{regret:.1}"),
            Shown::Regret(regret) => format!("{regret:.2}"),
            Shown::Overhead(ns) if ns < -0.5 => format!("−{:.0} ns", -ns),
            Shown::Overhead(ns) => format!("+{:.0} ns", ns.max(0.0)),
        }
    }

    fn color(self) -> RGBColor {
        match self {
            Shown::Regret(regret) => regret_color(regret),
            Shown::Overhead(ns) => overhead_color(ns),
        }
    }

    fn misses_goal(self, gap_us: u64) -> bool {
        match self {
            Shown::Regret(regret) => regret > REGRET,
            Shown::Overhead(ns) => light_goal(gap_us).is_some_and(|(_, worst)| ns > worst),
        }
    }
}

const CELL: (i32, i32) = (68, 19);
/// Where the columns of a row's heading begin: workload, gap, threads.
const HEADINGS: [i32; 3] = [MARGIN, MARGIN + 62, MARGIN + 132];
/// Where the cells begin.
const LEFT: i32 = MARGIN + 214;
/// Lines of explanation, at most.
const LINES: i32 = 5;
const TITLE: &str = "conga's adaptive strategy beside the best of all others";
/// Below the title and the legend.
const TOP: i32 = below(LINES) + 78;

/// A row of the map, at its place.
struct Row<'m> {
    y: i32,
    /// Only where they differ from the row before.
    workload: Option<Workload>,
    gap_us: Option<u64>,
    threads: usize,
    cells: Vec<(&'m Measured, Shown)>,
}

/// `None` if nothing can be drawn.
pub fn map(cells: &[Measured]) -> Drawn<Option<String>> {
    let rows = rows(cells);
    let Some(last) = rows.last() else {
        return Ok(None);
    };
    let shown: Vec<Measured> = rows
        .iter()
        .flat_map(|row| row.cells.iter().map(|&(m, _)| m.clone()))
        .collect();
    let lengths = axis(&shown, |cell| cell.n);
    // The explanation needs the width of ten.
    let columns = lengths.len().max(10) as i32;
    let size = (
        LEFT + columns * CELL.0 + MARGIN,
        last.y + CELL.1 / 2 + MARGIN,
    );
    let svg = picture(size, |area| {
        draw_heading(area, &shown)?;
        draw_legend(area)?;
        for (x, heading) in HEADINGS.into_iter().zip(["workload", "gap", "threads"]) {
            write(area, (x, TOP - 14), heading, HPos::Left, font(LABEL, GREY))?;
        }
        let column = |n| LEFT + CELL.0 * lengths.iter().position(|&l| l == n).unwrap_or(0) as i32;
        for &n in &lengths {
            let at = (column(n) + CELL.0 / 2, TOP - 14);
            let name = if n == lengths[0] {
                format!("n = {}", panel::length(n))
            } else {
                panel::length(n)
            };
            write(area, at, &name, HPos::Center, font(TEXT, BLACK))?;
        }
        rows.iter().try_for_each(|row| {
            draw_row_heading(area, row)?;
            row.cells.iter().try_for_each(|&(m, shown)| {
                draw_cell(area, (column(m.cell.n), row.y), shown, m.cell.gap_us)
            })
        })
    })?;
    Ok(Some(svg))
}

/// The rows that have something to show, from top to bottom.
fn rows(cells: &[Measured]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut y = TOP + CELL.1 / 2;
    for workload in Workload::ALL {
        let mut workload_before = None;
        for gap_us in axis(cells, |cell| cell.gap_us) {
            let mut gap_before = None;
            for threads in axis(cells, |cell| cell.threads) {
                let of_row = cells.iter().filter(|m| {
                    let cell = m.cell;
                    (cell.workload, cell.gap_us, cell.threads) == (workload, gap_us, threads)
                });
                let of_row = of_row.filter_map(|m| Some((m, Shown::of(m)?)));
                let of_row: Vec<(&Measured, Shown)> = of_row.collect();
                if of_row.is_empty() {
                    continue;
                }
                // Workloads stand apart, and the gaps of one of them a little.
                y += match (workload_before, gap_before) {
                    (None, _) if !rows.is_empty() => 10,
                    (Some(_), None) => 4,
                    _ => 0,
                };
                rows.push(Row {
                    y,
                    workload: workload_before.is_none().then_some(workload),
                    gap_us: gap_before.is_none().then_some(gap_us),
                    threads,
                    cells: of_row,
                });
                y += CELL.1;
                workload_before = Some(workload);
                gap_before = Some(gap_us);
            }
        }
    }
    rows
}

fn draw_row_heading(area: &Area, row: &Row) -> Drawn {
    let [workload, gap, threads] = HEADINGS;
    if let Some(name) = row.workload {
        let style = bold(font(TEXT, BLACK));
        write(area, (workload, row.y), name.name(), HPos::Left, style)?;
    }
    if let Some(gap_us) = row.gap_us {
        let text = match gap_us {
            0 => "none".to_owned(),
            _ => format!("{gap_us} µs"),
        };
        write(area, (gap, row.y), &text, HPos::Left, font(TEXT, BLACK))?;
    }
    let text = panel::threads(row.threads);
    write(area, (threads, row.y), &text, HPos::Left, font(TEXT, BLACK))
}

/// `at`: the middle of the cell's left edge.
fn draw_cell(area: &Area, at: (i32, i32), shown: Shown, gap_us: u64) -> Drawn {
    let ground = shown.color();
    let corners = [
        (at.0 + 1, at.1 - CELL.1 / 2),
        (at.0 + CELL.0, at.1 + CELL.1 / 2),
    ];
    area.draw(&Rectangle::new(corners, ground.filled()))?;
    let style = font(LABEL, text_color(ground));
    let style = if shown.misses_goal(gap_us) {
        bold(style)
    } else {
        style
    };
    let middle = (at.0 + CELL.0 / 2, at.1);
    write(area, middle, &shown.text(), HPos::Center, style)
}

fn draw_heading(area: &Area, shown: &[Measured]) -> Drawn {
    let light: Vec<String> = axis(shown, |cell| cell.gap_us)
        .into_iter()
        .filter_map(|gap_us| {
            let light = |m: &&Measured| m.is_light() && m.cell.gap_us == gap_us;
            let light = shown.iter().filter(light);
            let (median, worst) = median_and_worst(light, Measured::overhead)?;
            let gap = match gap_us {
                0 => "no gap".to_owned(),
                _ => format!("{gap_us} µs"),
            };
            let goal = match light_goal(gap_us) {
                Some((median, worst)) if median == worst => format!(" (goal {worst})"),
                Some((median, worst)) => format!(" (goals {median}, {worst})"),
                None => String::new(),
            };
            Some(format!("{gap} {median:+.0}, {worst:+.0}{goal}"))
        })
        .collect();
    let mut lines = vec![
        "Coloured: regret = time of conga's adaptive strategy / time of the best of the serial loop \
         and all other pools. Below 1 conga is faster."
            .to_owned(),
        format!(
            "Where there is a gap between the calls, a pool that uses more than {CPU_RATIO} times \
             the CPU time of the serial loop does not count as best."
        ),
        format!(
            "Grey: the serial loop takes less than {LIGHT_NS:.0} ns; shown is what conga takes \
             beyond it. Bold: misses the goal of a single cell."
        ),
    ];
    if let Some(r) = regrets(shown) {
        // Not a number if all have one thread.
        let mean = if r.geometric_mean.is_nan() {
            String::new()
        } else {
            format!(
                ", {:.2} in the geometric mean with 2 threads or more",
                r.geometric_mean
            )
        };
        lines.push(format!(
            "Regret over {} cells: up to {REGRET:.2} in {:.1} %, {:.2} at worst (goal \
             {REGRET_AT_WORST:.2}){mean}.",
            r.cells,
            100.0 * r.within,
            r.maximum
        ));
    }
    if !light.is_empty() {
        lines.push(format!(
            "Light loops, ns beyond serial, median and worst: {}.",
            light.join("; ")
        ));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    write_title(area, TITLE, &lines)
}

/// The two scales, beside each other.
fn draw_legend(area: &Area) -> Drawn {
    let regret = |part: f64| SATURATED.powf(2.0 * part - 1.0);
    let ticks = [0.5, 0.8, 1.0, 1.25, 2.0].map(|regret: f64| {
        let part = (regret.ln() / SATURATED.ln() + 1.0) / 2.0;
        let end = match regret {
            0.5 => "≤ ",
            2.0 => "≥ ",
            _ => "",
        };
        (part, format!("{end}{regret}"))
    });
    draw_scale(
        area,
        MARGIN,
        "regret",
        &|part| regret_color(regret(part)),
        &ticks,
    )?;

    let goals = [light_goal(0), light_goal(20)].into_iter().flatten();
    let mut marks: Vec<f64> = goals.flat_map(|(median, worst)| [median, worst]).collect();
    marks.extend([0.0, DARKEST_NS]);
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let ticks: Vec<(f64, String)> = marks
        .into_iter()
        .map(|ns| match ns {
            0.0 => (0.0, "≤ 0".to_owned()),
            DARKEST_NS => (1.0, format!("≥ {ns} ns")),
            _ => (ns / DARKEST_NS, ns.to_string()),
        })
        .collect();
    let color = |part| overhead_color(DARKEST_NS * part);
    draw_scale(area, MARGIN + 440, "light", &color, &ticks)
}

/// A scale with ticks at parts of its length, behind its name.
fn draw_scale(
    area: &Area,
    x: i32,
    name: &str,
    color: &dyn Fn(f64) -> RGBColor,
    ticks: &[(f64, String)],
) -> Drawn {
    const STEPS: i32 = 60;
    const STEP: i32 = 5;
    const HEIGHT: i32 = 12;

    let top = below(LINES) + 22;
    let style = font(TEXT, BLACK);
    write(area, (x, top + HEIGHT / 2), name, HPos::Left, style)?;
    let x = x + 52;
    for k in 0..STEPS {
        let corners = [(x + k * STEP, top), (x + (k + 1) * STEP, top + HEIGHT)];
        let color = color((f64::from(k) + 0.5) / f64::from(STEPS));
        area.draw(&Rectangle::new(corners, color.filled()))?;
    }
    let frame = [(x, top), (x + STEPS * STEP, top + HEIGHT)];
    area.draw(&Rectangle::new(frame, GREY))?;
    ticks.iter().try_for_each(|(part, label)| {
        let x = x + (part * f64::from(STEPS * STEP)) as i32;
        let tick = vec![(x, top + HEIGHT), (x, top + HEIGHT + 4)];
        area.draw(&PathElement::new(tick, GREY))?;
        let at = (x, top + HEIGHT + 12);
        write(area, at, label, HPos::Center, font(LABEL, BLACK))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::Pool;
    use crate::figures::Figure;
    use crate::grid::Cell;

    /// A cell with these times, each with a CPU time.
    fn cell(gap_us: u64, figures: &[(Pool, f64, f64)]) -> Measured {
        Measured {
            cell: Cell {
                workload: Workload::Dot,
                n: 8,
                threads: 2,
                gap_us,
            },
            figures: figures
                .iter()
                .map(|&(pool, ns, cpu_ns)| (pool, Figure { ns, cpu_ns }))
                .collect(),
        }
    }

    /// A peer that spins through the gap taken as best, or left out where there is none; conga's
    /// other strategies taken as best.
    #[test]
    fn best_is_what_the_measuring_package_says() {
        let figures = [
            (Pool::Serial, 4000.0, 4000.0),
            (Pool::CongaChained, 100.0, 100.0),
            (Pool::CongaAdaptive, 3000.0, 4000.0),
            (Pool::OmpStatic, 2000.0, 6001.0),
            (Pool::TbbAuto, 2500.0, 6000.0),
        ];
        for (gap_us, regret) in [(0, 1.5), (20, 1.2), (1000, 1.2)] {
            let shown = Shown::of(&cell(gap_us, &figures));
            assert_eq!(shown, Some(Shown::Regret(regret)), "gap {gap_us}");
        }
    }

    #[test]
    fn below_a_microsecond_it_is_the_overhead() {
        let shown = |serial| {
            let figures = [
                (Pool::Serial, serial, serial),
                (Pool::CongaAdaptive, 1100.0, 1100.0),
                (Pool::Chili, 500.0, 500.0),
            ];
            Shown::of(&cell(0, &figures))
        };
        assert_eq!(shown(999.0), Some(Shown::Overhead(101.0)));
        assert_eq!(shown(1000.0), Some(Shown::Regret(2.2)));
    }

    /// A missing figure that passes for a fast one, or takes the whole cell along.
    #[test]
    fn what_is_missing_is_left_out() {
        const NAN: f64 = f64::NAN;
        let shown = |gap_us, serial: (f64, f64), adaptive, chili| {
            let figures = [
                (Pool::Serial, serial.0, serial.1),
                (Pool::CongaAdaptive, adaptive, 5000.0),
                (Pool::Chili, chili, 4000.0),
            ];
            Shown::of(&cell(gap_us, &figures))
        };
        let serial = (4000.0, 4000.0);
        let regret = |regret| Some(Shown::Regret(regret));
        assert_eq!(shown(20, serial, 3000.0, 2000.0), regret(1.5));
        assert_eq!(shown(20, serial, 3000.0, NAN), regret(0.75));
        assert_eq!(shown(20, serial, NAN, 2000.0), None);
        assert_eq!(shown(20, (NAN, 4000.0), 3000.0, 2000.0), None);
        assert_eq!(shown(20, (4000.0, NAN), 3000.0, 2000.0), None);
        assert_eq!(shown(0, (4000.0, NAN), 3000.0, 2000.0), regret(1.5));
    }

    #[test]
    fn figures_fit_their_cells() {
        let regrets = [0.954, 1.004, 9.96, 123.4].map(|r| Shown::Regret(r).text());
        assert_eq!(regrets, ["0.95", "1.00", "10.0", "123"]);
        let overheads = [-12.4, -0.4, 0.0, 57.5].map(|ns| Shown::Overhead(ns).text());
        assert_eq!(overheads, ["−12 ns", "+0 ns", "+0 ns", "+58 ns"]);
    }

    #[test]
    fn the_goals_are_those_of_the_gap() {
        let overhead = |ns, gap_us| Shown::Overhead(ns).misses_goal(gap_us);
        assert!(!overhead(100.0, 0) && overhead(101.0, 0));
        assert!(!overhead(150.0, 20) && overhead(151.0, 20));
        assert!(!overhead(999.0, 1000));
        assert!(!Shown::Regret(1.1).misses_goal(0) && Shown::Regret(1.11).misses_goal(1000));
    }
}
