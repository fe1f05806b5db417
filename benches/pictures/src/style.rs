//! How a pool is drawn: the same way in all pictures.
//!
//! The colours are those of Okabe and Ito's palette for readers who confuse colours, its yellow
//! darkened for a white ground, with a grey and Tol's wine red beside them. A colour stands for a
//! library, its second way of use is dashed; and no two pools have the same marker, so that none is
//! known by its colour alone.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::contenders::Pool::{self, *};
use crate::paper::{font, write, Area, Drawn, TEXT};

const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);
const YELLOW: RGBColor = RGBColor(0xc9, 0xb4, 0x00);
const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
const WINE: RGBColor = RGBColor(0x88, 0x22, 0x55);
const GREY: RGBColor = RGBColor(0x88, 0x88, 0x88);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dash {
    Solid,
    Dashed,
    Dotted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Circle,
    Square,
    Up,
    Down,
    Diamond,
    Cross,
    Plus,
    Star,
}

/// A pool's line and marker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    color: RGBColor,
    width: u32,
    dash: Dash,
    shape: Shape,
    /// Only of shapes that have an inside.
    filled: bool,
}

impl Style {
    pub fn of(pool: Pool) -> Style {
        use Dash::*;
        use Shape::*;

        let (color, width, dash, shape, filled) = match pool {
            Serial => (BLACK, 2, Solid, Nothing, false),
            CongaAdaptive => (VERMILLION, 5, Solid, Nothing, true),
            CongaChained => (VERMILLION, 2, Dashed, Nothing, false),
            CongaPerThread => (VERMILLION, 2, Dotted, Nothing, false),
            RayonOutside => (BLUE, 1, Solid, Circle, true),
            RayonInstall => (BLUE, 1, Dashed, Circle, false),
            Chili => (GREEN, 1, Solid, Square, true),
            Forkunion => (PURPLE, 1, Solid, Up, true),
            Paralight => (YELLOW, 1, Solid, Down, true),
            Orx => (ORANGE, 1, Solid, Diamond, true),
            StdScope => (GREY, 1, Solid, Cross, false),
            OmpStatic => (SKY, 1, Solid, Plus, false),
            OmpDynamic => (SKY, 1, Dashed, Star, false),
            OmpStaticPassive => (SKY, 1, Solid, Square, false),
            OmpDynamicPassive => (SKY, 1, Dashed, Diamond, false),
            TbbStatic => (WINE, 1, Solid, Up, false),
            TbbAuto => (WINE, 1, Dashed, Down, false),
        };
        Style {
            color,
            width,
            dash,
            shape,
            filled,
        }
    }

    /// The same with a line that is seen in a picture of few lines.
    pub fn wider(self) -> Style {
        Style {
            width: self.width + 1,
            ..self
        }
    }

    /// Draws the line through some pixels, with a marker at each.
    pub fn draw(&self, area: &Area, pixels: &[(i32, i32)]) -> Drawn {
        self.draw_line(area, pixels)?;
        pixels.iter().try_for_each(|&at| self.draw_marker(area, at))
    }

    fn draw_line(&self, area: &Area, pixels: &[(i32, i32)]) -> Drawn {
        let stroke = self.color.stroke_width(self.width);
        let (dash, space) = match self.dash {
            // A line of a single point: nothing else would show it.
            Dash::Solid if pixels.len() == 1 && self.shape == Shape::Nothing => {
                let radius = self.width as i32;
                return area.draw(&Circle::new(pixels[0], radius, self.color.filled()));
            }
            Dash::Solid => return area.draw(&PathElement::new(pixels.to_vec(), stroke)),
            Dash::Dashed => (9, 4),
            Dash::Dotted => (3, 4),
        };
        let pixels = pixels.iter().copied();
        area.draw(&DashedPathElement::new(pixels, dash, space, stroke))
    }

    fn draw_marker(&self, area: &Area, (x, y): (i32, i32)) -> Drawn {
        let outline: &[(i32, i32)] = match self.shape {
            Shape::Nothing => return Ok(()),
            Shape::Circle => {
                let circle = |radius, style| Circle::new((x, y), radius, style);
                area.draw(&circle(4, self.color.filled()))?;
                if !self.filled {
                    area.draw(&circle(3, WHITE.filled()))?;
                }
                return Ok(());
            }
            Shape::Square => &[(-3, -3), (3, -3), (3, 3), (-3, 3)],
            Shape::Up => &[(-4, 3), (4, 3), (0, -4)],
            Shape::Down => &[(-4, -3), (4, -3), (0, 4)],
            Shape::Diamond => &[(-4, 0), (0, -4), (4, 0), (0, 4)],
            Shape::Cross => return self.draw_strokes(area, (x, y), &[(3, 3), (3, -3)]),
            Shape::Plus => return self.draw_strokes(area, (x, y), &[(4, 0), (0, 4)]),
            Shape::Star => {
                let ends = [(4, 0), (0, 4), (3, 3), (3, -3)];
                return self.draw_strokes(area, (x, y), &ends);
            }
        };
        let mut corners: Vec<(i32, i32)> = outline.iter().map(|(i, j)| (x + i, y + j)).collect();
        let inside = if self.filled { self.color } else { WHITE };
        area.draw(&Polygon::new(corners.clone(), inside.filled()))?;
        corners.extend([corners[0], corners[1]]);
        area.draw(&PathElement::new(corners, self.color.stroke_width(1)))
    }

    /// A marker of strokes through its middle.
    fn draw_strokes(&self, area: &Area, (x, y): (i32, i32), ends: &[(i32, i32)]) -> Drawn {
        ends.iter().try_for_each(|(i, j)| {
            let stroke = vec![(x - i, y - j), (x + i, y + j)];
            area.draw(&PathElement::new(stroke, self.color.stroke_width(2)))
        })
    }
}

/// The order in which lines are drawn: conga's adaptive strategy above all others, and above its
/// thick line the serial loop's thin one, so that both are seen where they are the same.
pub fn layer(pool: Pool) -> u32 {
    match pool {
        Serial => 3,
        CongaAdaptive => 2,
        CongaChained | CongaPerThread => 1,
        _ => 0,
    }
}

/// An entry of a legend. It is as wide as [`SAMPLE`] and the text.
pub fn draw_entry(area: &Area, (x, y): (i32, i32), style: &Style, name: &str) -> Drawn {
    style.draw_line(area, &[(x, y), (x + SAMPLE, y)])?;
    style.draw_marker(area, (x + SAMPLE / 2, y))?;
    write(
        area,
        (x + SAMPLE + 8, y),
        name,
        HPos::Left,
        font(TEXT, BLACK),
    )
}

/// The length of a line in a legend.
pub const SAMPLE: i32 = 34;

/// A legend in a column, the serial loop and conga first.
pub fn draw_legend(area: &Area, (x, y): (i32, i32), pools: &[Pool]) -> Drawn {
    let mut pools = pools.to_vec();
    // Stable: what is in the same layer stays in the order of the tables.
    pools.sort_by_key(|&pool| std::cmp::Reverse(layer(pool)));
    for (k, pool) in (0..).zip(pools) {
        draw_entry(area, (x, y + 21 * k), &Style::of(pool), pool.name())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pools that a reader cannot tell apart.
    #[test]
    fn no_two_pools_look_alike() {
        let styles: Vec<Style> = Pool::NAMES.map(|(pool, _)| Style::of(pool)).to_vec();
        for (k, a) in styles.iter().enumerate() {
            for b in &styles[..k] {
                assert_ne!(a, b);
                let same_marker = (a.shape, a.filled) == (b.shape, b.filled);
                assert!(!same_marker || a.shape == Shape::Nothing, "{a:?}, {b:?}");
            }
        }
    }
}
