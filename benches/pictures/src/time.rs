//! `time-<workload>.svg` and `first.svg`: nanoseconds per call over the length, in calls that
//! follow one another.

use crate::contenders::Pool::{self, *};
use crate::figures::{axis, lines, pools, Line, Measured};
use crate::grid::Workload;
use crate::panel::{self, Axes};
use crate::paper::{below, picture, write_title, Area, Drawn, MARGIN};
use crate::style::{draw_entry, draw_legend, Style};

/// A contender whose turn took as long was ended (`LIMIT` in the measuring package's `turn.rs`).
const ENDED_NS: f64 = 2e9;

/// All pools, a panel for each number of threads. `None` if nothing can be drawn.
pub fn of_workload(cells: &[Measured], workload: Workload) -> Drawn<Option<String>> {
    const PANEL: (i32, i32) = (370, 330);
    const LEGEND: i32 = 200;
    const LINES: i32 = 1;

    let panels: Vec<(usize, Vec<Line>)> = axis(cells, |cell| cell.threads)
        .into_iter()
        .map(|threads| (threads, times(cells, workload, threads)))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    let all = || panels.iter().flat_map(|(_, lines)| lines);
    let Some(axes) = Axes::of(all()) else {
        return Ok(None);
    };
    let pools = pools(all());

    // The title needs the width of two.
    let columns = panels.len().clamp(2, 3) as i32;
    let rows = (panels.len() as i32 + columns - 1) / columns;
    let right = columns * PANEL.0 + MARGIN;
    let legend_height = 21 * pools.len() as i32;
    let bottom = below(LINES) + (rows * PANEL.1).max(legend_height + 20);
    let svg = picture((right + LEGEND, bottom + 8), |area| {
        let title = format!("{workload}: time per call over the length");
        let explanation = format!(
            "{}. The calls follow one another; less is better.{}",
            what(workload),
            ended(all())
        );
        write_title(area, &title, &[&explanation])?;
        for (k, (threads, lines)) in (0..).zip(&panels) {
            let at = (
                MARGIN / 2 + k % columns * PANEL.0,
                below(LINES) + k / columns * PANEL.1,
            );
            let heading = panel::threads(*threads);
            panel::draw(area, (at, PANEL), &heading, &axes, lines, false)?;
        }
        draw_legend(area, (right, below(LINES) + 30), &pools)
    })?;
    Ok(Some(svg))
}

/// The pools of the README's picture, as somebody knows them who has not read the tables.
const FIRST: [(Pool, &str); 7] = [
    (Serial, "serial loop"),
    (CongaAdaptive, "conga"),
    (RayonOutside, "rayon"),
    (Chili, "chili"),
    (Forkunion, "forkunion"),
    (OmpStatic, "OpenMP static"),
    (TbbStatic, "oneTBB static"),
];

/// axpy with 2 and with 16 threads. `None` if nothing can be drawn.
pub fn first(cells: &[Measured]) -> Drawn<Option<String>> {
    const WIDTH: i32 = 800;
    const HEIGHT: i32 = 330;
    const LINES: i32 = 1;

    let panels: Vec<(usize, Vec<Line>)> = [2, 16]
        .into_iter()
        .map(|threads| {
            let mut lines = times(cells, Workload::Axpy, threads);
            lines.retain(|line| FIRST.iter().any(|&(pool, _)| pool == line.pool));
            (threads, lines)
        })
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    let all = || panels.iter().flat_map(|(_, lines)| lines);
    let Some(axes) = Axes::of(all()) else {
        return Ok(None);
    };
    let width = (WIDTH - MARGIN - 8) / panels.len() as i32;
    let legend = below(LINES) + HEIGHT + 20;
    let svg = picture((WIDTH, legend + 38), |area| {
        let explanation = format!(
            "The calls follow one another; less is better.{}",
            ended(all())
        );
        let title = "A parallel loop, y[i] += a·x[i]: time per call over its length";
        write_title(area, title, &[&explanation])?;
        for (k, (threads, lines)) in (0..).zip(&panels) {
            let at = (MARGIN / 2 + k * width, below(LINES));
            let heading = panel::threads(*threads);
            panel::draw(area, (at, (width, HEIGHT)), &heading, &axes, lines, true)?;
        }
        let drawn = |&(pool, _): &(Pool, _)| all().any(|line| line.pool == pool);
        draw_first_legend(area, legend, FIRST.into_iter().filter(drawn))
    })?;
    Ok(Some(svg))
}

/// Two rows.
fn draw_first_legend(
    area: &Area,
    y: i32,
    entries: impl Iterator<Item = (Pool, &'static str)>,
) -> Drawn {
    const COLUMNS: i32 = 4;
    const WIDTH: i32 = 184;

    for (k, (pool, name)) in (0..).zip(entries) {
        let at = (48 + k % COLUMNS * WIDTH, y + k / COLUMNS * 21);
        draw_entry(area, at, &Style::of(pool).wider(), name)?;
    }
    Ok(())
}

/// The lines of a panel.
fn times(cells: &[Measured], workload: Workload, threads: usize) -> Vec<Line> {
    lines(cells, (workload, threads, 0), |m, pool| m.figure(pool).ns)
}

/// What a workload does, for somebody who sees its picture alone.
fn what(workload: Workload) -> &'static str {
    match workload {
        Workload::Zero => "x[i] = 0 for n indices",
        Workload::Axpy => "y[i] += a·x[i] for n indices",
        Workload::Dot => "x·y over n indices",
        Workload::Work => "1 µs of arithmetic for each of n indices",
        Workload::Skew => "n µs of arithmetic, most of it in the last of n indices",
    }
}

/// What the highest points mean, if some contender was ended.
fn ended<'l>(mut lines: impl Iterator<Item = &'l Line>) -> &'static str {
    if lines.any(|line| line.points.iter().any(|&(_, ns)| ns >= ENDED_NS)) {
        " 2 s: ended by then."
    } else {
        ""
    }
}
