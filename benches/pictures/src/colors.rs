//! The colours of the map's cells.

use plotters::prelude::*;

/// Beyond this regret, and below its inverse, the colour is the same.
pub const SATURATED: f64 = 2.0;

/// From blue over white at 1 to red, on a logarithmic scale: 0.5 is as blue as 2 is red.
pub fn regret_color(regret: f64) -> RGBColor {
    const BLUE: [RGBColor; 2] = [RGBColor(0x92, 0xc5, 0xde), RGBColor(0x1b, 0x60, 0xa6)];
    const RED: [RGBColor; 2] = [RGBColor(0xf6, 0xaf, 0x8e), RGBColor(0xad, 0x16, 0x2a)];

    let distance = (regret.ln() / SATURATED.ln()).clamp(-1.0, 1.0);
    let [pale, dark] = if distance < 0.0 { BLUE } else { RED };
    match 2.0 * distance.abs() {
        d if d <= 1.0 => mix(WHITE, pale, d),
        d => mix(pale, dark, d - 1.0),
    }
}

/// Beyond this overhead in nanoseconds the colour is the same.
pub const DARKEST_NS: f64 = 200.0;

/// Greys, none of them white.
pub fn overhead_color(ns: f64) -> RGBColor {
    let pale = RGBColor(0xee, 0xee, 0xee);
    let dark = RGBColor(0x58, 0x58, 0x58);
    mix(pale, dark, (ns / DARKEST_NS).clamp(0.0, 1.0))
}

/// A part of the way from one colour to another.
fn mix(from: RGBColor, to: RGBColor, part: f64) -> RGBColor {
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// The WCAG's contrast ratio of two colours, from 1 to 21.
fn contrast(a: RGBColor, b: RGBColor) -> f64 {
    let luminance = |RGBColor(r, g, b): RGBColor| {
        let [r, g, b] = [r, g, b].map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
    };
    let (a, b) = (luminance(a), luminance(b));
    (a / b).max(b / a)
}

/// Black or white, whatever is read better on a ground.
pub fn text_color(ground: RGBColor) -> RGBColor {
    if contrast(ground, WHITE) > contrast(ground, BLACK) {
        WHITE
    } else {
        BLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scale with another centre or other ends, or one of the two sides taken for the other.
    #[test]
    fn regret_diverges_from_one() {
        assert_eq!(regret_color(1.0), WHITE);
        assert_eq!(regret_color(2.0), regret_color(9.0));
        assert_eq!(regret_color(0.5), regret_color(0.1));
        assert_ne!(regret_color(1.9), regret_color(2.0));
        assert_ne!(regret_color(0.52), regret_color(0.5));
        let (slow, fast) = (regret_color(1.3), regret_color(1.0 / 1.3));
        assert!(slow.0 > slow.2 && fast.2 > fast.0, "{slow:?}, {fast:?}");
    }

    #[test]
    fn overhead_is_grey() {
        for ns in [-50.0, 0.0, 60.0, 150.0, 1000.0] {
            let RGBColor(r, g, b) = overhead_color(ns);
            assert!(r == g && g == b && r < 255, "{ns}: {r}, {g}, {b}");
        }
        assert!(overhead_color(60.0).0 > overhead_color(150.0).0);
    }

    /// Text that cannot be read on its ground: the WCAG asks for 4.5.
    #[test]
    fn text_stands_out() {
        let parts = (0..=100).map(|k| f64::from(k) / 100.0);
        for part in parts {
            for ground in [
                regret_color(4.0_f64.powf(part - 0.5)),
                overhead_color(DARKEST_NS * part),
            ] {
                let ratio = contrast(ground, text_color(ground));
                assert!(ratio >= 4.5, "{ground:?}: {ratio}");
            }
        }
    }
}
