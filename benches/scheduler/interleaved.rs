//! The interleaved loop: in every round each contender of a cell has one turn, and the median over
//! the rounds counts.
//!
//! A slow spell of the machine thus hits all contenders of a cell, and a single one cannot move a
//! median. A contender's pool lives during its turn only, so its workers disturb nobody else's.

use std::time::{Duration, Instant};

use crate::contender::{
    array, pool, strategy_name, zero_on_pool, zero_serially, LENGTHS, STRATEGIES, THREADS,
};

/// How much time is spent on a figure.
pub struct Effort {
    /// Turns of each contender, an odd number. The median is taken over them.
    pub rounds: usize,
    /// The measured part of a turn.
    pub turn: Duration,
    /// The part of a turn before it, in which workers start and prices are learnt.
    pub warm_up: Duration,
}

impl Effort {
    /// 20 cells, 4 contenders, 5 rounds of 45 ms: 18 s.
    pub const FULL: Effort = Effort {
        rounds: 5,
        turn: Duration::from_millis(40),
        warm_up: Duration::from_millis(5),
    };

    /// Every contender once, for as short as possible.
    pub const ONCE: Effort = Effort {
        rounds: 1,
        turn: Duration::ZERO,
        warm_up: Duration::ZERO,
    };
}

/// The figures for one length and one thread count, nanoseconds per call.
pub struct Cell {
    pub n: usize,
    pub threads: usize,
    /// The plain loop, which has no pool and does not depend on `threads`.
    pub serial: f64,
    /// In the order of [`STRATEGIES`].
    pub strategies: [f64; STRATEGIES.len()],
}

/// Measures the whole grid, lengths outside and thread counts inside. Reports its progress on
/// stderr.
pub fn measure(effort: &Effort) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(LENGTHS.len() * THREADS.len());
    for n in LENGTHS {
        for threads in THREADS {
            let cell = measure_cell(effort, n, threads);
            cells.push(cell);
            eprintln!(
                "interleaved {:2} of {}: n = {n}, threads = {threads}",
                cells.len(),
                LENGTHS.len() * THREADS.len()
            );
        }
    }
    cells
}

fn measure_cell(effort: &Effort, n: usize, threads: usize) -> Cell {
    const CONTENDERS: usize = 1 + STRATEGIES.len();
    let mut turns: [Vec<f64>; CONTENDERS] = Default::default();
    for round in 0..effort.rounds {
        // Each round starts with another contender, so that none always follows the same one.
        for k in 0..CONTENDERS {
            let contender = (round + k) % CONTENDERS;
            turns[contender].push(turn(effort, contender, n, threads));
        }
    }
    let [serial, strategies @ ..] = turns.map(median);
    Cell {
        n,
        threads,
        serial,
        strategies,
    }
}

/// One turn of a contender: 0 is the serial loop, `k + 1` is strategy `k`.
fn turn(effort: &Effort, contender: usize, n: usize, threads: usize) -> f64 {
    let mut x = array(n);
    let Some(strategy) = contender.checked_sub(1) else {
        return time_per_call(effort, || zero_serially(&mut x));
    };
    let dispatch = STRATEGIES[strategy];
    let pool = pool(threads);
    let ns = time_per_call(effort, || zero_on_pool(&pool, dispatch, &mut x));

    // A strategy that leaves elements out would look fast.
    x.copy_from_slice(&array(n));
    zero_on_pool(&pool, dispatch, &mut x);
    assert!(
        x.iter().all(|&x| x == 0.0),
        "{} left elements out: n = {n}, threads = {threads}",
        strategy_name(dispatch)
    );
    ns
}

/// The mean time of a call over one turn, in nanoseconds.
///
/// A mean, because a strategy that wakes a worker on one call in a hundred has to pay for it in its
/// figure.
fn time_per_call(effort: &Effort, mut call: impl FnMut()) -> f64 {
    /// The clock is read once for so much work. Reading it takes some 35 ns, far more than the
    /// shortest call.
    const BATCH: Duration = Duration::from_micros(100);

    let mut batch: u32 = 1;
    let warm_up = Instant::now();
    loop {
        let start = Instant::now();
        for _ in 0..batch {
            call();
        }
        let enough = start.elapsed() >= BATCH;
        if warm_up.elapsed() >= effort.warm_up {
            break;
        }
        if !enough {
            batch *= 2;
        }
    }

    let mut calls = 0_u64;
    let start = Instant::now();
    loop {
        for _ in 0..batch {
            call();
        }
        calls += u64::from(batch);
        let elapsed = start.elapsed();
        if elapsed >= effort.turn {
            return elapsed.as_nanos() as f64 / calls as f64;
        }
    }
}

/// The middle one of an odd number of figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
