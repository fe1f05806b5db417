//! The board: an array of slots, owned by the pool, in which running loops are visible to the
//! workers.
//!
//! A slot is *held* by the thread that uses it, or that used it last and keeps it for its next
//! loop; a slot is *marked* when its loop would take a worker and none was idle. Workers that
//! become idle look at the marked slots.
//!
//! # Why no marked loop is forgotten
//!
//! Whoever marks has made units visible before, puts a `fence(SeqCst)`, marks, and then looks for
//! an idle worker once more ([`Sleepers`](crate::parking::Sleepers) tells why one of both sees the
//! other). A mark is taken down only by a worker that found nothing to do there, and it looks at
//! the slot again afterwards: if units were made visible before the mark that it took down, it sees
//! them; if later, their maker marks again. A maker that finds the mark up already leaves it: the
//! fence before its look and the fence after the taking down have one order, and in both one of the
//! two sees the other.

use crossbeam_utils::CachePadded;

use crate::segments::Segments;
use crate::slot::Slot;
use crate::sync::atomic::{fence, AtomicU64, Ordering};

/// Slots on a board: loops that are open at once, and threads that keep a slot. Beyond that, loops
/// go through the queue.
pub(crate) const SLOTS: usize = if cfg!(loom) { 64 } else { 256 };
const WORDS: usize = SLOTS / 64;

/// See the [module page](self).
pub(crate) struct Board {
    slots: Segments<Slot>,
    held: CachePadded<[AtomicU64; WORDS]>,
    marked: CachePadded<[AtomicU64; WORDS]>,
}

impl Board {
    pub(crate) fn new() -> Self {
        Board {
            slots: Segments::new(),
            held: CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0))),
            marked: CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }

    /// Makes the calling thread the holder of a free slot, if there is one.
    pub(crate) fn hold(&self) -> Option<usize> {
        for (w, word) in self.held.iter().enumerate() {
            let mut held = word.load(Ordering::Relaxed);
            while held != u64::MAX {
                let free = !held & held.wrapping_add(1);
                // Acquire: partner is the Release in `release`: the last holder's writes are
                // visible.
                match word.compare_exchange_weak(
                    held,
                    held | free,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        let index = w * 64 + free.trailing_zeros() as usize;
                        self.slots.get_or_make(index);
                        return Some(index);
                    }
                    Err(now) => held = now,
                }
            }
        }
        None
    }

    /// Lets a slot go that the calling thread holds and in which no loop is open.
    pub(crate) fn release(&self, index: usize) {
        // Release: partner is the Acquire in `hold`.
        self.held[index / 64].fetch_and(!(1 << (index % 64)), Ordering::Release);
    }

    /// The slot of an index that somebody holds or held.
    #[inline]
    pub(crate) fn slot(&self, index: usize) -> &Slot {
        self.slots
            .get(index)
            .expect("a slot is made when its index is first held")
    }

    /// Marks the slot. The caller has made units visible and looks for an idle worker afterwards.
    pub(crate) fn mark(&self, index: usize) {
        let (word, bit) = (&self.marked[index / 64], 1 << (index % 64));
        // Partner: the fence in `unmark`.
        fence(Ordering::SeqCst);
        if word.load(Ordering::Relaxed) & bit == 0 {
            // Release: partner is the Acquire in `unmark`.
            word.fetch_or(bit, Ordering::Release);
        }
        // Partner: the fence that a worker puts after it has announced that it is idle.
        fence(Ordering::SeqCst);
    }

    /// Takes a mark down. The caller looks at the slot once more afterwards.
    pub(crate) fn unmark(&self, index: usize) {
        // Acquire: partner is the Release in `mark`: units made visible before the mark are
        // visible.
        self.marked[index / 64].fetch_and(!(1 << (index % 64)), Ordering::Acquire);
        // Partner: the first fence in `mark`.
        fence(Ordering::SeqCst);
    }

    /// Every slot that was ever held.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    /// Whether any slot is marked.
    pub(crate) fn any_marked(&self) -> bool {
        self.marked
            .iter()
            .any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// The marked slots, lowest first, each as of the moment it is come to.
    pub(crate) fn marked(&self) -> impl Iterator<Item = usize> + '_ {
        (0..WORDS).flat_map(move |w| {
            let mut bits = self.marked[w].load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let lowest = bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
                (lowest < 64).then_some(w * 64 + lowest)
            })
        })
    }
}
