//! Lanes of a slot: who holds which lane id.

use crossbeam_utils::CachePadded;

use super::door::{Door, Epoch, RunWord, Word};
use crate::segments::Segments;
use crate::sync::atomic::{fence, AtomicBool, Ordering};

/// What belongs to one lane, on a cache line of its own: its run's word and whether a worker holds
/// its id.
struct Lane {
    run: RunWord,
    held: AtomicBool,
}

impl Default for Lane {
    fn default() -> Self {
        Lane {
            run: RunWord::new(Epoch::new(0)),
            held: AtomicBool::new(false),
        }
    }
}

/// The lanes from 1 on; lane 0 is the caller's and needs a run's word only.
///
/// In a loop with runs an id is *held*: taken when a worker enters, released when it leaves, so
/// that it may serve again. Ids are held across loops, by latecomers that found nothing; such a one
/// looks again after it has let go, because whoever was refused on its account has gone away.
pub(crate) struct Lanes {
    /// The word of run 0.
    first: CachePadded<RunWord>,
    lanes: Segments<CachePadded<Lane>>,
    /// In a loop with one line an id is *drawn*, and never again: the atomic thread-id counter.
    ids: Door,
}

impl Lanes {
    pub(crate) fn new(epoch: Epoch) -> Self {
        Lanes {
            first: CachePadded::new(RunWord::new(epoch)),
            lanes: Segments::new(),
            ids: Door::new(epoch),
        }
    }

    /// Makes lanes `from..to`; `epoch` is that of a loop that is over. Of lanes that are there it
    /// refreshes the words.
    pub(crate) fn make(&self, from: usize, to: usize, epoch: Epoch) {
        self.lanes.reserve(to.saturating_sub(1));
        for lane in from..to {
            self.run(lane).put(Word::shut(epoch));
        }
    }

    /// The word of run `run`.
    #[inline]
    pub(crate) fn run(&self, run: usize) -> &RunWord {
        if run == 0 {
            &self.first
        } else {
            &self.lane(run).run
        }
    }

    /// Before a loop with one line: the caller has id 0, the next is 1.
    pub(crate) fn open_ids(&self, epoch: Epoch, lanes: usize) {
        self.ids.put(Word::in_line(epoch, 1, lanes));
    }

    /// Draws the next id of the loop `epoch`, if there is one.
    pub(crate) fn draw(&self, epoch: Epoch, lanes: usize) -> Option<usize> {
        let mut word = self.ids.look_again();
        loop {
            if word.epoch() != epoch {
                return None;
            }
            let id = word.position()?;
            match self.ids.exchange(word, Word::in_line(epoch, id + 1, lanes)) {
                Ok(()) => return Some(id),
                Err(now) => word = now,
            }
        }
    }

    /// Takes a free id below `lanes`, the preferred one if possible.
    pub(crate) fn hold(&self, preferred: usize, lanes: usize) -> Option<usize> {
        let preferred = 1 + (preferred as u32 % (lanes - 1) as u32) as usize;
        let free = || {
            (preferred..lanes)
                .chain(1..preferred)
                .find(|&lane| self.try_hold(lane))
        };
        free().or_else(|| {
            // Whoever gives up must have looked after it saw the loop, in the one order that fences
            // have: partner is the fence of a latecomer between `release` and its second look at
            // the door.
            fence(Ordering::SeqCst);
            free()
        })
    }

    fn try_hold(&self, lane: usize) -> bool {
        let held = &self.lane(lane).held;
        // Acquire: partner is the Release in `release`; what the last holder did as this lane is
        // visible.
        !held.load(Ordering::Relaxed)
            && held
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Lets an id go that `hold` gave.
    pub(crate) fn release(&self, lane: usize) {
        // Release: partner is the Acquire in `try_hold`.
        self.lane(lane).held.store(false, Ordering::Release);
    }

    fn lane(&self, lane: usize) -> &Lane {
        self.lanes
            .get(lane - 1)
            .expect("a loop's lanes are made before it opens")
    }
}
