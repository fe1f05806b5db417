//! The pool that the program shares: its settings, its first use, and the program's end.

#![cfg(unix)]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Barrier;
use std::thread;

use conga::{Dispatch, ThreadPool};
use support::process::{is_helper, run_helper, run_helper_well, text_of};
use support::{assert_whole, counters, meet, DISPATCHES};

/// What the helper that reports printed after `key`.
fn reported(text: &str, key: &str) -> usize {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let line = line.unwrap_or_else(|| panic!("no {key} in\n{text}"));
    line.trim().parse().unwrap()
}

/// `CONGA_NUM_THREADS` says how many lanes there are, up to the limit's edges and with spaces
/// around; no value, or an empty one, means the default. Catches a setting that is not read, or
/// that counts workers.
#[test]
fn num_threads_is_honoured() {
    let default = num_cpus::get();
    for (value, lanes) in [
        (Some("3"), 3),
        (Some("1"), 1),
        (Some(" 5 "), 5),
        (Some(""), default),
        (None, default),
    ] {
        let env: Vec<_> = value.iter().map(|v| ("CONGA_NUM_THREADS", *v)).collect();
        let text = text_of(&run_helper_well("helper_that_reports", &env));
        assert_eq!(reported(&text, "lanes"), lanes, "{value:?}");
        assert!(!text.contains("it is ignored"), "{text}");
    }
}

/// A value that makes no sense is reported in exactly one line and ignored, however many threads
/// and loops there are. Catches a panic, a silent default, and a report for each use.
#[test]
fn nonsense_is_reported_once() {
    for value in [
        "0",
        "-1",
        "three",
        "3.5",
        "65537",
        "99999999999999999999999999",
    ] {
        let output = run_helper_well("helper_that_reports", &[("CONGA_NUM_THREADS", value)]);
        let text = text_of(&output);
        assert_eq!(reported(&text, "lanes"), num_cpus::get());
        let error = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = error
            .lines()
            .filter(|line| line.contains("CONGA"))
            .collect();
        assert!(
            lines.len() == 1
                && lines[0].contains("CONGA_NUM_THREADS")
                && lines[0].contains(value)
                && lines[0].contains("65536"),
            "{value}: {error}"
        );
    }
    for value in ["201", "-1", "50us"] {
        let env = [("CONGA_SPIN_US", value), ("CONGA_NUM_THREADS", "3")];
        let output = run_helper_well("helper_that_reports", &env);
        assert_eq!(reported(&text_of(&output), "lanes"), 3);
        let error = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = error
            .lines()
            .filter(|line| line.contains("CONGA"))
            .collect();
        assert!(
            lines.len() == 1 && lines[0].contains("CONGA_SPIN_US") && lines[0].contains(value),
            "{value}: {error}"
        );
    }
}

/// With `CONGA_SPIN_US=0` no worker is ever met spinning, with 200 one is sooner or later, where
/// there is a processor to spin on. Catches a setting that does not reach the workers.
#[test]
fn spin_is_honoured() {
    for value in ["0", "200"] {
        let env = [("CONGA_SPIN_US", value), ("CONGA_NUM_THREADS", "2")];
        let text = text_of(&run_helper_well("helper_that_spins", &env));
        assert!(!text.contains("it is ignored"), "{text}");
    }
}

/// Runs loops back to back, in which the worker takes part; does nothing in an ordinary run.
#[test]
fn helper_that_spins() {
    if !is_helper("helper_that_spins") {
        return;
    }
    let pool = ThreadPool::global();
    let met_spinning = || pool.stats().spins_met_work;
    if std::env::var("CONGA_SPIN_US").unwrap() == "0" {
        (0..2000).for_each(|_| meet(pool, Dispatch::Chained, 2));
        assert_eq!(met_spinning(), 0);
    } else if num_cpus::get() > 1 {
        while met_spinning() == 0 {
            meet(pool, Dispatch::Chained, 2);
        }
    }
}

/// Uses the global pool from eight threads at once, then reports; does nothing in an ordinary run.
#[test]
fn helper_that_reports() {
    if !is_helper("helper_that_reports") {
        return;
    }
    let together = Barrier::new(8);
    let address = |pool: &ThreadPool| std::ptr::from_ref(pool) as usize;
    thread::scope(|scope| {
        let users: Vec<_> = (0..8)
            .map(|user| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    let pool = ThreadPool::global();
                    for round in 0..200 {
                        let runs = counters(100);
                        pool.parallel_for(0..100)
                            .dispatch(DISPATCHES[(user + round) % 3])
                            .for_each(|i| {
                                runs[i].fetch_add(1, Ordering::Relaxed);
                            });
                        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
                    }
                    address(pool)
                })
            })
            .collect();
        for user in users {
            assert_eq!(user.join().unwrap(), address(ThreadPool::global()));
        }
    });
    let pool = ThreadPool::global();
    assert_whole(pool);
    assert_eq!(pool.stats().threads_started + 1, pool.num_threads() as u64);
    // libtest has begun a line.
    println!();
    println!("lanes {}", pool.num_threads());
}

/// The program's end is clean while workers spin, while loops run, and while tasks are queued: the
/// exit code is the program's. Catches something that is destroyed at exit under a worker's feet.
#[test]
fn exit_is_clean() {
    for case in ["spinning", "looping", "queued"] {
        for _ in 0..5 {
            let env = [
                ("CONGA_NUM_THREADS", "4"),
                ("CONGA_SPIN_US", "200"),
                ("CASE", case),
            ];
            let output = run_helper("helper_that_exits", &env);
            assert_eq!(
                output.status.code(),
                Some(42),
                "{case}: {}",
                text_of(&output)
            );
        }
    }
}

/// Ends the program in the middle of things; does nothing in an ordinary run.
#[test]
fn helper_that_exits() {
    if !is_helper("helper_that_exits") {
        return;
    }
    let pool = ThreadPool::global();
    let rounds = &*Box::leak(Box::new(AtomicUsize::new(0)));
    let sum = move || {
        pool.parallel_for(0..10_000)
            .map_reduce(|range| range.sum::<usize>(), |a, b| a + b)
    };
    match &*std::env::var("CASE").unwrap() {
        "looping" => {
            for _ in 0..2 {
                thread::spawn(move || loop {
                    assert_eq!(sum(), 49_995_000);
                    rounds.fetch_add(1, Ordering::Relaxed);
                });
            }
            support::yield_until(|| rounds.load(Ordering::Relaxed) > 100);
        }
        "queued" => {
            for _ in 0..1000 {
                pool.add_task(move || assert_eq!(sum(), 49_995_000));
            }
        }
        _ => (0..100).for_each(|_| assert_eq!(sum(), 49_995_000)),
    }
    std::process::exit(42);
}
