//! All pictures.

use crate::figures::Measured;
use crate::grid::Workload;
use crate::paper::Drawn;
use crate::{cpu, heat, time};

/// A file to be written.
pub struct Picture {
    pub file: String,
    /// `None` if the figures that it shows are missing.
    pub svg: Option<String>,
    /// Which figures these are.
    pub needs: &'static str,
}

/// Draws them from the cells of a file.
pub fn draw(cells: &[Measured]) -> Drawn<Vec<Picture>> {
    let mut pictures = Vec::new();
    let mut add = |file: String, svg, needs| pictures.push(Picture { file, svg, needs });
    for workload in Workload::ALL {
        let svg = time::of_workload(cells, workload)?;
        add(
            format!("time-{workload}.svg"),
            svg,
            "its workload with gap 0",
        );
    }
    let needs = "conga_adaptive and serial in one cell";
    add("regret.svg".to_owned(), heat::map(cells)?, needs);
    let svg = cpu::ratios_of_serial(cells)?;
    add("cpu.svg".to_owned(), svg, "serial and a pool with gap 1000");
    let needs = "axpy with 2 or 16 threads and gap 0";
    add("first.svg".to_owned(), time::first(cells)?, needs);
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::contenders::Pool;
    use crate::grid::{GAPS, THREADS};
    use crate::read;

    /// All contenders in cells of every workload, number of threads and gap; `line` may change a
    /// line or leave it out.
    fn csv(line: impl Fn(&str, String) -> String) -> String {
        let mut text = "workload,n,threads,gap_us,pool,ns,cpu_ns\n".to_owned();
        for (k, workload) in (1..).zip(Workload::ALL) {
            for n in [1, 128, 1024, 1 << 20] {
                for threads in THREADS {
                    for gap_us in GAPS {
                        for (j, (pool, name)) in (5..).zip(Pool::NAMES) {
                            let slower = if pool == Pool::Serial {
                                1.0
                            } else {
                                f64::from(j)
                            };
                            let ns = f64::from(k) * (1.0 + n as f64) * slower;
                            let cpu_ns = ns + gap_us as f64;
                            let cell = format!("{workload},{n},{threads},{gap_us},{name}");
                            let figures = format!("{ns:.1},{cpu_ns:.1}");
                            let _ = write!(text, "{}", line(name, format!("{cell},{figures}\n")));
                        }
                    }
                }
            }
        }
        text
    }

    fn draw_csv(csv: &str) -> Vec<(String, String)> {
        let cells = read::cells(csv).unwrap();
        let pictures = draw(&cells).unwrap().into_iter();
        pictures
            .map(|p| (p.file, p.svg.unwrap_or_default()))
            .collect()
    }

    /// The texts of a picture, each with its tag.
    fn texts(svg: &str) -> Vec<(&str, String)> {
        svg.split("<text ")
            .skip(1)
            .map(|text| {
                let (tag, rest) = text.split_once('>').unwrap();
                let text = rest.split_once("</text>").unwrap().0.trim();
                (tag, text.replace("&apos;", "'"))
            })
            .collect()
    }

    /// A contender that is drawn and not named, or left out.
    #[test]
    fn the_legends_name_every_pool() {
        for (file, svg) in draw_csv(&csv(|_, line| line)) {
            let texts = texts(&svg);
            let names = |name: &str| texts.iter().filter(|(_, text)| *text == name).count();
            if file == "first.svg" {
                for name in ["serial loop", "conga", "rayon", "chili", "forkunion"] {
                    assert_eq!(names(name), 1, "{file}: {name}");
                }
                assert_eq!(names("OpenMP static") + names("oneTBB static"), 2);
                continue;
            }
            for (pool, name) in Pool::NAMES {
                let expected = match &file[..] {
                    "regret.svg" => 0,
                    "cpu.svg" if pool == Pool::CongaAdaptive => 1,
                    "cpu.svg" => usize::from(!pool.is_conga() && pool != Pool::Serial),
                    _ => 1,
                };
                assert_eq!(names(name), expected, "{file}: {name}");
            }
        }
    }

    /// A picture that is dark where its page is, or empty.
    #[test]
    fn every_picture_has_a_ground_and_figures() {
        for (file, svg) in draw_csv(&csv(|_, line| line)) {
            let ground = svg.split('<').nth(2).unwrap_or_default();
            assert!(ground.starts_with("rect "), "{file}: {ground}");
            assert!(ground.contains("fill=\"#FFFFFF\""), "{file}: {ground}");
            let marks = svg.matches("<polyline").count() + svg.matches("<rect").count();
            assert!(marks > 50, "{file}: {marks}");
        }
    }

    /// A figure that is missing and drawn, at the place of another number or as `NaN`.
    #[test]
    fn what_is_missing_leaves_no_trace() {
        let missing = |name: &str| matches!(name, "chili" | "tbb_static");
        let left_out = csv(|name, line| if missing(name) { String::new() } else { line });
        let not_a_number = csv(|name, line| {
            if !missing(name) {
                return line;
            }
            let cell: Vec<&str> = line.split(',').take(5).collect();
            let figures = if name == "chili" { "NaN,NaN" } else { "," };
            format!("{},{figures}\n", cell.join(","))
        });
        for ((file, expected), (_, svg)) in draw_csv(&left_out).iter().zip(draw_csv(&not_a_number))
        {
            assert!(*expected == svg, "{file}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{file}");
        }
    }

    #[test]
    fn the_same_file_gives_the_same_bytes() {
        let csv = csv(|_, line| line);
        assert!(draw_csv(&csv) == draw_csv(&csv));
    }

    /// A picture that ends the run because another one's figures are missing, or is an empty file.
    #[test]
    fn a_picture_without_figures_is_not_drawn() {
        let csv = "workload,n,threads,gap_us,pool,ns,cpu_ns\n\
                   dot,8,1,0,serial,5000,5000\ndot,8,1,0,conga_adaptive,6000,6000\n";
        for (file, svg) in draw_csv(csv) {
            let drawn = matches!(&file[..], "time-dot.svg" | "regret.svg");
            assert_eq!(!svg.is_empty(), drawn, "{file}");
            assert!(!svg.contains("NaN"), "{file}");
        }
    }

    /// Text that is cut off at the edge.
    #[test]
    fn text_stays_within_the_picture() {
        let value = |tag: &str, name: &str| {
            let (_, rest) = tag.split_once(&format!("{name}=\"")).unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        for (file, svg) in draw_csv(&csv(|_, line| line)) {
            let number = |tag: &str, name: &str| value(tag, name).parse::<f64>().unwrap();
            let (width, height) = (number(&svg, "width"), number(&svg, "height"));
            for (tag, text) in texts(&svg) {
                if tag.contains("rotate") {
                    continue;
                }
                // Of a wide font, on average.
                let length = 0.5 * number(tag, "font-size") * text.chars().count() as f64;
                let left = match &value(tag, "text-anchor")[..] {
                    "start" => 0.0,
                    "middle" => length / 2.0,
                    _ => length,
                };
                let (x, y) = (number(tag, "x") - left, number(tag, "y"));
                assert!(x >= 0.0 && x + length <= width, "{file}: {text}");
                assert!(y >= 8.0 && y <= height - 8.0, "{file}: {text}");
            }
        }
    }
}
