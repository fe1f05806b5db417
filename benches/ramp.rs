//! How fast do the lanes of a loop start? A deterministic model, because few machines have the lanes.
//!
//! ```sh
//! cargo bench --bench ramp                   # prices measured here
//! cargo bench --bench ramp -- --wake 1700 --start 7700 --claim 20      # or given, in ns
//! ```
//!
//! Every lane that starts may wake others, which costs it `wake` each, one after the other; a woken
//! lane starts `start` after its call began. Then it claims blocks, `claim` each, one lane at a time,
//! because all claims go through one cache line; a block takes its work. The four ways differ only in
//! who wakes whom:
//!
//! | way | who wakes whom |
//! |---|---|
//! | per thread | the caller wakes everybody before its first block |
//! | chain | each lane wakes one before its first block |
//! | fan of two | the caller wakes one before its first block, each other lane two |
//! | broadcast | the caller wakes everybody with one call, which the system works off one by one |
//!
//! A lane wakes nobody once all blocks are claimed. What comes out is when the last lane started and
//! when the loop was over.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// What things cost, in ns.
#[derive(Debug, Clone, Copy)]
struct Prices {
    wake: u64,
    start: u64,
    claim: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    PerThread,
    Chain,
    FanOfTwo,
    Broadcast,
}

const WAYS: [(Way, &str); 4] = [
    (Way::PerThread, "per thread"),
    (Way::Chain, "chain"),
    (Way::FanOfTwo, "fan of two"),
    (Way::Broadcast, "broadcast"),
];

/// What a simulated loop came to, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcome {
    lanes_started: usize,
    last_start: u64,
    total: u64,
}

/// One loop of four blocks a lane, each of `work` ns, with up to `lanes` lanes.
fn simulate(way: Way, lanes: usize, work: u64, prices: Prices) -> Outcome {
    let mut unclaimed = 4 * lanes;
    let mut not_called = lanes - 1;
    let (mut line_free, mut last_start, mut total, mut started) = (0, 0, 0, 0);
    // When each lane is ready for its next step, and whether that is its first.
    let mut ready = BinaryHeap::from([Reverse((0, true, 0))]);
    let mut next_lane = 1;
    while let Some(Reverse((mut now, first, lane))) = ready.pop() {
        if first {
            started += 1;
            last_start = last_start.max(now);
            let calls = match way {
                _ if unclaimed == 0 => 0,
                Way::PerThread | Way::Broadcast if lane == 0 => not_called,
                Way::PerThread | Way::Broadcast => 0,
                Way::Chain => not_called.min(1),
                Way::FanOfTwo if lane == 0 => not_called.min(1),
                Way::FanOfTwo => not_called.min(2),
            };
            not_called -= calls;
            for call in 0..calls as u64 {
                // The system works a broadcast off on the processors of those it wakes.
                let begun = match way {
                    Way::Broadcast => now + call * prices.wake / 4,
                    _ => now + call * prices.wake,
                };
                ready.push(Reverse((begun + prices.start, true, next_lane)));
                next_lane += 1;
            }
            now += match way {
                Way::Broadcast if calls > 0 => prices.wake,
                _ => calls as u64 * prices.wake,
            };
        }
        total = total.max(now);
        if unclaimed > 0 {
            unclaimed -= 1;
            line_free = line_free.max(now) + prices.claim;
            ready.push(Reverse((line_free + work, false, lane)));
        }
    }
    Outcome {
        lanes_started: started,
        last_start,
        total,
    }
}

/// The median of what `sample` returns.
fn median(mut sample: impl FnMut() -> u64) -> u64 {
    let mut samples: Vec<_> = (0..201).map(|_| sample()).collect();
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// Prices of this machine: a parked thread is woken, a word is changed.
fn measure() -> Prices {
    let (started_at, origin) = (AtomicU64::new(0), Instant::now());
    let now = || origin.elapsed().as_nanos() as u64;
    let called = AtomicBool::new(false);
    let (mut wake, mut start) = (0, 0);
    thread::scope(|scope| {
        let (begin, begun) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel::<()>();
        let sleeper = scope.spawn(|| {
            let (begun, tell) = (begun, tell);
            while begun.recv().is_ok() {
                // The channel parks as well, and may have taken the token.
                while !called.swap(false, Ordering::Acquire) {
                    thread::park();
                }
                started_at.store(now(), Ordering::Relaxed);
                tell.send(()).expect("the other side waits");
            }
        });
        let mut starts = Vec::new();
        wake = median(|| {
            begin.send(()).expect("the sleeper listens");
            // Until it sleeps, so that a wake-up is one.
            thread::sleep(std::time::Duration::from_micros(200));
            let called_at = now();
            called.store(true, Ordering::Release);
            sleeper.thread().unpark();
            let returned_at = now();
            told.recv().expect("the sleeper answers");
            starts.push(started_at.load(Ordering::Relaxed).saturating_sub(called_at));
            returned_at - called_at
        });
        starts.sort_unstable();
        start = starts[starts.len() / 2];
        drop(begin);
    });
    let word = AtomicU64::new(0);
    let claim = median(|| {
        let before = now();
        for _ in 0..100 {
            black_box(&word).fetch_add(1, Ordering::Relaxed);
        }
        (now() - before) / 100
    });
    Prices {
        wake: wake.max(1),
        start: start.max(1),
        claim: claim.max(1),
    }
}

/// Prices from the command line, where they are given.
fn prices() -> Prices {
    let mut prices = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let name = match arg.as_str() {
            "--wake" | "--start" | "--claim" => arg,
            // Cargo's and criterion's own flags.
            _ => continue,
        };
        let value = args.next().and_then(|value| value.parse().ok());
        let Some(value) = value else {
            eprintln!("{name} takes a number of nanoseconds");
            std::process::exit(2);
        };
        let prices = prices.get_or_insert_with(measure);
        match name.as_str() {
            "--wake" => prices.wake = value,
            "--start" => prices.start = value,
            _ => prices.claim = value,
        }
    }
    prices.unwrap_or_else(measure)
}

fn main() {
    check();
    let prices = prices();
    println!(
        "wake {} ns, start {} ns, claim {} ns; four blocks a lane",
        prices.wake, prices.start, prices.claim
    );
    println!("each cell: time to the last start / total time, µs\n");
    for work in [100, 1_000, 10_000, 100_000, 1_000_000] {
        println!("{:.1} µs a block", work as f64 / 1000.0);
        print!("{:>8}", "lanes");
        for (_, name) in WAYS {
            print!("{name:>22}");
        }
        println!();
        for lanes in [2, 4, 8, 16, 32, 64, 128, 256] {
            print!("{lanes:>8}");
            for (way, _) in WAYS {
                let outcome = simulate(way, lanes, work, prices);
                let (last, total) = (outcome.last_start as f64, outcome.total as f64);
                print!("{:>13.1} / {:>6.0}", last / 1000.0, total / 1000.0);
            }
            println!();
        }
        println!();
    }
}

/// What the model must come to where it can be worked out by hand.
fn check() {
    let prices = Prices {
        wake: 2,
        start: 10,
        claim: 1,
    };
    // Each lane of a chain starts 10 after the one before, the last of 4 at 30; a caller that wakes
    // three begins their calls at 0, 2, 4.
    let starts = |way| simulate(way, 4, 1000, prices).last_start;
    assert_eq!(starts(Way::Chain), 30);
    assert_eq!(starts(Way::PerThread), 14);
    // The caller's one starts at 10, and begins its two calls at 10 and 12.
    assert_eq!(starts(Way::FanOfTwo), 22);
    // With hardly any work nobody else comes in time: eight blocks of 1 + 1.
    let alone = simulate(Way::Chain, 2, 0, prices);
    assert_eq!(alone.total, 2 + 8);
}
