//! Models of `Sleepers`: whoever publishes work and whoever goes to sleep, one of both sees the
//! other.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::harness::check;
use crate::parking::{Call, Parker, Sleepers, Waited};
use crate::sync::atomic::{fence, AtomicBool, AtomicUsize, Ordering};

/// Work that is seen only as far as the protocol makes it visible: every access is relaxed.
struct Desk {
    sleepers: Sleepers,
    work: AtomicUsize,
    /// What each call is about.
    published: [AtomicBool; 2],
}

impl Desk {
    /// A desk with `workers` workers, all of whom may spin beside one caller.
    fn new(workers: usize) -> Arc<Self> {
        let sleepers = Sleepers::new(2, workers + 1);
        for worker in 0..workers {
            assert_eq!(sleepers.prepare(), worker);
            sleepers.admit(worker);
        }
        Arc::new(Desk {
            sleepers,
            work: AtomicUsize::new(0),
            published: Default::default(),
        })
    }

    /// Publishes one piece of work and calls somebody. Whether somebody was called.
    fn publish(&self, call: u32) -> bool {
        self.published[call as usize].store(true, Ordering::Relaxed);
        self.work.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.sleepers.call_one(Call::new(call)).somebody()
    }

    /// The same, with a worker claimed first, if one spins.
    fn claim_and_publish(&self, call: u32) -> bool {
        let Some(claimed) = self.sleepers.claim_spinning() else {
            return self.publish(call);
        };
        self.published[call as usize].store(true, Ordering::Relaxed);
        self.work.fetch_add(1, Ordering::Relaxed);
        claimed.call(Call::new(call));
        true
    }

    /// Takes the place of a worker that is idle, and gives it back.
    fn borrow(&self) {
        if let Some(worker) = self.sleepers.borrow(Call::new(INSTEAD)) {
            self.sleepers.announce_again(worker);
            fence(Ordering::SeqCst);
            if self.work.load(Ordering::Relaxed) != 0 {
                self.sleepers.call_this(worker, Call::new(INSTEAD));
            }
        }
    }

    fn take(&self) -> bool {
        self.work
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .is_ok()
    }

    /// As worker `me`: takes `pieces` of work, waits where there is none. The numbers of the calls
    /// that it got.
    fn work(&self, me: usize, spin: Duration, pieces: usize) -> Vec<u32> {
        let mut calls = Vec::new();
        for _ in 0..pieces {
            while !self.take() {
                let in_sight = |_| self.work.load(Ordering::Relaxed) != 0;
                if let Waited::Called { call, .. } = self.sleepers.wait(me, spin, None, in_sight) {
                    let call = call.number();
                    if let Some(about) = self.published.get(call as usize) {
                        let there = about.load(Ordering::Relaxed);
                        assert!(there, "called for what is not there");
                    }
                    calls.push(call);
                }
            }
        }
        calls
    }
}

/// The number of a call that says nothing.
const INSTEAD: u32 = 2;

/// A spin of a length that a model does not look at.
const SPIN: Duration = Duration::from_micros(50);

/// One worker and one publisher of two pieces of work: the worker gets both, and each call that was
/// made.
fn one_worker(spin: Duration) {
    let desk = Desk::new(1);
    let worker = {
        let desk = Arc::clone(&desk);
        thread::spawn(move || desk.work(0, spin, 2))
    };
    let made: Vec<u32> = (0..2).filter(|&call| desk.publish(call)).collect();
    assert_eq!(worker.join().unwrap(), made);
}

/// A worker that is about to park and a publisher do not miss each other, and no call is lost or
/// doubled. Catches: no fence in `wait` before it looks, no fence between publishing and
/// `call_one`, a look before the announcement, `withdraw` ignored.
#[test]
fn a_parking_worker_is_not_missed() {
    check(3, || one_worker(Duration::ZERO));
}

/// The same for a worker that spins before it parks. Catches: no look after the spin's end, the
/// call forgotten where `withdraw` fails.
#[test]
fn a_spinning_worker_is_not_missed() {
    check(3, || one_worker(SPIN));
}

/// Two publishers call different workers, or one of them finds the other's worker on its way: both
/// pieces of work are taken, and each worker gets the calls that were made to it and no other.
fn two_workers(spin: Duration) {
    let desk = Desk::new(2);
    let workers = [0, 1].map(|me| {
        let desk = Arc::clone(&desk);
        thread::spawn(move || desk.work(me, spin, 1))
    });
    let other = {
        let desk = Arc::clone(&desk);
        thread::spawn(move || desk.publish(1))
    };
    let mut made = Vec::from_iter(desk.publish(0).then_some(0));
    made.extend(other.join().unwrap().then_some(1));
    let mut got = Vec::new();
    for worker in workers {
        got.extend(worker.join().unwrap());
    }
    got.sort();
    assert_eq!(got, made);
}

/// Two workers and two publishers, without a spin. Catches: a claim by load and store, which calls
/// one worker twice.
#[test]
fn two_publishers_call_two_workers() {
    check(2, || two_workers(Duration::ZERO));
}

/// The same with a spin.
#[test]
fn two_publishers_call_two_spinners() {
    check(2, || two_workers(SPIN));
}

/// A spinner that is sent to sleep while work is published does not sleep through it. Catches: the
/// call to park handed out, or the worker parked without another look.
#[test]
fn a_spinner_sent_to_sleep_is_not_missed() {
    check(3, || {
        let desk = Desk::new(1);
        let worker = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || desk.work(0, SPIN, 1))
        };
        let parks = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || desk.sleepers.park_spinners())
        };
        let made = Vec::from_iter(desk.publish(0).then_some(0));
        parks.join().unwrap();
        assert_eq!(worker.join().unwrap(), made);
    });
}

/// A loop's caller claims a spinner before there is anything to call it for: the worker waits, gets that
/// call, and sees what it is about. Catches: what is written between the two not published by the call,
/// a worker that goes to sleep without it.
#[test]
fn a_spinner_claimed_beforehand_gets_its_call() {
    check(3, || {
        let desk = Desk::new(1);
        let worker = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || desk.work(0, SPIN, 2))
        };
        let made: Vec<u32> = (0..2)
            .filter(|&call| desk.claim_and_publish(call))
            .collect();
        assert_eq!(worker.join().unwrap(), made);
    });
}

/// A spinner that is claimed and then not wanted, because the caller's loop could not be opened, goes to
/// sleep, and is there for the next. Catches: a claim that is dropped without a call.
#[test]
fn a_spinner_claimed_for_nothing_is_not_lost() {
    check(3, || {
        let desk = Desk::new(1);
        let worker = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || desk.work(0, SPIN, 1))
        };
        let other = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || drop(desk.sleepers.claim_spinning()))
        };
        let made = Vec::from_iter(desk.publish(0).then_some(0));
        other.join().unwrap();
        assert_eq!(worker.join().unwrap(), made);
    });
}

/// A worker that is started while work is published finds it, or is called by the publisher or,
/// once it counts, by whoever started it. Catches: no fence between counting it and looking for
/// work, a place made too late.
#[test]
fn a_new_worker_is_not_missed() {
    check(3, || {
        let desk = Desk::new(0);
        let grower = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || {
                let me = desk.sleepers.prepare();
                let worker = {
                    let desk = Arc::clone(&desk);
                    thread::spawn(move || desk.work(me, Duration::ZERO, 1))
                };
                desk.sleepers.admit(me);
                fence(Ordering::SeqCst);
                if desk.work.load(Ordering::Relaxed) != 0 {
                    // To look around: it knows of no publication.
                    desk.sleepers.call_one(Call::new(2));
                }
                worker.join().unwrap();
            })
        };
        desk.publish(0);
        grower.join().unwrap();
    });
}

/// A worker whose place is taken and given back, while work is published, does not sleep through it.
fn borrowed(spin: Duration) {
    let desk = Desk::new(1);
    let worker = {
        let desk = Arc::clone(&desk);
        thread::spawn(move || desk.work(0, spin, 1))
    };
    let guest = {
        let desk = Arc::clone(&desk);
        thread::spawn(move || desk.borrow())
    };
    desk.publish(0);
    guest.join().unwrap();
    worker.join().unwrap();
}

/// Without a spin. Catches: no fence after the announcement, no look for work after it.
#[test]
fn a_borrowed_sleeper_is_not_missed() {
    check(3, || borrowed(Duration::ZERO));
}

/// With a spin: the worker is told to sleep, and told something else before it has read that. Catches: the
/// call taken by a load and a store, and what `a_borrowed_sleeper_is_not_missed` does.
#[test]
fn a_borrowed_spinner_is_not_missed() {
    check(3, || borrowed(SPIN));
}

/// A worker that sleeps with a limit is not lent, so it never sleeps longer. Catches: it is.
#[test]
fn a_worker_with_a_limit_is_not_lent() {
    check(3, || {
        let desk = Desk::new(1);
        let worker = {
            let desk = Arc::clone(&desk);
            thread::spawn(move || {
                let limit = Some(Duration::from_millis(1));
                desk.sleepers.wait(0, SPIN, limit, |_| false)
            })
        };
        desk.borrow();
        worker.join().unwrap();
    });
}

/// Who waits at a door is woken by a letter that comes meanwhile, and by the end, which here does not come before
/// the letter has been answered. Catches: no fence after the announcement, no look after it, the token given to
/// the place's own parker.
#[test]
fn a_letter_finds_who_waits_at_a_door() {
    check(3, || {
        let desk = Desk::new(1);
        let parkers = Arc::new([Parker::new(), Parker::new()]);
        let done = Arc::new(AtomicBool::new(false));
        let poster = {
            let (desk, parkers, done) =
                (Arc::clone(&desk), Arc::clone(&parkers), Arc::clone(&done));
            thread::spawn(move || {
                desk.work.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                desk.sleepers.call_this(0, Call::new(INSTEAD));
                parkers[1].park();
                done.store(true, Ordering::Relaxed);
                parkers[0].unpark();
            })
        };
        let letter_waits = || desk.work.load(Ordering::Relaxed) != 0;
        while !done.load(Ordering::Relaxed) {
            if desk.take() {
                parkers[1].unpark();
                continue;
            }
            let stay_awake = || done.load(Ordering::Relaxed) || letter_waits();
            desk.sleepers.wait_at(0, &parkers[0], stay_awake);
        }
        poster.join().unwrap();
    });
}
