//! `Seat`: a thread's hold on a slot, for one loop; and the slot that it keeps between loops.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use super::chain::Place;
use super::shared::Shared;
use crate::slot::Slot;

/// The slot that this thread used last. It keeps it for its next loop in the same pool, which then
/// opens without an atomic read-modify-write, in memory that is warm.
struct Kept {
    pool: u64,
    index: usize,
    shared: Weak<Shared>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.board.release(self.index);
        }
    }
}

thread_local! {
    static KEPT: Cell<Option<Kept>> = const { Cell::new(None) };
}

/// A hold on a slot. When it is dropped, no loop may be open in it.
pub(crate) struct Seat<'a> {
    shared: &'a Shared,
    place: Place,
    /// What goes back to the thread.
    kept: Option<Kept>,
}

impl<'a> Seat<'a> {
    /// A slot of `shared`: the one this thread keeps, a free one of the board, or a new one beside
    /// it.
    #[inline]
    pub(crate) fn take(shared: &'a Shared) -> Self {
        // Without the thread-local, in a thread that is ending, slots are taken and not kept.
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        match kept {
            Some(kept) if kept.pool == shared.id => Seat {
                shared,
                place: Place::Board(kept.index),
                kept: Some(kept),
            },
            other => Self::take_another(shared, other),
        }
    }

    #[cold]
    fn take_another(shared: &'a Shared, of_another_pool: Option<Kept>) -> Self {
        drop(of_another_pool);
        match shared.board.hold() {
            Some(index) => Seat {
                shared,
                place: Place::Board(index),
                kept: Some(Kept {
                    pool: shared.id,
                    index,
                    shared: shared.weak(),
                }),
            },
            None => Seat {
                shared,
                place: Place::Loose(Arc::new(Slot::default())),
                kept: None,
            },
        }
    }

    /// Whether whoever looks at the board sees the slot.
    #[inline]
    pub(crate) fn is_on_the_board(&self) -> bool {
        matches!(self.place, Place::Board(_))
    }

    /// Where others find the slot.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The slot.
    #[inline]
    pub(crate) fn slot(&self) -> &Slot {
        self.place.slot(self.shared)
    }
}

impl Drop for Seat<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.kept.take() {
            Some(kept) => {
                // A nested loop may have left its slot here meanwhile: one of the two is given
                // back.
                let _ = KEPT.try_with(|cell| drop(cell.replace(Some(kept))));
            }
            None => self
                .shared
                .count_outside(|stats| stats.add_owner(&self.slot().counts)),
        }
    }
}
