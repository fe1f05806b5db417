//! The file that `benches/peers` writes.
//!
//! No field of it holds a comma or a quote, so that its lines are simply split.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::{fs, iter};

use crate::contenders::Pool;
use crate::figures::{Figure, Measured};
use crate::grid::{Cell, Workload};

const COLUMNS: [&str; 7] = ["workload", "n", "threads", "gap_us", "pool", "ns", "cpu_ns"];

/// The cells of a file, in its order.
///
/// # Errors
///
/// What is wrong with the file, where, and what to do.
pub fn file(path: &Path) -> Result<Vec<Measured>, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        format!(
            "cannot read {name}: {error}; benches/peers writes it, or name another file: see --help"
        )
    })?;
    cells(&text).map_err(|error| format!("{name}: {error}"))
}

/// The same for a file that holds `text`.
///
/// # Errors
///
/// What is wrong, where, and what to do, without the file's name.
pub fn cells(text: &str) -> Result<Vec<Measured>, String> {
    let mut lines = (1..).zip(text.lines());
    let (_, header) = lines.next().unwrap_or((1, ""));
    check_header(header)?;

    let mut cells: Vec<Measured> = Vec::new();
    for (number, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        let line = Line::new(number, text)?;
        let cell = Cell {
            workload: line.one_of(0, Workload::ALL.iter().map(|&w| (w, w.name())))?,
            n: line.positive(1)?,
            threads: line.positive(2)?,
            gap_us: line.number(3, "a number of microseconds")?,
        };
        let pool = line.one_of(4, Pool::NAMES.into_iter())?;
        let figure = Figure {
            ns: line.nanoseconds(5)?,
            cpu_ns: line.nanoseconds(6)?,
        };
        let known = cells.iter().position(|m| m.cell == cell);
        let known = known.unwrap_or_else(|| {
            cells.push(Measured {
                cell,
                figures: Vec::new(),
            });
            cells.len() - 1
        });
        let figures = &mut cells[known].figures;
        if figures.iter().any(|&(p, _)| p == pool) {
            return Err(format!(
                "line {}: {pool} has figures for this cell already ({cell}); keep one of the lines",
                line.number
            ));
        }
        figures.push((pool, figure));
    }
    if cells.is_empty() {
        return Err("there are no figures below the header; run benches/peers again".to_owned());
    }
    Ok(cells)
}

fn check_header(header: &str) -> Result<(), String> {
    let found = header
        .split(',')
        .map(|name| Some(name.trim()))
        .chain(iter::repeat(None));
    let expected = COLUMNS.into_iter().map(Some).chain([None]);
    for (column, (found, expected)) in (1..).zip(found.zip(expected)) {
        if found != expected {
            let found = found.unwrap_or("nothing");
            let expected = expected.unwrap_or("nothing");
            return Err(format!(
                "line 1, column {column}: the header says {found:?} instead of {expected:?}; name a \
                 file that benches/peers has written, with the header {}",
                COLUMNS.join(",")
            ));
        }
    }
    Ok(())
}

/// A line, as its number and its fields.
struct Line<'t> {
    number: usize,
    fields: [&'t str; COLUMNS.len()],
}

impl<'t> Line<'t> {
    fn new(number: usize, text: &'t str) -> Result<Line<'t>, String> {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        match fields.try_into() {
            Ok(fields) => Ok(Line { number, fields }),
            Err(fields) => Err(format!(
                "line {number}: {} columns instead of the header's {}; was the file cut off?",
                fields.len(),
                COLUMNS.len()
            )),
        }
    }

    fn error(&self, column: usize, expected: impl Display) -> String {
        format!(
            "line {}, column {} ({}): {:?} is not {expected}",
            self.number,
            column + 1,
            COLUMNS[column],
            self.fields[column]
        )
    }

    fn one_of<T>(
        &self,
        column: usize,
        valid: impl Iterator<Item = (T, &'static str)> + Clone,
    ) -> Result<T, String> {
        let mut named = valid
            .clone()
            .filter(|(_, name)| *name == self.fields[column]);
        named.next().map(|(value, _)| value).ok_or_else(|| {
            let names: Vec<&str> = valid.map(|(_, name)| name).collect();
            self.error(column, format!("one of {}", names.join(", ")))
        })
    }

    fn number<T: FromStr>(&self, column: usize, expected: &str) -> Result<T, String> {
        let number = self.fields[column].parse();
        number.map_err(|_| self.error(column, expected))
    }

    fn positive(&self, column: usize) -> Result<usize, String> {
        match self.number(column, "a whole number")? {
            0 => Err(self.error(column, "at least 1")),
            number => Ok(number),
        }
    }

    /// Not a number where there is none, or one too short to be written with its one decimal: no
    /// ratio can be made of it.
    fn nanoseconds(&self, column: usize) -> Result<f64, String> {
        const EXPECTED: &str = "a time in nanoseconds, NaN or empty";
        if self.fields[column].is_empty() {
            return Ok(f64::NAN);
        }
        let ns: f64 = self.number(column, EXPECTED)?;
        if ns == 0.0 {
            Ok(f64::NAN)
        } else if ns.is_nan() || (ns.is_finite() && ns > 0.0) {
            Ok(ns)
        } else {
            Err(self.error(column, EXPECTED))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "workload,n,threads,gap_us,pool,ns,cpu_ns\n";

    fn error(text: &str) -> String {
        cells(text).unwrap_err()
    }

    #[test]
    fn lines_of_a_cell_come_together() {
        let text = format!(
            "{HEADER}dot,8,2,20,serial,1.5,2\nzero,8,2,20,serial,3,3\n\ndot,8,2,20,omp_dynamic,NaN,\n"
        );
        let cells = cells(&text).unwrap();
        assert_eq!(cells.len(), 2);
        let Measured { cell, figures } = &cells[0];
        assert_eq!((cell.workload, cell.n), (Workload::Dot, 8));
        assert_eq!((cell.threads, cell.gap_us), (2, 20));
        let serial = Figure {
            ns: 1.5,
            cpu_ns: 2.0,
        };
        assert_eq!(figures[0], (Pool::Serial, serial));
        assert_eq!(figures[1].0, Pool::OmpDynamic);
        assert!(figures[1].1.ns.is_nan() && figures[1].1.cpu_ns.is_nan());
    }

    #[test]
    fn no_time_is_not_a_number() {
        for none in ["", " ", "NaN", "0", "0.0"] {
            let text = format!("{HEADER}dot,8,2,20,serial,{none},1\r\n");
            let figure = cells(&text).unwrap()[0].figures[0].1;
            assert!(figure.ns.is_nan() && figure.cpu_ns == 1.0, "{none}");
        }
    }

    #[test]
    fn a_bad_header_is_pointed_at() {
        let error_of = |header: &str| error(&format!("{header}\ndot,8,2,20,serial,1,1\n"));
        let wrong = error_of("workload,n,threads,gap,pool,ns,cpu_ns");
        assert!(wrong.starts_with("line 1, column 4: "), "{wrong}");
        assert!(wrong.contains("\"gap\" instead of \"gap_us\""), "{wrong}");
        let short = error_of("workload,n,threads,gap_us,pool,ns");
        assert!(short.starts_with("line 1, column 7: "), "{short}");
        let long = error_of("workload,n,threads,gap_us,pool,ns,cpu_ns,more");
        assert!(long.starts_with("line 1, column 8: "), "{long}");
        assert!(error("").starts_with("line 1, column 1: "));
    }

    #[test]
    fn a_bad_field_is_pointed_at() {
        let good = "dot,8,2,20,serial,1,1";
        for (column, name, bad) in [
            (1, "workload", "dott,8,2,20,serial,1,1"),
            (2, "n", "dot,0,2,20,serial,1,1"),
            (3, "threads", "dot,8,two,20,serial,1,1"),
            (4, "gap_us", "dot,8,2,-20,serial,1,1"),
            (5, "pool", "dot,8,2,20,Serial,1,1"),
            (6, "ns", "dot,8,2,20,serial,1.2.3,1"),
            (6, "ns", "dot,8,2,20,serial,-1,1"),
            (7, "cpu_ns", "dot,8,2,20,serial,1,inf"),
        ] {
            let error = error(&format!("{HEADER}{good}\n{bad}\n"));
            let place = format!("line 3, column {column} ({name}): ");
            assert!(error.starts_with(&place), "{bad}: {error}");
        }
        assert!(error(&format!("{HEADER}dot,8,2,20,ryon,1,1\n")).contains("rayon_outside"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = file(Path::new("not/there.csv")).unwrap_err();
        assert!(error.starts_with("cannot read not/there.csv: "), "{error}");
        assert!(error.contains("benches/peers"), "{error}");
    }

    /// A file that was cut off, or put together from two.
    #[test]
    fn a_line_too_short_or_twice_is_pointed_at() {
        let good = "dot,8,2,20,serial,1,1\n";
        assert!(error(&format!("{HEADER}{good}dot,8,2,20,chi")).starts_with("line 3: 5 columns"));
        let twice = error(&format!("{HEADER}{good}\n{good}"));
        assert!(twice.starts_with("line 4: serial has figures"), "{twice}");
        assert!(error(HEADER).starts_with("there are no figures"));
    }
}
