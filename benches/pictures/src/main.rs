//! SVG pictures of what `benches/peers` has measured, drawn from the file that it writes. The same
//! file gives the same pictures, to the byte.
//!
//! | file | what |
//! |---|---|
//! | `args` | the command line |
//! | `read` | the file |
//! | `figures` | what it holds |
//! | `pictures` | which pictures there are |
//! | `time`, `heat`, `cpu` | what is in them |
//! | `colors` | the colours of the map |
//! | `panel`, `style`, `paper` | axes; the pools' lines and markers; text and places |
//!
//! The contenders' names, the grid, and what the figures mean are the measuring package's own
//! files: what is best, light or a goal is said in one place.

mod args;
mod colors;
#[path = "../../peers/src/contenders/pool.rs"]
mod contenders;
mod cpu;
mod figures;
#[allow(dead_code)]
#[path = "../../peers/src/grid.rs"]
mod grid;
mod heat;
mod panel;
mod paper;
mod pictures;
mod read;
#[allow(dead_code)]
#[path = "../../peers/src/regret.rs"]
mod regret;
mod style;
mod time;

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use args::Args;
// The modules in which `regret` looks for its types.
use figures as measure;
use figures as turn;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = Args::parse(&args).and_then(|args| match args {
        Args::Help => {
            println!("{}", args::HELP);
            Ok(())
        }
        Args::Draw { csv, directory } => run(&csv, &directory),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pictures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(csv: &Path, directory: &Path) -> Result<(), String> {
    let cells = read::file(csv)?;
    let pictures = pictures::draw(&cells).map_err(|error| format!("cannot draw: {error}"))?;
    fs::create_dir_all(directory).map_err(|error| cannot("create", directory, &error))?;
    for picture in pictures {
        let path = directory.join(&picture.file);
        match picture.svg {
            Some(svg) => {
                fs::write(&path, svg).map_err(|error| cannot("write", &path, &error))?;
                println!("written to {}", path.display());
            }
            None => println!("{} not drawn: it needs {}", picture.file, picture.needs),
        }
    }
    Ok(())
}

fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!("cannot {verb} {path}: {error}; name a directory that can be written: see --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture that is drawn and not written.
    #[test]
    fn what_is_drawn_is_written() {
        let directory = std::env::temp_dir().join(format!("pictures-{}", std::process::id()));
        let pictures = directory.join("svg");
        let csv = directory.join("peers.csv");
        fs::create_dir_all(&directory).unwrap();
        let mut text = "workload,n,threads,gap_us,pool,ns,cpu_ns\n".to_owned();
        for workload in grid::Workload::ALL {
            for gap_us in [0, 1000] {
                for pool in ["serial", "conga_adaptive"] {
                    text += &format!("{workload},8,2,{gap_us},{pool},1500,1500\n");
                }
            }
        }
        fs::write(&csv, text).unwrap();
        let outcome = run(&csv, &pictures);
        let mut files: Vec<String> = fs::read_dir(&pictures)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(outcome, Ok(()));
        assert_eq!(
            files,
            [
                "cpu.svg",
                "first.svg",
                "regret.svg",
                "time-axpy.svg",
                "time-dot.svg",
                "time-skew.svg",
                "time-work.svg",
                "time-zero.svg"
            ]
        );
    }
}
