//! `Seat`: a thread's hold on a slot, for one loop; and the slot that it keeps between loops.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use super::chain::Place;
use super::shared::Shared;
use crate::slot::Slot;
use crate::sync::per_thread;

/// The slot that this thread used last. It keeps it for its next loop in the same pool, which then
/// opens without an atomic read-modify-write, in memory that is warm. Taking it and putting it back
/// are a few loads and stores of single words.
struct Keeper {
    /// The pool whose slot this is, or [`NONE`].
    pool: Cell<u64>,
    index: Cell<usize>,
    /// The pool of the last slot that was here, and a way to it.
    home: Cell<u64>,
    shared: Cell<Weak<Shared>>,
}

/// No pool has this id.
const NONE: u64 = 0;

impl Keeper {
    /// The slot of that pool, if this is what is kept.
    #[inline(always)]
    fn take(&self, pool: u64) -> Option<usize> {
        (self.pool.get() == pool).then(|| {
            self.pool.set(NONE);
            self.index.get()
        })
    }

    #[inline(always)]
    fn put(&self, shared: &Shared, index: usize) {
        if self.pool.get() != NONE || self.home.get() != shared.id {
            self.move_home(shared);
        }
        self.pool.set(shared.id);
        self.index.set(index);
    }

    /// A nested loop, or one in another pool, has left its slot here: one of the two is given back.
    #[cold]
    fn move_home(&self, shared: &Shared) {
        self.release();
        self.home.set(shared.id);
        self.shared.set(shared.weak());
    }

    fn release(&self) {
        if self.pool.replace(NONE) != NONE {
            let shared = self.shared.take();
            if let Some(shared) = shared.upgrade() {
                shared.board.release(self.index.get());
            }
            self.shared.set(shared);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.release();
    }
}

per_thread! {
    static KEEPER: Keeper = const {
        Keeper {
            pool: Cell::new(NONE),
            index: Cell::new(0),
            home: Cell::new(NONE),
            shared: Cell::new(Weak::new()),
        }
    };
}

/// A hold on a slot. When it is dropped, no loop may be open in it.
pub(crate) struct Seat<'a> {
    shared: &'a Shared,
    place: Place,
}

impl<'a> Seat<'a> {
    /// A slot of `shared`: the one this thread keeps, a free one of the board, or a new one beside
    /// it.
    #[inline(always)]
    pub(crate) fn take(shared: &'a Shared) -> Self {
        // In a thread that is ending, without the thread-local, slots are taken and not kept.
        let kept = KEEPER.try_with(|keeper| keeper.take(shared.id));
        let place = match kept {
            Ok(Some(index)) => Place::Board(index),
            _ => Self::take_another(shared),
        };
        Seat { shared, place }
    }

    #[cold]
    fn take_another(shared: &'a Shared) -> Place {
        match shared.board.hold() {
            Some(index) => Place::Board(index),
            None => Place::Loose(Arc::new(Slot::default())),
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
    #[inline(always)]
    fn drop(&mut self) {
        let shared = self.shared;
        match self.place {
            Place::Board(index) => {
                if KEEPER.try_with(|keeper| keeper.put(shared, index)).is_err() {
                    shared.board.release(index);
                }
            }
            Place::Loose(ref slot) => shared.count_outside(|stats| stats.add_owner(&slot.counts)),
        }
    }
}
