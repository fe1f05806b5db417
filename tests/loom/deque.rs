//! Models of `Deque`: each job is taken once, and by one who sees what it is made of.

use std::sync::Arc;

use loom::thread;

use super::harness::check;
use crate::jobs::{Along, Deque, Job, Stolen};

/// A job that only carries a number.
fn job(number: u64) -> Job {
    fn nothing(_: *const ()) {}
    // SAFETY: `nothing` may be called with anything, from anywhere.
    unsafe { Job::new(std::ptr::null(), nothing, number) }
}

/// The holder pushes `pushes` jobs and takes back what it can after each of `pops`; `thieves` steal `steals` times
/// each. Every job is seen once.
fn each_once(script: &'static [bool], at_once: bool, thieves: usize, steals: usize) {
    let deque = Arc::new(Deque::new());
    let steal = |deque: Arc<Deque>| {
        move || {
            let taken = (0..steals).filter_map(|_| match deque.steal(at_once, None) {
                Stolen::Job(job) => Some(job.call()),
                Stolen::Asked | Stolen::Nothing => None,
            });
            taken.collect::<Vec<_>>()
        }
    };
    let others: Vec<_> = (0..thieves)
        .map(|_| thread::spawn(steal(Arc::clone(&deque))))
        .collect();
    let (mut pushed, mut seen) = (0, Vec::new());
    for &push in script {
        if push {
            pushed += 1;
            // SAFETY: this thread is the holder.
            unsafe { deque.push(job(pushed)) };
        } else {
            // SAFETY: the same.
            seen.extend(unsafe { deque.pop() }.map(|job| job.call()));
        }
    }
    for other in others {
        let taken = other.join().unwrap();
        assert!(
            taken.is_sorted(),
            "a thief takes the oldest first: {taken:?}"
        );
        seen.extend(taken);
    }
    // SAFETY: the same.
    while let Some(job) = unsafe { deque.pop() } {
        seen.push(job.call());
    }
    assert!(deque.is_empty());
    seen.sort_unstable();
    assert_eq!(seen, (1..=pushed).collect::<Vec<_>>());
}

const PUSH: bool = true;
const POP: bool = false;

/// The holder takes the last job while another moves the split over it. Catches: no barrier on either side, no
/// second look at the tail, the tail not put back.
#[test]
fn the_last_job_is_taken_once() {
    check(3, || each_once(&[PUSH, POP, PUSH, POP], true, 1, 2));
}

/// Two jobs, of which one may be for others. Catches: a split that is left too high.
#[test]
fn half_is_for_others() {
    check(3, || each_once(&[PUSH, PUSH, POP, POP], true, 1, 2));
}

/// The buffer of two places fills up while another takes from it. Catches: a limit that forgets what is there, a
/// buffer replaced without the lock.
#[test]
fn a_full_buffer_grows() {
    check(2, || {
        each_once(&[PUSH, PUSH, PUSH, PUSH, PUSH, POP], true, 1, 1)
    });
}

/// Two who steal. Catches: a lock that lets both in.
#[test]
fn two_thieves_take_different_jobs() {
    check(2, || each_once(&[PUSH, PUSH, POP], true, 2, 1));
}

/// The holder is asked and hands out what it has just pushed, or half of what it has when it pops. Catches: a split
/// that is handed out without the lock, one that is put above the tail.
#[test]
fn the_holder_hands_out() {
    check(3, || each_once(&[PUSH, PUSH, POP, PUSH], false, 1, 3));
}

/// One who steals takes several at once, while the holder takes them from the other end. Catches: more taken than
/// are for others, the head moved by one only.
#[test]
fn several_are_stolen_at_once() {
    check(3, || {
        let deque = Arc::new(Deque::new());
        for number in 1..=6 {
            // SAFETY: this thread is the holder.
            unsafe { deque.push(job(number).one_of_many()) };
        }
        let other = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                let mut along = Along::default();
                let Stolen::Job(first) = deque.steal(true, Some(&mut along)) else {
                    return Vec::new();
                };
                let mut taken: Vec<_> = along.into_newest_first().map(|job| job.call()).collect();
                taken.push(first.call());
                assert!(taken.is_sorted_by(|a, b| a > b), "newest first: {taken:?}");
                taken
            })
        };
        let mut seen = Vec::new();
        for _ in 0..2 {
            // SAFETY: the same.
            seen.extend(unsafe { deque.pop() }.map(|job| job.call()));
        }
        seen.extend(other.join().unwrap());
        // SAFETY: the same.
        while let Some(job) = unsafe { deque.pop() } {
            seen.push(job.call());
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
    });
}

/// The holder takes the last job if it is what it looks for, or leaves it where it is, while another steals.
/// Catches: a job that is not put back.
#[test]
fn what_does_not_fit_is_left() {
    check(3, || {
        let deque = Arc::new(Deque::new());
        // SAFETY: this thread is the holder.
        unsafe { deque.push(job(1)) };
        let other = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || match deque.steal(true, None) {
                Stolen::Job(job) => Some(job.call()),
                Stolen::Asked | Stolen::Nothing => None,
            })
        };
        // SAFETY: the same.
        let popped = unsafe { deque.pop_if(|job| job.call() == 2) };
        assert!(popped.is_none());
        // SAFETY: the same.
        let popped = unsafe { deque.pop_if(|job| job.call() == 1) };
        let stolen = other.join().unwrap();
        // SAFETY: the same.
        let left = unsafe { deque.pop() };
        let all = [
            popped.map(|job| job.call()),
            stolen,
            left.map(|job| job.call()),
        ];
        assert_eq!(
            all.into_iter().flatten().collect::<Vec<_>>(),
            [1],
            "{all:?}"
        );
    });
}
