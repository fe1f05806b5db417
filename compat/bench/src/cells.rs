//! What is measured, and the goals.

use std::hint::black_box;
use std::time::Duration;

use rayon::prelude::*;

use crate::turn::time;

pub struct Cell {
    pub name: &'static str,
    /// At least so many times as fast as the original.
    pub faster: f64,
    /// At most so much of the original's CPU time, if that matters.
    pub cpu: Option<f64>,
}

/// As fast, but for what cannot be told apart.
const NOT_SLOWER: f64 = 1.0 / 1.05;

const fn cell(name: &'static str, faster: f64) -> Cell {
    Cell {
        name,
        faster,
        cpu: None,
    }
}

/// How long a spawn takes is its worker's way to wake, which nobody waits for: what counts is the CPU time.
const fn spawn(name: &'static str) -> Cell {
    Cell {
        name,
        faster: 0.0,
        cpu: Some(0.25),
    }
}

pub const CELLS: &[Cell] = &[
    cell("for_each-1", 5.0),
    cell("for_each-64", 5.0),
    cell("for_each-1024", 5.0),
    cell("for_each-4096", 5.0),
    cell("for_each-65536", NOT_SLOWER),
    cell("sum-1024", 5.0),
    cell("sum-4096", 5.0),
    cell("sum-65536", NOT_SLOWER),
    cell("collect-1024", 5.0),
    cell("collect-4096", 5.0),
    cell("collect-65536", NOT_SLOWER),
    cell("inside-4096", NOT_SLOWER),
    cell("parked-64", 3.0),
    cell("parked-4096", 3.0),
    cell("tree-1023", 1.5),
    cell("tree-16m", NOT_SLOWER),
    cell("fib-25", NOT_SLOWER),
    cell("spawns-1m", 2.0),
    cell("sort-1m", NOT_SLOWER),
    cell("nbody-512", NOT_SLOWER),
    spawn("spawn-each-1ms"),
    spawn("spawn-each-10ms"),
];

const MS: Duration = Duration::from_millis(1);

/// Times the cell in rayon's global pool: nanoseconds per call, and of CPU time.
pub fn run(cell: &Cell) -> (f64, f64) {
    let (kind, size) = cell.name.split_once('-').expect("each name has two parts");
    let len = size.parse().unwrap_or(0);
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
            let root = tree(if size == "16m" { 24 } else { 10 });
            time(None, || {
                black_box(sum(&root));
            })
        }
        "fib" => time(None, || {
            black_box(fib(25));
        }),
        "spawns" => time(None, || {
            rayon::scope(|s| (0..1_000_000).for_each(|_| s.spawn(|_| spin(150))));
        }),
        "sort" => {
            let keys = keys();
            time(None, || {
                let mut keys = keys.clone();
                keys.par_sort_unstable();
                black_box(keys);
            })
        }
        "nbody" => {
            let (mut bodies, mut forces) = (bodies(), vec![[0.0; 3]; 512]);
            time(None, || n_body(&mut bodies, &mut forces))
        }
        _ => {
            let pause = if size == "each-1ms" { MS } else { 10 * MS };
            time(Some(pause), || rayon::spawn(|| ()))
        }
    }
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

/// About 100 ns for 150 turns.
fn spin(turns: u32) {
    let mut x = 1_u64;
    for _ in 0..turns {
        x = black_box(x.wrapping_mul(3));
    }
}

fn keys() -> Vec<u64> {
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state
    };
    std::iter::repeat_with(next).take(1_000_000).collect()
}

/// Position, velocity and mass of each.
fn bodies() -> Vec<[f64; 7]> {
    let body = |i| {
        let t = f64::from(i);
        [t.sin(), t.cos(), (t * 0.7).sin(), 0.0, 0.0, 0.0, 1.0]
    };
    (0..512).map(body).collect()
}

/// One step: a loop that computes forces, and one that moves.
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
    bodies
        .par_iter_mut()
        .zip(&*forces)
        .for_each(|(body, force)| {
            for k in 0..3 {
                body[3 + k] += 1e-3 * force[k];
                body[k] += 1e-3 * body[3 + k];
            }
        });
}
