//! The command line.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use conga::Dispatch;

use crate::linear_solver::Solver;
use crate::pcg::Tolerance;
use crate::summary::Options;

pub const HELP: &str = "\
Solves a bundle adjustment problem by Levenberg-Marquardt, all loops on conga, once for each
strategy and number of threads, and compares times and results.

Usage: bundle_adjustment [OPTIONS]

Options:
  --problem FILE          a problem in BAL format, plain or compressed with gzip
                          [default: the built-in one, 16 cameras and 22,106 points]
  --solver cg|dense       cg: preconditioned conjugate gradients on the implicit Schur
                          complement; dense: factor the reduced camera matrix [default: cg]
  --dispatch LIST         strategies: per-thread, chained, adaptive
                          [default: per-thread,chained,adaptive]
  --threads LIST          numbers of threads, the calling one included, each from 1 to 1024
                          [default: 1,2,4,8]
  --max-iterations N      stop after so many iterations [default: 50]
  --function-tolerance X  stop when the cost changes by no more than this fraction
                          [default: 1e-6]
  --eta X                 cg: stop when a step gains less than this fraction of the mean gain
                          [default: 0.1]
  --max-cg-iterations N   cg: stop after so many steps [default: 500]
  --help                  print this

Exit status: 0 if all results have the same bits, 1 if not or if there are none, 2 if the
command line is wrong.
";

const MAX_THREADS: usize = 1024;

/// The strategies and their names.
pub const STRATEGIES: [(&str, Dispatch); 3] = [
    ("per-thread", Dispatch::PerThread),
    ("chained", Dispatch::Chained),
    ("adaptive", Dispatch::Adaptive),
];

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// `None` means the built-in problem.
    pub problem: Option<PathBuf>,
    /// Indices into `STRATEGIES`; at least one.
    pub strategies: Vec<usize>,
    /// At least one.
    pub threads: Vec<usize>,
    pub options: Options,
}

#[derive(Clone, Debug)]
pub enum Command {
    Help,
    Run(Arguments),
}

/// What is wrong with the command line.
#[derive(Clone, Debug, PartialEq)]
pub enum UsageError {
    Unknown(String),
    NoValue(&'static str),
    /// Option, value, what it should be.
    Invalid(&'static str, String, &'static str),
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsageError::Unknown(argument) => write!(f, "there is no option '{argument}'")?,
            UsageError::NoValue(option) => write!(f, "{option} needs a value")?,
            UsageError::Invalid(option, value, expected) => {
                write!(f, "{option} should be {expected}, not '{value}'")?;
            }
        }
        f.write_str("; --help tells what there is")
    }
}

impl Error for UsageError {}

/// Reads the command line, without the program's name.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut parsed = Arguments {
        problem: None,
        strategies: (0..STRATEGIES.len()).collect(),
        threads: vec![1, 2, 4, 8],
        options: Options {
            solver: Solver::ConjugateGradients,
            linear: Tolerance {
                eta: 0.1,
                max_iterations: 500,
            },
            max_iterations: 50,
            function_tolerance: 1e-6,
        },
    };
    let mut arguments = Values(arguments);
    while let Some(argument) = arguments.0.next() {
        let options = &mut parsed.options;
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--problem") => parsed.problem = Some(arguments.value("--problem")?.into()),
            Some("--solver") => {
                options.solver = arguments.parse("--solver", "cg or dense", solver)?
            }
            Some("--dispatch") => {
                let expected = "a list of per-thread, chained and adaptive";
                parsed.strategies =
                    arguments.parse("--dispatch", expected, |v| list(v, strategy))?;
            }
            Some("--threads") => {
                let expected = "a list of whole numbers from 1 to 1024";
                parsed.threads = arguments.parse("--threads", expected, |v| list(v, threads))?;
            }
            Some("--max-iterations") => {
                options.max_iterations =
                    arguments.parse("--max-iterations", "a whole number", number)?;
            }
            Some("--function-tolerance") => {
                let expected = "a number from 0 to 1";
                options.function_tolerance =
                    arguments.parse("--function-tolerance", expected, fraction)?;
            }
            Some("--eta") => {
                options.linear.eta = arguments.parse("--eta", "a number from 0 to 1", fraction)?;
            }
            Some("--max-cg-iterations") => {
                let expected = "a whole number above 0";
                options.linear.max_iterations =
                    arguments.parse("--max-cg-iterations", expected, |v| {
                        number(v).filter(|&n| n > 0)
                    })?;
            }
            _ => return Err(UsageError::Unknown(argument.to_string_lossy().into())),
        }
    }
    Ok(Command::Run(parsed))
}

struct Values<I>(I);

impl<I: Iterator<Item = OsString>> Values<I> {
    fn value(&mut self, option: &'static str) -> Result<OsString, UsageError> {
        self.0.next().ok_or(UsageError::NoValue(option))
    }

    fn parse<T>(
        &mut self,
        option: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, UsageError> {
        let value = self.value(option)?;
        value
            .to_str()
            .and_then(parse)
            .ok_or_else(|| UsageError::Invalid(option, value.to_string_lossy().into(), expected))
    }
}

fn list<T>(value: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    value.split(',').map(parse).collect()
}

fn solver(value: &str) -> Option<Solver> {
    match value {
        "cg" => Some(Solver::ConjugateGradients),
        "dense" => Some(Solver::Dense),
        _ => None,
    }
}

fn strategy(value: &str) -> Option<usize> {
    STRATEGIES.iter().position(|(name, _)| *name == value)
}

fn threads(value: &str) -> Option<usize> {
    number(value).filter(|threads| (1..=MAX_THREADS).contains(threads))
}

fn number<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

fn fraction(value: &str) -> Option<f64> {
    number(value).filter(|x| (0.0..=1.0).contains(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Command, UsageError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn arguments(line: &str) -> Arguments {
        match parse_line(line) {
            Ok(Command::Run(arguments)) => arguments,
            other => panic!("{other:?}"),
        }
    }

    /// Catches an option that sets something else.
    #[test]
    fn options_are_read() {
        let all = arguments(
            "--problem a/b --solver dense --dispatch adaptive,per-thread --threads 3,1 \
             --max-iterations 7 --function-tolerance 1e-3 --eta 0.5 --max-cg-iterations 9",
        );
        assert_eq!(all.problem, Some(PathBuf::from("a/b")));
        assert_eq!(all.strategies, [2, 0]);
        assert_eq!(all.threads, [3, 1]);
        assert_eq!(all.options.solver, Solver::Dense);
        assert_eq!(all.options.max_iterations, 7);
        assert_eq!(all.options.function_tolerance, 1e-3);
        assert_eq!(all.options.linear.eta, 0.5);
        assert_eq!(all.options.linear.max_iterations, 9);
        assert!(matches!(parse_line("--eta 0.2 --help"), Ok(Command::Help)));
    }

    /// Catches defaults other than those that the help tells.
    #[test]
    fn defaults_are_those_of_the_help() {
        let default = arguments("");
        let told = arguments(
            "--solver cg --dispatch per-thread,chained,adaptive --threads 1,2,4,8 \
             --max-iterations 50 --function-tolerance 1e-6 --eta 0.1 --max-cg-iterations 500",
        );
        assert_eq!(format!("{default:?}"), format!("{told:?}"));
    }

    /// Catches a wrong value that is taken, or that ends in a panic.
    #[test]
    fn mistakes_are_errors() {
        for line in [
            "--what",
            "file",
            "--problem",
            "--solver",
            "--solver qr",
            "--dispatch fast",
            "--dispatch adaptive,",
            "--threads 0",
            "--threads 1025",
            "--threads 1,,2",
            "--threads -1",
            "--max-iterations 1.5",
            "--eta nan",
            "--eta -0.1",
            "--function-tolerance 2",
            "--max-cg-iterations 0",
        ] {
            let message = parse_line(line).unwrap_err().to_string();
            assert!(
                message.ends_with("; --help tells what there is"),
                "{message}"
            );
        }
    }
}
