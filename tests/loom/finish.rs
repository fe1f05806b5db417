//! Models of `Finish`: the caller goes when all are done, and not before.

use std::sync::Arc;

use loom::thread;

use super::harness::{check, park_until};
use crate::slot::finish::Finish;
use crate::sync::Cell;

/// What one loop left to others: a cell for each piece, written by whoever does it.
struct Loop {
    finish: Finish,
    done: [[Cell<bool>; 2]; 2],
}

// SAFETY: the cells are loom's, and its report of an access without order is what the models are
// for.
unsafe impl Sync for Loop {}
// SAFETY: as above; what is in the cells are plain values.
unsafe impl Send for Loop {}

/// Two loops one after the other, each with a unit for each of two helpers: the caller finds both
/// done and may take what they wrote away. Catches: `subtract` without Release, `add_and_wait`
/// without Acquire at either of its reads, a wake-up left out, a caller that sleeps without asking,
/// a token of the loop before taken for the end.
#[test]
fn the_caller_waits_for_all() {
    check(3, || {
        let shared = Arc::new(Loop {
            finish: Finish::new(),
            done: Default::default(),
        });
        for turn in 0..2 {
            let helpers = [0, 1].map(|helper| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    // SAFETY: the pointer is the cell's own; that nobody else looks is what loom
                    // checks.
                    shared.done[turn][helper].with_mut(|done| unsafe { *done = true });
                    shared.finish.subtract(1);
                })
            });
            shared.finish.add_and_wait(2, park_until);
            for done in &shared.done[turn] {
                // SAFETY: as above.
                done.with_mut(|done| assert!(unsafe { *done }, "the caller went too early"));
            }
            if turn == 1 {
                for helper in helpers {
                    helper.join().unwrap();
                }
            }
        }
    });
}
