//! A panel of a picture: lines over the length, both axes logarithmic.

use std::ops::Range;

use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::figures::Line;
use crate::paper::{bold, font, part, write, Area, Drawn, GREY, HEADING, LABEL, PALE, TEXT};
use crate::style::{layer, Style};

/// The axes that all panels of a picture have in common, so that they can be compared.
#[derive(Debug, Clone)]
pub struct Axes {
    lengths: Vec<f64>,
    ns: Range<f64>,
}

impl Axes {
    /// Those that hold all lines. `None` if there is no line.
    pub fn of<'l>(lines: impl Iterator<Item = &'l Line> + Clone) -> Option<Axes> {
        let points = || lines.clone().flat_map(|line| &line.points);
        let mut lengths: Vec<usize> = points().map(|&(n, _)| n).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let ns = || points().map(|&(_, ns)| ns);
        let least = ns().min_by(f64::total_cmp)?;
        let most = ns().max_by(f64::total_cmp)?;
        Some(Axes {
            lengths: lengths.into_iter().map(|n| n as f64).collect(),
            ns: least / 1.5..most * 1.5,
        })
    }
}

/// Draws the lines into a part of the picture, under a heading. `wide`: the lines are few, and
/// need not be thin.
pub fn draw(
    area: &Area,
    (at, size): ((i32, i32), (i32, i32)),
    heading: &str,
    axes: &Axes,
    lines: &[Line],
    wide: bool,
) -> Drawn {
    const ABOVE: i32 = 26;
    const LEFT: i32 = 66;
    const RIGHT: i32 = 12;
    const BELOW: i32 = 44;

    let (Some(first), Some(last)) = (axes.lengths.first(), axes.lengths.last()) else {
        return Ok(());
    };
    let lengths = first / 1.5..last * 1.5;
    let width = size.0 - LEFT - RIGHT;
    let mut chart = ChartBuilder::on(&part(area, at, size))
        .margin_top(ABOVE)
        .margin_right(RIGHT)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
        .build_cartesian_2d(
            lengths
                .clone()
                .log_scale()
                .with_key_points(apart(&axes.lengths, &lengths, width)),
            axes.ns
                .clone()
                .log_scale()
                .with_key_points(decades(&axes.ns)),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(PALE)
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .label_style(font(LABEL, BLACK))
        .axis_desc_style(font(TEXT, GREY))
        .x_label_formatter(&|&n| length(n as usize))
        .y_label_formatter(&|&ns| time(ns))
        .x_desc("length n")
        .y_desc("time per call")
        .draw()?;

    let plot = chart.plotting_area();
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by_key(|line| layer(line.pool));
    for line in lines {
        let pixel = |&(n, ns): &(usize, f64)| plot.map_coordinate(&(n as f64, ns));
        let pixels: Vec<(i32, i32)> = line.points.iter().map(pixel).collect();
        let style = Style::of(line.pool);
        let style = if wide { style.wider() } else { style };
        style.draw(area, &pixels)?;
    }
    let middle = (at.0 + LEFT + width / 2, at.1 + ABOVE / 2);
    let style = bold(font(HEADING, BLACK));
    write(area, middle, heading, HPos::Center, style)
}

/// Those of `lengths` that are far enough from each other to be written below an axis of a width
/// in pixels.
fn apart(lengths: &[f64], axis: &Range<f64>, width: i32) -> Vec<f64> {
    const LABEL_WIDTH: f64 = 25.0;

    let scale = f64::from(width) / (axis.end / axis.start).ln();
    let mut chosen: Vec<f64> = Vec::new();
    for &n in lengths {
        let far = |before: &f64| scale * (n / before).ln() >= LABEL_WIDTH;
        if chosen.last().is_none_or(far) {
            chosen.push(n);
        }
    }
    chosen
}

/// The powers of ten in a range.
fn decades(range: &Range<f64>) -> Vec<f64> {
    // From less than a nanosecond to minutes.
    let powers = (-3..=12).map(|exponent| 10_f64.powi(exponent));
    powers.filter(|power| range.contains(power)).collect()
}

/// A length as it is written at an axis: as a power of two from 2^10.
pub fn length(n: usize) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

    if n < 1024 || !n.is_power_of_two() {
        return n.to_string();
    }
    let exponent = n.ilog2() as usize;
    format!("2{}{}", RAISED[exponent / 10], RAISED[exponent % 10])
}

/// A power of ten in the unit in which it is 1, 10 or 100.
fn time(ns: f64) -> String {
    let (unit, size) = match ns {
        _ if ns >= 1e9 => ("s", 1e9),
        _ if ns >= 1e6 => ("ms", 1e6),
        _ if ns >= 1e3 => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    format!("{} {unit}", ns / size)
}

/// A number of threads, in words.
pub fn threads(threads: usize) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::LENGTHS;

    #[test]
    fn labels_are_short() {
        assert_eq!(length(128), "128");
        assert_eq!(length(1024), "2¹⁰");
        assert_eq!(length(1 << 20), "2²⁰");
        assert_eq!(length(3000), "3000");
        let range = 0.09..2e9;
        let labels: Vec<String> = decades(&range).into_iter().map(time).collect();
        let ns = ["0.1 ns", "1 ns", "10 ns", "100 ns", "1 µs", "10 µs"];
        assert_eq!(labels[..6], ns);
        assert_eq!(labels[6..], ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
    }

    /// Labels that run into each other.
    #[test]
    fn labels_have_their_distance() {
        let lengths = LENGTHS.map(|n| n as f64);
        let chosen = apart(&lengths, &(0.5..2e6), 270);
        let names: Vec<String> = chosen.iter().map(|&n| length(n as usize)).collect();
        assert_eq!(names, ["1", "8", "64", "2¹⁰", "2¹⁴", "2²⁰"]);
        assert_eq!(apart(&lengths, &(0.5..2e6), 3000), lengths);
    }
}
