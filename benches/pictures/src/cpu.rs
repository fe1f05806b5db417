//! `cpu.svg`: CPU time per call, where calls are a millisecond apart.

use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::contenders::Pool;
use crate::figures::{axis, lines, pools, Line, Measured};
use crate::grid::Workload;
use crate::panel;
use crate::paper::{
    below, bold, font, part, picture, write, write_title, Area, Drawn, GREY, HEADING, LABEL,
    MARGIN, PALE, TEXT,
};
use crate::regret::CPU_RATIO;
use crate::style::{draw_legend, layer, Style, SAMPLE};

const GAP_US: u64 = 1000;
const GOAL: RGBColor = RGBColor(0xad, 0x16, 0x2a);

/// A workload's place on the axis: its columns, one for each length.
struct Group {
    workload: Workload,
    lengths: Vec<usize>,
    /// The first column. A column is left free between two groups.
    start: usize,
}

/// The multiple of the serial loop's CPU time.
fn ratio(m: &Measured, pool: Pool) -> f64 {
    m.figure(pool).cpu_ns / m.serial().cpu_ns
}

/// The lines of a workload, of all pools that are drawn.
fn ratios(cells: &[Measured], workload: Workload, threads: usize) -> Vec<Line> {
    let mut lines = lines(cells, (workload, threads, GAP_US), ratio);
    lines.retain(|line| {
        line.pool == Pool::CongaAdaptive || !line.pool.is_conga() && line.pool != Pool::Serial
    });
    lines
}

/// conga's adaptive strategy and the peers, a panel for each number of threads. `None` if nothing
/// can be drawn.
pub fn ratios_of_serial(cells: &[Measured]) -> Drawn<Option<String>> {
    const COLUMN: i32 = 27;
    const HEIGHT: i32 = 330;
    const LEGEND: i32 = 220;
    const LINES: i32 = 1;

    let panels: Vec<(usize, Vec<(Workload, Line)>)> = axis(cells, |cell| cell.threads)
        .into_iter()
        .map(|threads| {
            let of_workload = |workload| {
                let lines = ratios(cells, workload, threads).into_iter();
                lines.map(move |line| (workload, line))
            };
            (
                threads,
                Workload::ALL.into_iter().flat_map(of_workload).collect(),
            )
        })
        .filter(|(_, lines): &(_, Vec<_>)| !lines.is_empty())
        .collect();
    let all = || panels.iter().flat_map(|(_, lines)| lines);
    let groups = groups(all());
    let Some(last) = groups.last() else {
        return Ok(None);
    };
    let columns = last.start + last.lengths.len();
    let values = || all().flat_map(|(_, line)| line.points.iter().map(|&(_, ratio)| ratio));
    let most = values().fold(2.0 * CPU_RATIO, f64::max);
    let least = values().fold(1.0, f64::min);
    let pools = pools(all().map(|(_, line)| line));

    // The title needs the width of some columns.
    let width = (columns as i32).max(18) * COLUMN + 80;
    let right = MARGIN + width;
    let legend_height = 21 * (pools.len() as i32 + 2);
    let height = below(LINES) + (panels.len() as i32 * HEIGHT).max(legend_height + 30);
    let svg = picture((right + LEGEND, height + 8), |area| {
        let explanation = "All threads of the process, from call to call, as a multiple of the \
                           serial loop's, over workload and length n; less is better.";
        let title = "CPU time of a call, 1 ms after the one before";
        write_title(area, title, &[explanation])?;
        for (k, (threads, lines)) in (0..).zip(&panels) {
            let place = ((MARGIN / 2, below(LINES) + k * HEIGHT), (width, HEIGHT));
            let heading = panel::threads(*threads);
            draw_panel(
                area,
                place,
                &heading,
                least / 1.2..most * 1.2,
                &groups,
                lines,
            )?;
        }
        let (x, y) = (right, below(LINES) + 34);
        draw_legend(area, (x, y), &pools)?;
        let references = [
            (1.0, BLACK, "serial loop"),
            (CPU_RATIO, GOAL, "conga's goal"),
        ];
        for (k, (ratio, color, name)) in (pools.len() as i32..).zip(references) {
            let y = y + 21 * k;
            let line = vec![(x, y), (x + SAMPLE, y)];
            area.draw(&PathElement::new(line, color.stroke_width(2)))?;
            let name = format!("{ratio}: {name}");
            write(
                area,
                (x + SAMPLE + 8, y),
                &name,
                HPos::Left,
                font(TEXT, BLACK),
            )?;
        }
        Ok(())
    })?;
    Ok(Some(svg))
}

/// The places of all workloads that have lines.
fn groups<'l>(lines: impl Iterator<Item = &'l (Workload, Line)> + Clone) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for workload in Workload::ALL {
        let of_workload = lines.clone().filter(|(w, _)| *w == workload);
        let points = of_workload.flat_map(|(_, line)| &line.points);
        let mut lengths: Vec<usize> = points.map(|&(n, _)| n).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if !lengths.is_empty() {
            let before = groups.last();
            groups.push(Group {
                workload,
                lengths,
                start: before.map_or(0, |group| group.start + group.lengths.len() + 1),
            });
        }
    }
    groups
}

fn draw_panel(
    area: &Area,
    (at, size): ((i32, i32), (i32, i32)),
    heading: &str,
    ratios: std::ops::Range<f64>,
    groups: &[Group],
    lines: &[(Workload, Line)],
) -> Drawn {
    const ABOVE: i32 = 26;
    const LEFT: i32 = 62;
    const BELOW: i32 = 46;

    let columns = groups.last().map_or(0, |g| g.start + g.lengths.len());
    let ticks = steps(&ratios);
    let mut chart = ChartBuilder::on(&part(area, at, size))
        .margin_top(ABOVE)
        .margin_right(12)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
        .build_cartesian_2d(
            -0.7..columns as f64 - 0.3,
            ratios.clone().log_scale().with_key_points(ticks),
        )?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .bold_line_style(PALE)
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .label_style(font(LABEL, BLACK))
        .axis_desc_style(font(TEXT, GREY))
        .y_label_formatter(&|ratio| ratio.to_string())
        .y_desc("CPU time / serial loop's")
        .draw()?;

    let plot = chart.plotting_area();
    let pixel = |column: f64, ratio: f64| plot.map_coordinate(&(column, ratio));
    let (left, right) = (-0.7, columns as f64 - 0.3);
    let line = |ratio: f64, style: ShapeStyle| {
        let ends = vec![pixel(left, ratio), pixel(right, ratio)];
        area.draw(&PathElement::new(ends, style))
    };
    line(1.0, BLACK.stroke_width(2))?;
    line(CPU_RATIO, GOAL.stroke_width(2))?;

    for group in groups {
        for (k, n) in group.lengths.iter().enumerate() {
            let (x, y) = pixel((group.start + k) as f64, ratios.start);
            let name = panel::length(*n);
            write(area, (x, y + 12), &name, HPos::Center, font(LABEL, BLACK))?;
        }
        let middle = group.start as f64 + (group.lengths.len() - 1) as f64 / 2.0;
        let (x, y) = pixel(middle, ratios.start);
        let style = bold(font(TEXT, BLACK));
        write(
            area,
            (x, y + 30),
            group.workload.name(),
            HPos::Center,
            style,
        )?;
    }

    let mut lines: Vec<&(Workload, Line)> = lines.iter().collect();
    lines.sort_by_key(|(_, line)| layer(line.pool));
    for (workload, line) in lines {
        let Some(group) = groups.iter().find(|group| group.workload == *workload) else {
            continue;
        };
        let pixels: Vec<(i32, i32)> = line
            .points
            .iter()
            .filter_map(|&(n, ratio)| {
                let column = group.lengths.iter().position(|&l| l == n)?;
                Some(pixel((group.start + column) as f64, ratio))
            })
            .collect();
        Style::of(line.pool).draw(area, &pixels)?;
    }
    let (middle, _) = pixel((left + right) / 2.0, 1.0);
    let style = bold(font(HEADING, BLACK));
    write(
        area,
        (middle, at.1 + ABOVE / 2),
        heading,
        HPos::Center,
        style,
    )
}

/// 1, 2 and 5 times the powers of ten, as far as they are in a range.
fn steps(range: &std::ops::Range<f64>) -> Vec<f64> {
    [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e4, 1e5]
        .into_iter()
        .flat_map(|power| [power, 2.0 * power, 5.0 * power])
        .filter(|step| range.contains(step))
        .collect()
}
