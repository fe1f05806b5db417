//! One turn in one cell, in a process of its own.

use std::time::{Duration, Instant};

use crate::cells::{run, CELLS};

/// How long a turn measures, without pauses and with them.
const TURN: Duration = Duration::from_millis(60);
const TURN_WITH_PAUSES: Duration = Duration::from_millis(600);

/// Prints nanoseconds per call and CPU nanoseconds per call of that cell on a pool of so many threads.
pub fn take(threads: &str, cell: &str) -> Result<(), String> {
    let number = threads.parse();
    let number = number.map_err(|_| format!("{threads} is no number of threads"))?;
    let named = CELLS.iter().find(|known| known.name == cell);
    let named = named.ok_or_else(|| format!("there is no cell {cell}"))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number);
    pool.build_global().map_err(|error| error.to_string())?;
    let (time, cpu) = run(named);
    println!("{time:.1} {cpu:.1}");
    Ok(())
}

/// Calls `f` until the turn is over, at least three times after a warm-up: the median of the nanoseconds per
/// call in batches, and the mean of the CPU time per call. `pause` comes before each call and is not counted in
/// the first.
pub fn time(pause: Option<Duration>, mut f: impl FnMut()) -> (f64, f64) {
    let turn = pause.map_or(TURN, |_| TURN_WITH_PAUSES);
    // Nothing may pile up before the measurement.
    let wait = || pause.into_iter().for_each(std::thread::sleep);
    let begun = Instant::now();
    let mut warm = 0;
    while warm < 3 || begun.elapsed() < turn / 3 {
        wait();
        f();
        warm += 1;
        if begun.elapsed() > turn {
            break;
        }
    }
    let once = begun.elapsed() / warm;
    let batch = match pause {
        Some(_) => 1,
        None => (Duration::from_micros(200).as_nanos() / once.as_nanos().max(1)).max(1) as u32,
    };
    let mut times = Vec::new();
    let (begun, cpu_before) = (Instant::now(), cpu());
    let mut calls = 0;
    while times.len() < 3 || begun.elapsed() < turn {
        wait();
        let start = Instant::now();
        for _ in 0..batch {
            f();
        }
        times.push(start.elapsed().as_nanos() as f64 / f64::from(batch));
        calls += batch;
    }
    times.sort_by(f64::total_cmp);
    let cpu = (cpu() - cpu_before).as_nanos() as f64 / f64::from(calls);
    (times[times.len() / 2], cpu)
}

/// The process's CPU time so far.
fn cpu() -> Duration {
    // SAFETY: all zeros are a `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the memory is live and of the type asked for.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let of = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}
