//! The command line.

use std::path::{Path, PathBuf};

pub const HELP: &str = "\
SVG pictures of what benches/peers has measured.

  cargo run --release --manifest-path benches/pictures/Cargo.toml -- [CSV] [DIRECTORY]

  CSV          the file that benches/peers writes; target/conga/peers.csv if it is not named
  DIRECTORY    where the pictures go; benches/pictures/svg if it is not named
  --help       this text

  time-<workload>.svg   time per call over the length, a panel for each number of threads
  regret.svg            conga's adaptive strategy against the best of all others, cell by cell
  cpu.svg               CPU time per call where calls are a millisecond apart
  first.svg             the README's picture: axpy with 2 and with 16 threads";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Args {
    Help,
    Draw { csv: PathBuf, directory: PathBuf },
}

impl Args {
    /// # Errors
    ///
    /// What is wrong, and what would be right.
    pub fn parse(args: &[String]) -> Result<Args, String> {
        if args.iter().any(|arg| arg == "--help" || arg == "-h") {
            return Ok(Args::Help);
        }
        if let Some(option) = args.iter().find(|arg| arg.starts_with('-')) {
            return Err(format!("unknown option {option}\n\n{HELP}"));
        }
        if let Some(third) = args.get(2) {
            return Err(format!(
                "{third}: a CSV and a directory are all that can be named\n\n{HELP}"
            ));
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // A default that is there is printed without the detour.
        let root = root.canonicalize().unwrap_or(root);
        let path = |k: usize, default: &str| {
            let named = args.get(k).map(PathBuf::from);
            named.unwrap_or_else(|| root.join(default))
        };
        Ok(Args::Draw {
            csv: path(0, "target/conga/peers.csv"),
            directory: path(1, "benches/pictures/svg"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        Args::parse(&args)
    }

    /// A second path that is taken for the first, or defaults below the directory of the caller.
    #[test]
    fn what_is_not_named_has_a_default() {
        let draw = |line: &str| match parse(line) {
            Ok(Args::Draw { csv, directory }) => (csv, directory),
            other => panic!("{line}: {other:?}"),
        };
        let (csv, directory) = draw("");
        assert!(csv.is_absolute() && csv.ends_with("target/conga/peers.csv"));
        assert!(directory.is_absolute() && directory.ends_with("benches/pictures/svg"));
        assert_eq!(draw("a.csv").0, Path::new("a.csv"));
        assert_eq!(draw("a.csv").1, directory);
        assert_eq!(draw("a.csv b").1, Path::new("b"));
        assert_eq!(parse("a.csv --help"), Ok(Args::Help));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert!(parse("--fast").unwrap_err().contains("--fast"));
        assert!(parse("a b c").unwrap_err().starts_with("c: "));
    }
}
