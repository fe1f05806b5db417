//! Models of the watch: no light loop is opened that nobody will look at.

use std::ops::Range;
use std::sync::Arc;

use loom::thread;

use super::harness::{check, park_until};
use crate::barrier;
use crate::blocks::Blocks;
use crate::board::Board;
use crate::pool::watch::Watch;
use crate::slot::body::{Body, Flow};
use crate::slot::shape::Shape;
use crate::slot::Begin;

/// The sentinel lets the watch lapse while a light loop is opened: it goes on after all, or the
/// caller finds nobody on watch. Catches: no barrier between taking the state down and looking at
/// the slots, none between opening and looking at the state, no look after the state is taken down.
#[test]
fn a_watch_does_not_lapse_over_an_open_loop() {
    check(3, || {
        let shared = Arc::new((Board::new(), Watch::new()));
        let (board, watch) = &*shared;
        let index = board.hold().unwrap();
        assert!(watch.want() && watch.take());
        let sentinel = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || !shared.1.lapse(&shared.0, || false))
        };
        let f = |_: usize, _: Range<usize>| Flow::GoOn;
        let body = Body::new(&f, 0, Blocks::new(2, 2));
        let slot = board.slot(index);
        // SAFETY: this thread alone opens loops here, `f` is borrowed to the end, and the loop is
        // closed below.
        let (mut stay, first) =
            unsafe { slot.open(body, Shape::in_line(true, 2, 2), Begin::AllButOne) };
        barrier::light();
        let kept = watch.is_kept();
        let goes_on = sentinel.join().unwrap();
        assert!(goes_on || !kept, "nobody will look at the open loop");
        let ran = slot.work(&mut stay, first);
        slot.close(stay, ran.units, park_until);
    });
}

/// A worker that goes to work gives the watch away while another may take it: there is never more
/// than one sentinel. Catches: a watch that is taken by a store.
#[test]
fn two_workers_take_the_watch_once() {
    check(3, || {
        let watch = Arc::new(Watch::new());
        assert!(watch.want());
        let other = {
            let watch = Arc::clone(&watch);
            thread::spawn(move || watch.take())
        };
        let taken = watch.take();
        assert!(taken != other.join().unwrap());
    });
}
