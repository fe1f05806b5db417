//! A contender's turn, in the process that was started for it.

use std::hint::black_box;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::contenders::{Contender, PlainLoop, Pool};
use crate::grid::{Cell, Workload};
use crate::workloads::{self, Data};

/// A process whose turn is not over by then is ended by the system: a pool that collapses where
/// threads outnumber cores must not hold up the rest.
pub const LIMIT: Duration = Duration::from_secs(2);

/// The longest loop whose result is looked at. Longer ones differ in nothing but the time it takes.
const CHECKED: usize = 65_536;

/// What is measured, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    pub cell: Cell,
    /// Of [`workloads::chain`], for a microsecond.
    pub iterations: u64,
    /// The part of a turn in which threads start, pages are touched and prices are learnt.
    pub warm_up: Duration,
    /// The measured part.
    pub measured: Duration,
}

/// Nanoseconds per call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    pub ns: f64,
    /// Of all the process's threads, from call to call: what happens in the gap counts.
    pub cpu_ns: f64,
}

impl Turn {
    /// The arguments of a process that takes this turn.
    pub fn to_args(self, pool: Pool) -> [String; 8] {
        [
            pool.to_string(),
            self.cell.workload.to_string(),
            self.cell.n.to_string(),
            self.cell.threads.to_string(),
            self.cell.gap_us.to_string(),
            self.iterations.to_string(),
            self.warm_up.as_micros().to_string(),
            self.measured.as_micros().to_string(),
        ]
    }

    /// The opposite of [`to_args`](Self::to_args).
    pub fn from_args(args: &[String]) -> Option<(Pool, Turn)> {
        let [pool, workload, n, threads, gap_us, iterations, warm_up, measured] = args else {
            return None;
        };
        let turn = Turn {
            cell: Cell {
                workload: Workload::from_name(workload)?,
                n: n.parse().ok()?,
                threads: threads.parse().ok()?,
                gap_us: gap_us.parse().ok()?,
            },
            iterations: iterations.parse().ok()?,
            warm_up: Duration::from_micros(warm_up.parse().ok()?),
            measured: Duration::from_micros(measured.parse().ok()?),
        };
        Some((Pool::from_name(pool)?, turn))
    }

    /// Measures a contender, and looks whether it did what it was to do: one that leaves elements
    /// out would look fast.
    ///
    /// # Panics
    ///
    /// If it did not.
    pub fn run(&self, contender: &mut impl Contender) -> Figure {
        let mut data = Data::new(self.cell.workload, self.cell.n);
        let scale = workloads::skew_scale(self.iterations, self.cell.n);
        // `black_box` hides the arrays and their lengths, so that nothing is moved out of the loop.
        let Data { x, y } = &mut data;
        let figure = match self.cell.workload {
            Workload::Zero => self.time(|| contender.zero(black_box(y))),
            Workload::Axpy => {
                self.time(|| contender.axpy(workloads::A, black_box(x), black_box(y)))
            }
            Workload::Dot => self.time(|| {
                black_box(contender.dot(black_box(x), black_box(y)));
            }),
            Workload::Work => self.time(|| contender.work(self.iterations, black_box(y))),
            Workload::Skew => self.time(|| contender.skew(scale, black_box(y))),
        };
        if self.cell.n <= CHECKED {
            self.check(contender);
        }
        figure
    }

    fn check(&self, contender: &mut impl Contender) {
        let mut data = Data::new(self.cell.workload, self.cell.n);
        let mut expected = data.clone();
        let sum = self.once(contender, &mut data);
        let expected_sum = self.once(&mut PlainLoop, &mut expected);
        assert!(
            data.y == expected.y,
            "{}: not the elements of the serial loop",
            self.cell
        );
        assert!(
            (sum - expected_sum).abs() <= 1e-12 * expected_sum.abs(),
            "{}: {sum}, but the serial loop has {expected_sum}",
            self.cell
        );
    }

    /// One call. Returns the sum, or 0.
    fn once(&self, contender: &mut impl Contender, Data { x, y }: &mut Data) -> f64 {
        match self.cell.workload {
            Workload::Zero => contender.zero(y),
            Workload::Axpy => contender.axpy(workloads::A, x, y),
            Workload::Dot => return contender.dot(x, y),
            Workload::Work => contender.work(self.iterations, y),
            Workload::Skew => {
                contender.skew(workloads::skew_scale(self.iterations, self.cell.n), y)
            }
        }
        0.0
    }

    /// The mean over the measured part. A mean, because a pool that wakes a thread on one call in a
    /// hundred has to pay for it in its figure.
    fn time(&self, call: impl FnMut()) -> Figure {
        match self.cell.gap_us {
            0 => self.time_batches(call),
            20 => self.time_calls(call, || {
                black_box(workloads::chain(black_box(1.0), 20 * self.iterations));
            }),
            gap_us => self.time_calls(call, || thread::sleep(Duration::from_micros(gap_us))),
        }
    }

    /// Calls that follow each other: the clock is read for many at once.
    fn time_batches(&self, mut call: impl FnMut()) -> Figure {
        /// Reading the clock takes some 35 ns, far more than the shortest call.
        const BATCH: Duration = Duration::from_micros(100);

        let mut batch: u32 = 1;
        let warm_up = Instant::now();
        loop {
            let start = Instant::now();
            for _ in 0..batch {
                call();
            }
            let enough = start.elapsed() >= BATCH;
            if warm_up.elapsed() >= self.warm_up {
                break;
            }
            if !enough {
                batch *= 2;
            }
        }

        let mut calls = 0_u64;
        let cpu = cpu_time();
        let start = Instant::now();
        let elapsed = loop {
            for _ in 0..batch {
                call();
            }
            calls += u64::from(batch);
            let elapsed = start.elapsed();
            if elapsed >= self.measured {
                break elapsed;
            }
        };
        figure(calls, elapsed, cpu_time() - cpu)
    }

    /// Calls with a gap between them: each is timed by itself. The two readings of the clock are in
    /// every figure, the serial loop's included.
    fn time_calls(&self, mut call: impl FnMut(), mut gap: impl FnMut()) -> Figure {
        let warm_up = Instant::now();
        while warm_up.elapsed() < self.warm_up {
            gap();
            call();
        }

        let mut calls = 0_u64;
        let mut timed = Duration::ZERO;
        let cpu = cpu_time();
        let start = Instant::now();
        loop {
            gap();
            let before = Instant::now();
            call();
            let after = Instant::now();
            timed += after - before;
            calls += 1;
            if after - start >= self.measured {
                return figure(calls, timed, cpu_time() - cpu);
            }
        }
    }
}

fn figure(calls: u64, elapsed: Duration, cpu: Duration) -> Figure {
    let per_call = |time: Duration| time.as_nanos() as f64 / calls as f64;
    Figure {
        ns: per_call(elapsed),
        cpu_ns: per_call(cpu),
    }
}

/// User and system time of all threads of this process so far.
fn cpu_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is a place for the struct that the call fills.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(result, 0, "getrusage: {}", io::Error::last_os_error());
    // SAFETY: the call succeeded, so it has filled it.
    let usage = unsafe { usage.assume_init() };
    [usage.ru_utime, usage.ru_stime]
        .map(|t| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000))
        .iter()
        .sum()
}

/// Takes the turn that the arguments describe, and prints its figure for the process that waits.
///
/// # Panics
///
/// If the arguments are not those of [`Turn::to_args`].
pub fn main(args: &[String]) {
    let (pool, turn) = Turn::from_args(args).expect("arguments of a turn");
    // SAFETY: `alarm` has no preconditions. Its signal, which nobody handles, ends the process.
    unsafe { libc::alarm(LIMIT.as_secs() as u32) };
    let Figure { ns, cpu_ns } = pool.run(&turn);
    println!("{ns} {cpu_ns}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that measures something else than it was asked to.
    #[test]
    fn arguments_come_back() {
        let turn = Turn {
            cell: Cell {
                workload: Workload::Skew,
                n: 8,
                threads: 2,
                gap_us: 20,
            },
            iterations: 400,
            warm_up: Duration::from_millis(5),
            measured: Duration::from_millis(40),
        };
        let args = turn.to_args(Pool::Chili);
        assert_eq!(Turn::from_args(&args), Some((Pool::Chili, turn)));
    }
}
