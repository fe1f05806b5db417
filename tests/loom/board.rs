//! Models of the board: a marked loop is not forgotten, and a slot changes hands whole.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::harness::{check, one_loop, Frame};
use crate::board::Board;
use crate::parking::{Call, Sleepers, Waited};
use crate::slot::shape::Shape;
use crate::sync::atomic::{fence, AtomicUsize, Ordering};

/// A board with one slot, whose units are a number that is accessed without any order.
struct Marked {
    board: Board,
    sleepers: Sleepers,
    units: AtomicUsize,
}

impl Marked {
    fn new() -> Arc<Self> {
        let sleepers = Sleepers::new(1, 1);
        assert_eq!(sleepers.prepare(), 0);
        sleepers.admit(0);
        Arc::new(Marked {
            board: Board::new(),
            sleepers,
            units: AtomicUsize::new(0),
        })
    }

    /// As a loop invites: calls somebody, or marks and tries once more.
    fn publish(&self) {
        self.units.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let call = Call::new(1);
        if !self.sleepers.call_one(call).somebody() {
            self.board.mark(0);
            self.sleepers.call_one(call);
        }
    }

    /// Takes all units that are to be seen, as a worker stays in a loop until nothing is left.
    fn visit(&self) -> usize {
        if self.units.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.units.swap(0, Ordering::Relaxed)
    }

    /// As the worker looks around.
    fn look_around(&self) -> usize {
        let visits = self.board.marked().map(|index| match self.visit() {
            0 => {
                self.board.unmark(index);
                self.visit()
            }
            had => had,
        });
        visits.sum()
    }

    /// As the worker, until it has had `units` units.
    fn work(self: &Arc<Self>, units: usize) -> thread::JoinHandle<()> {
        let marked = Arc::clone(self);
        thread::spawn(move || {
            let mut left = units;
            while left > 0 {
                let had = match marked.look_around() {
                    0 => {
                        let in_sight = |_| marked.board.any_marked();
                        match marked.sleepers.wait(0, Duration::ZERO, None, in_sight) {
                            Waited::InSight | Waited::TimedOut => 0,
                            Waited::Called { .. } => marked.visit(),
                        }
                    }
                    had => had,
                };
                left -= had;
            }
        })
    }
}

/// A loop that twice has something to give: the worker gets both, whether it is called or finds the
/// mark. Catches: no second look after the mark is taken down, no fence in `unmark`, none before
/// `mark` looks at the mark, none after it, no second call after it.
#[test]
fn a_mark_is_not_forgotten() {
    check(3, || {
        let marked = Marked::new();
        let worker = marked.work(2);
        marked.publish();
        marked.publish();
        worker.join().unwrap();
    });
}

/// The same for two threads that each have something to give.
#[test]
fn two_marks_are_not_forgotten() {
    check(3, || {
        let marked = Marked::new();
        let worker = marked.work(2);
        let other = {
            let marked = Arc::clone(&marked);
            thread::spawn(move || marked.publish())
        };
        marked.publish();
        other.join().unwrap();
        worker.join().unwrap();
    });
}

/// Two threads run a loop each in a slot of the board, one after the other in one slot or at the
/// same time in several: each finds what the last holder left. Catches: `release` without Release,
/// `hold` without Acquire, a slot held by two.
#[test]
fn a_slot_changes_hands() {
    check(3, || {
        let board = Arc::new(Board::new());
        // Loom does not see the `OnceLock` behind which a slot is made.
        board.release(board.hold().unwrap());
        let holders = [2, 3].map(|lanes| {
            let board = Arc::clone(&board);
            thread::spawn(move || {
                let index = board.hold().unwrap();
                let shape = Shape::in_runs(lanes, lanes, 1);
                one_loop(board.slot(index), shape, &Frame::new(lanes, lanes));
                board.release(index);
            })
        });
        for holder in holders {
            holder.join().unwrap();
        }
    });
}
