//! What the pictures are drawn on, and with.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<io::Error>>;

/// Grid lines and frames.
pub const PALE: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// Text of less weight.
pub const GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);

/// Sizes of text, in pixels.
pub const TITLE: i32 = 18;
pub const HEADING: i32 = 14;
pub const TEXT: i32 = 12;
pub const LABEL: i32 = 11;

/// An SVG. It has a background of its own: what shows it may be dark.
pub fn picture(size: (i32, i32), draw: impl FnOnce(&Area) -> Drawn) -> Drawn<String> {
    let mut svg = String::new();
    {
        let size = (size.0 as u32, size.1 as u32);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        draw(&area)?;
        area.present()?;
    }
    Ok(svg)
}

/// A part of a picture, for a chart to fill.
pub fn part<'a>(area: &Area<'a>, at: (i32, i32), size: (i32, i32)) -> Area<'a> {
    area.clone().shrink(at, size)
}

/// The font, `px` pixels high.
pub fn font(px: i32, color: RGBColor) -> TextStyle<'static> {
    // The backend for SVG divides by as much.
    let size = f64::from(px) * 1.24;
    let style = TextStyle::from(("sans-serif", size).into_font());
    TextStyle {
        color: color.to_backend_color(),
        ..style
    }
}

/// Writes text whose left end, middle or right end is at a place.
pub fn write(area: &Area, at: (i32, i32), text: &str, h: HPos, style: TextStyle) -> Drawn {
    let style = style.pos(Pos::new(h, VPos::Center));
    area.draw(&Text::new(text, at, style))
}

pub fn bold(mut style: TextStyle) -> TextStyle {
    style.font = style.font.style(FontStyle::Bold);
    style
}

/// The title of a picture, and the lines of explanation below it, which end at [`below`].
pub fn write_title(area: &Area, title: &str, lines: &[&str]) -> Drawn {
    let style = bold(font(TITLE, BLACK));
    write(area, (MARGIN, 24), title, HPos::Left, style)?;
    for (k, line) in (0..).zip(lines) {
        let at = (MARGIN, below(k) + 8);
        write(area, at, line, HPos::Left, font(TEXT, GREY))?;
    }
    Ok(())
}

/// Where a picture goes on below a title with as many lines of explanation.
pub const fn below(lines: i32) -> i32 {
    40 + 17 * lines
}

/// What is kept free at the left and the right.
pub const MARGIN: i32 = 16;
