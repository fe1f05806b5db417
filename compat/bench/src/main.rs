//! What rayon programs do, timed: one process for one turn. Built twice from this one source, with the
//! original rayon-core and with conga's in its place; `compat/bench/run` lets both take turns.
//!
//! `bench THREADS CELL`: prints nanoseconds per call, and CPU nanoseconds per call, of that cell on a pool
//! of so many threads. `bench --list`: the cells.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// How long a turn measures, without pauses and with them.
const TURN: Duration = Duration::from_millis(60);
const TURN_WITH_PAUSES: Duration = Duration::from_millis(600);

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

/// Calls `f` until the turn is over, at least three times after a warm-up, and prints the median of the time
/// per call in batches. `pause` comes before each call and is not counted.
fn time(pause: Option<Duration>, mut f: impl FnMut()) {
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
    println!("{:.1} {cpu:.1}", times[times.len() / 2]);
}

struct Node {
    value: u64,
    children: Option<Box<(Node, Node)>>,
}

fn tree(depth: u32) -> Node {
    Node {
        value: 1,
        children: (depth > 1).then(|| Box::new((tree(depth - 1), tree(depth - 1)))),
    }
}

fn sum(node: &Node) -> u64 {
    match &node.children {
        None => node.value,
        Some(children) => {
            let (left, right) = rayon::join(|| sum(&children.0), || sum(&children.1));
            left + right + node.value
        }
    }
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn spin(nanoseconds: u32) {
    // About two thirds of a nanosecond a turn.
    let mut x = 1_u64;
    for _ in 0..nanoseconds {
        x = black_box(x.wrapping_mul(3));
    }
}

/// Positions and masses; one step computes forces, then moves.
fn n_body(bodies: &mut [[f64; 7]], forces: &mut [[f64; 3]]) {
    let all = &*bodies;
    forces.par_iter_mut().enumerate().for_each(|(i, force)| {
        let me = all[i];
        *force = [0.0; 3];
        for other in all {
            let d = [other[0] - me[0], other[1] - me[1], other[2] - me[2]];
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;
            let s = other[6] / (r2 * r2.sqrt());
            for k in 0..3 {
                force[k] += s * d[k];
            }
        }
    });
    bodies.par_iter_mut().zip(&*forces).for_each(|(body, force)| {
        for k in 0..3 {
            body[3 + k] += 1e-3 * force[k];
            body[k] += 1e-3 * body[3 + k];
        }
    });
}

const MS: Duration = Duration::from_millis(1);

const CELLS: &[&str] = &[
    "for_each-1", "for_each-64", "for_each-1024", "for_each-4096", "for_each-65536", "sum-1024", "sum-4096", "sum-65536",
    "collect-1024", "collect-4096", "collect-65536", "inside-4096", "parked-64", "parked-4096", "tree-1023", "tree-16m",
    "fib-25", "spawns-1m", "sort-1m", "nbody-512", "spawn-each-1ms", "spawn-each-10ms",
];

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [threads, cell] = match &args[..] {
        [threads, cell] => [threads, cell],
        _ => return CELLS.iter().for_each(|cell| println!("{cell}")),
    };
    let threads = threads.parse().expect("THREADS is a number");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .expect("a pool");
    let (kind, n) = cell.split_once('-').expect("CELL is one of --list");
    let len = n.parse().unwrap_or(0);
    let mut x: Vec<f32> = (0..len).map(|i| i as f32).collect();
    match kind {
        "for_each" => time(None, || x.par_iter_mut().for_each(|x| *x += 1.0)),
        "parked" => time(Some(MS), || x.par_iter_mut().for_each(|x| *x += 1.0)),
        "inside" => rayon::scope(|_| time(None, || x.par_iter_mut().for_each(|x| *x += 1.0))),
        "sum" => time(None, || {
            black_box(x.par_iter().sum::<f32>());
        }),
        "collect" => time(None, || {
            black_box(x.par_iter().map(|x| x * 2.0).collect::<Vec<_>>());
        }),
        "tree" => {
            let root = tree(if n == "16m" { 24 } else { 10 });
            time(None, || {
                black_box(sum(&root));
            });
        }
        "fib" => time(None, || {
            black_box(fib(25));
        }),
        "spawns" => time(None, || {
            rayon::scope(|s| (0..1_000_000).for_each(|_| s.spawn(|_| spin(150))));
        }),
        "sort" => {
            let mut state = 1_u64;
            let keys: Vec<u64> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state
            })
            .take(1_000_000)
            .collect();
            time(None, || {
                let mut keys = keys.clone();
                keys.par_sort_unstable();
                black_box(keys);
            });
        }
        "nbody" => {
            let mut bodies: Vec<_> = (0..512)
                .map(|i| {
                    let t = f64::from(i);
                    [t.sin(), t.cos(), (t * 0.7).sin(), 0.0, 0.0, 0.0, 1.0]
                })
                .collect();
            let mut forces = vec![[0.0; 3]; 512];
            time(None, || n_body(&mut bodies, &mut forces));
        }
        "spawn" => {
            let pause = if n == "each-1ms" { MS } else { 10 * MS };
            time(Some(pause), || rayon::spawn(|| ()));
        }
        _ => panic!("CELL is one of --list"),
    }
}
