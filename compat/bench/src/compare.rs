//! The interleaved rounds, the table, and `target/conga/rayon.csv`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::cells::{Cell, CELLS};
use crate::TURN;

/// What to measure.
pub struct Plan {
    threads: Vec<usize>,
    cells: Vec<&'static Cell>,
    rounds: usize,
}

impl Plan {
    pub fn parse(options: &[&str]) -> Result<Self, String> {
        let mut plan = Plan {
            threads: vec![1, 2, 4, 8],
            cells: CELLS.iter().collect(),
            rounds: 5,
        };
        let number = |text: &str| {
            let number = text.parse().ok().filter(|&number| number > 0);
            number.ok_or_else(|| format!("{text} is not a number from 1 on"))
        };
        let mut options = options.iter();
        while let Some(&option) = options.next() {
            let value = options.next();
            let value = value.ok_or_else(|| format!("{option} needs a value, or is unknown"))?;
            match option {
                "--threads" => {
                    plan.threads = value.split(',').map(number).collect::<Result<_, _>>()?
                }
                "--rounds" => plan.rounds = number(value)?,
                "--cells" => {
                    let is_asked =
                        |cell: &&Cell| value.split(',').any(|v| cell.name.starts_with(v));
                    plan.cells.retain(is_asked);
                    if plan.cells.is_empty() {
                        let names: Vec<_> = CELLS.iter().map(|cell| cell.name).collect();
                        return Err(format!("no cell begins with {value}: {}", names.join(" ")));
                    }
                }
                _ => return Err(format!("there is no option {option}")),
            }
        }
        Ok(plan)
    }
}

/// The medians in one cell, of one program.
#[derive(Clone, Copy)]
struct Figures {
    ns: f64,
    cpu_ns: f64,
}

/// Lets this program, which has the original, and the other take turns.
pub fn compare(patched: &str, plan: &Plan) -> Result<(), String> {
    let here = env::current_exe().map_err(|error| error.to_string())?;
    let programs = [&here, Path::new(patched)];
    let mut csv = String::from("cell,threads,core,ns,cpu_ns\n");
    let mut table = format!(
        "{:16} {:>7} {:>12} {:>12} {:>8} {:>12} {:>12} {:>8}  goal\n",
        "cell", "threads", "stock ns", "conga ns", "faster", "stock cpu", "conga cpu", "of it"
    );
    let (mut missed, mut done) = (Vec::new(), 0);
    let all = plan.cells.len() * plan.threads.len();
    for &cell in &plan.cells {
        for &threads in &plan.threads {
            done += 1;
            eprint!(
                "\r{done} of {all}: {} with {threads} threads          ",
                cell.name
            );
            let [stock, conga] = medians(&programs, cell, threads, plan.rounds)?;
            for (core, figures) in [("stock", stock), ("conga", conga)] {
                let Figures { ns, cpu_ns } = figures;
                let _ = writeln!(csv, "{},{threads},{core},{ns:.1},{cpu_ns:.1}", cell.name);
            }
            let (faster, share) = (stock.ns / conga.ns, conga.cpu_ns / stock.cpu_ns);
            let is_met = faster >= cell.faster && cell.cpu.is_none_or(|most| share <= most);
            let _ = writeln!(
                table,
                "{:16} {threads:7} {:12.0} {:12.0} {faster:8.2} {:12.0} {:12.0} {share:8.2}  {}",
                cell.name,
                stock.ns,
                conga.ns,
                stock.cpu_ns,
                conga.cpu_ns,
                if is_met { "met" } else { "MISSED" },
            );
            if !is_met {
                missed.push(format!("{} with {threads} threads", cell.name));
            }
        }
    }
    eprintln!();
    println!("{table}");
    match missed.len() {
        0 => println!("all {all} goals are met"),
        n => println!("{n} of {all} goals are missed: {}", missed.join(", ")),
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/conga");
    let file = folder.join("rayon.csv");
    let written = fs::create_dir_all(&folder)
        .and_then(|()| fs::File::create(&file)?.write_all(csv.as_bytes()));
    written.map_err(|error| format!("{} cannot be written: {error}", file.display()))
}

/// The medians of what each of the programs has measured in turn.
fn medians(
    programs: &[&Path; 2],
    cell: &Cell,
    threads: usize,
    rounds: usize,
) -> Result<[Figures; 2], String> {
    let mut measured = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (program, measured) in programs.iter().zip(&mut measured) {
            measured.push(turn(program, cell, threads)?);
        }
    }
    let median = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    Ok(measured.map(|turns| Figures {
        ns: median(turns.iter().map(|turn| turn.ns).collect()),
        cpu_ns: median(turns.iter().map(|turn| turn.cpu_ns).collect()),
    }))
}

fn turn(program: &Path, cell: &Cell, threads: usize) -> Result<Figures, String> {
    let of = || {
        format!(
            "{} in {} with {threads} threads",
            program.display(),
            cell.name
        )
    };
    let output = Command::new(program)
        .args([TURN, &threads.to_string(), cell.name])
        .output()
        .map_err(|error| format!("{}: {error}", of()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut figures = printed
        .split_whitespace()
        .map_while(|figure| figure.parse().ok());
    match (output.status.success(), figures.next(), figures.next()) {
        (true, Some(ns), Some(cpu_ns)) => Ok(Figures { ns, cpu_ns }),
        _ => Err(format!(
            "{} ended with {}\n{}",
            of(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
