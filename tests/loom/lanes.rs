//! Models of `Lanes`: one thread at a time has an id, and each finds what the one before it did.

use std::sync::Arc;

use loom::thread;

use super::harness::check;
use crate::slot::door::Epoch;
use crate::slot::lanes::Lanes;
use crate::sync::Cell;

/// Lanes and a scratch for each.
struct Scratched {
    lanes: Lanes,
    scratch: Box<[Cell<u32>]>,
}

// SAFETY: the cells are loom's, and its report of an access without order is what the models are
// for.
unsafe impl Sync for Scratched {}
// SAFETY: as above; what is in the cells are plain numbers.
unsafe impl Send for Scratched {}

impl Scratched {
    fn new(lanes: usize) -> Arc<Self> {
        let made = Lanes::new(Epoch::new(0));
        made.make(1, lanes, Epoch::new(0));
        Arc::new(Scratched {
            lanes: made,
            scratch: (0..lanes).map(|_| Cell::new(0)).collect(),
        })
    }

    fn use_scratch(&self, lane: usize) {
        // SAFETY: the pointer is the cell's own; that nobody else looks meanwhile is what loom
        // checks.
        self.scratch[lane].with_mut(|count| unsafe { *count += 1 });
    }
}

/// A held id is one thread's until it is released, and the next one's after that. Catches: an id
/// taken by a store, released with Relaxed, taken with Relaxed.
#[test]
fn a_held_lane_is_handed_over() {
    check(3, || {
        let lanes = Scratched::new(3);
        let holders = [0, 0, 1].map(|preferred| {
            let lanes = Arc::clone(&lanes);
            thread::spawn(move || {
                if let Some(lane) = lanes.lanes.hold(preferred, 3) {
                    lanes.use_scratch(lane);
                    lanes.lanes.release(lane);
                }
            })
        });
        for holder in holders {
            holder.join().unwrap();
        }
    });
}

/// Drawn ids are all different, and no more are drawn than there are. Catches: an id drawn by a
/// store.
#[test]
fn a_drawn_lane_is_drawn_once() {
    check(3, || {
        let lanes = Scratched::new(3);
        let epoch = Epoch::new(1);
        lanes.lanes.open_ids(epoch, 3);
        let draws = [(); 3].map(|()| {
            let lanes = Arc::clone(&lanes);
            thread::spawn(move || {
                let lane = lanes.lanes.draw(epoch, 3);
                lane.into_iter().for_each(|lane| lanes.use_scratch(lane));
                lane
            })
        });
        let mut drawn: Vec<_> = draws.map(|draw| draw.join().unwrap()).into();
        drawn.sort();
        assert_eq!(drawn, [None, Some(1), Some(2)]);
        assert_eq!(lanes.lanes.draw(epoch.next(), 3), None);
    });
}
