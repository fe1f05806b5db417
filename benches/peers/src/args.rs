//! The command line.

use std::fmt::Display;

use crate::contenders::Pool;
use crate::grid::{Selection, Workload, GAPS, LENGTHS, THREADS};

pub const HELP: &str = "\
conga beside other thread pools: nanoseconds and CPU time per call over a grid of loops.

  cargo run --release --manifest-path benches/peers/Cargo.toml -- [options]

  --quick          a smaller grid and shorter turns: under 3 minutes instead of under 40
  --workload LIST  zero, axpy, dot, work, skew
  --n LIST         lengths
  --threads LIST   threads that work on a loop
  --gap LIST       microseconds between calls: 0, 20 (serial work), 1000 (asleep)
  --pools LIST     contenders; serial and conga_adaptive always take part
  --retry          measures the cells that miss their goal three more times, and takes the median
                   of the four measurements
  --help           this text

Lists are separated by commas. An axis that is not named is thinned: see src/grid.rs.";

/// What the command line asks for.
#[derive(Debug, Default)]
pub struct Args {
    pub selection: Selection,
    /// In the order of the table's columns.
    pub pools: Vec<Pool>,
    pub retry: bool,
    pub help: bool,
}

impl Args {
    /// # Errors
    ///
    /// What is wrong, and what would be right.
    pub fn parse(args: &[String]) -> Result<Args, String> {
        let mut parsed = Args {
            pools: Pool::available(),
            ..Args::default()
        };
        let selection = &mut parsed.selection;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut list = || {
                let list = args.next();
                list.ok_or_else(|| format!("{arg} needs a list, as in `--n 1,128`"))
            };
            match arg.as_str() {
                "--quick" => selection.quick = true,
                "--retry" => parsed.retry = true,
                "--help" | "-h" => parsed.help = true,
                "--workload" => {
                    selection.workloads = Some(values(arg, list()?, &Workload::ALL)?);
                }
                "--n" => selection.lengths = Some(values(arg, list()?, &LENGTHS)?),
                "--threads" => selection.threads = Some(values(arg, list()?, &THREADS)?),
                "--gap" => selection.gaps = Some(values(arg, list()?, &GAPS)?),
                "--pools" => {
                    let named = values(arg, list()?, &Pool::available())?;
                    let always = [Pool::Serial, Pool::CongaAdaptive];
                    parsed
                        .pools
                        .retain(|pool| named.contains(pool) || always.contains(pool));
                }
                _ => return Err(format!("unknown option {arg}\n\n{HELP}")),
            }
        }
        Ok(parsed)
    }
}

/// The values that a list names, by what they are printed as.
fn values<T: Copy + Display>(option: &str, list: &str, valid: &[T]) -> Result<Vec<T>, String> {
    list.split(',')
        .map(|name| {
            let found = valid.iter().find(|value| value.to_string() == name);
            found.copied().ok_or_else(|| {
                let valid: Vec<String> = valid.iter().map(T::to_string).collect();
                format!("{option} {name}: valid are {}", valid.join(", "))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(
            &line
                .split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn lists_are_read() {
        let args = parse("--quick --n 1,1048576 --gap 20 --pools chili --retry").unwrap();
        assert!(args.selection.quick && args.retry && !args.help);
        assert_eq!(args.selection.lengths, Some(vec![1, 1 << 20]));
        assert_eq!(args.selection.gaps, Some(vec![20]));
        assert_eq!(args.pools, [Pool::Serial, Pool::CongaAdaptive, Pool::Chili]);
    }

    /// An unknown value that is dropped in silence.
    #[test]
    fn unknown_values_name_the_valid_ones() {
        let error = parse("--threads 3").unwrap_err();
        assert_eq!(error, "--threads 3: valid are 1, 2, 4, 8, 16");
        assert!(parse("--pools ryon").unwrap_err().contains("rayon_outside"));
        assert!(parse("--n").unwrap_err().contains("needs a list"));
        assert!(parse("--fast").unwrap_err().contains("--quick"));
    }
}
