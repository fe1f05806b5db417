//! Memory for tasks that one thread makes one after the other: it costs a few instructions to get, and
//! whoever runs several in a row gives it back in one operation. An allocator would be asked for each, and by
//! two threads at the same time.
//!
//! A chunk is freed by the last of those who use it: its maker, as long as it may put more there, and each
//! task until it has been run. To begin with it counts as many users as can never be; when its maker leaves it,
//! that is put right.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::cell::Cell;
use std::mem::size_of;
use std::ptr;

use crate::sync::atomic::{AtomicUsize, Ordering};

/// Of a chunk.
const LAYOUT: Layout = match Layout::from_size_align(8 * 1024, ALIGN) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};
const ALIGN: usize = 16;
/// Of a task, at most; larger ones go elsewhere.
const MOST: usize = 512;
/// More than a chunk has users.
const MANY: usize = usize::MAX / 2;

/// The beginning of a chunk.
#[repr(C, align(16))]
pub(super) struct Chunk {
    users: AtomicUsize,
}

impl Chunk {
    fn new() -> *const Chunk {
        // SAFETY: it is not of size zero.
        let chunk = unsafe { alloc(LAYOUT) }.cast::<Chunk>();
        if chunk.is_null() {
            handle_alloc_error(LAYOUT);
        }
        let users = AtomicUsize::new(MANY);
        // SAFETY: it is as large and aligned, and nobody else's.
        unsafe { chunk.write(Chunk { users }) };
        chunk
    }

    /// So many use it no more. Where they were the last it is gone afterwards.
    ///
    /// # Safety
    ///
    /// They have used it until now.
    pub(super) unsafe fn release(this: *const Self, users: usize) {
        // SAFETY: it is there as long as it has users.
        let count = unsafe { &(*this).users };
        // Release: partner is the Acquire here, by which the last one frees it after all others have used it.
        if count.fetch_sub(users, Ordering::AcqRel) == users {
            // SAFETY: it came from `alloc` with this layout, and nobody uses it.
            unsafe { dealloc(this.cast_mut().cast(), LAYOUT) };
        }
    }
}

/// Where a thread puts its tasks.
pub(super) struct Chunks {
    /// The chunk that is being filled, or null.
    current: Cell<*const Chunk>,
    /// How many of its bytes are taken, and how many tasks have been put there.
    used: Cell<usize>,
    tasks: Cell<usize>,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Chunks {
            current: Cell::new(ptr::null()),
            used: Cell::new(0),
            tasks: Cell::new(0),
        }
    }

    /// Room for a task, and the chunk that it is in, of which the task is a user from now on. `None`: the task
    /// is too large.
    pub(super) fn room(&self, task: Layout) -> Option<(*mut u8, *const Chunk)> {
        if task.size() > MOST || task.align() > ALIGN {
            return None;
        }
        let size = task.size().next_multiple_of(ALIGN);
        if self.current.get().is_null() || self.used.get() + size > LAYOUT.size() {
            self.leave();
            self.current.set(Chunk::new());
            self.used.set(size_of::<Chunk>());
        }
        let chunk = self.current.get();
        // SAFETY: so many bytes and the task's size are within the chunk.
        let room = unsafe { chunk.cast_mut().cast::<u8>().add(self.used.get()) };
        self.used.set(self.used.get() + size);
        self.tasks.set(self.tasks.get() + 1);
        Some((room, chunk))
    }

    /// No more is put into the chunk that is being filled.
    pub(super) fn leave(&self) {
        let (chunk, tasks) = (self.current.replace(ptr::null()), self.tasks.take());
        if !chunk.is_null() {
            // SAFETY: it has been counted as many times, and so many of its users were none.
            unsafe { Chunk::release(chunk, MANY - tasks) };
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches tasks that overlap, one that is put outside, and one that is not aligned.
    #[test]
    fn tasks_have_room_of_their_own() {
        let chunks = Chunks::new();
        let layouts = [(1, 1), (24, 8), (512, 16), (48, 4), (0, 1)]
            .map(|(size, align)| Layout::from_size_align(size, align).unwrap());
        let mut rooms = Vec::new();
        for layout in layouts.iter().cycle().take(1000) {
            let (room, chunk) = chunks.room(*layout).unwrap();
            assert_eq!(room as usize % layout.align(), 0);
            let (from, to) = (room as usize, room as usize + layout.size());
            assert!(from >= chunk as usize + size_of::<Chunk>());
            assert!(to <= chunk as usize + LAYOUT.size());
            rooms.push((from, to, chunk));
        }
        rooms.sort_unstable();
        assert!(rooms.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        drop(chunks);
        for (_, _, chunk) in rooms {
            // SAFETY: one of the users that are left.
            unsafe { Chunk::release(chunk, 1) };
        }
    }

    /// Catches a task that does not fit.
    #[test]
    fn large_tasks_go_elsewhere() {
        let chunks = Chunks::new();
        let too_large = Layout::from_size_align(MOST + 1, 1).unwrap();
        let too_aligned = Layout::from_size_align(64, 64).unwrap();
        assert!(chunks.room(too_large).is_none() && chunks.room(too_aligned).is_none());
    }
}
