//! `Table`: what an index of each loop costs.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries of a table: 8 KiB.
const ENTRIES: usize = 1024;
/// Set in an entry whose cost was not measured on the caller alone, or is in doubt.
const DOUBTFUL: u64 = 1 << 32;

/// Which loop: its body's code, where it is called, and its length to the next power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    /// `code` is the address of the body's monomorphised code.
    #[inline]
    pub(crate) fn new(code: usize, site: &'static Location<'static>, len: usize) -> Self {
        let site = std::ptr::from_ref(site) as u64;
        let mixed = (code as u64).rotate_left(32) ^ site ^ u64::from(len.max(1).ilog2()) << 56;
        // An odd multiplier spreads the bits upwards; the upper ones are used.
        Key(mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    #[inline]
    fn entry(self) -> usize {
        (self.0 >> 54) as usize % ENTRIES
    }

    /// 31 bits beside those of the entry, never all zero.
    #[inline]
    fn tag(self) -> u64 {
        (self.0 >> 22 | 1) << 33
    }
}

/// What the table knows of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// Nothing.
    Nothing,
    /// It cost this many ticks an index, or so; to be probed.
    Doubtful(f32),
    /// It costs this many ticks an index.
    Cost(f32),
}

/// Costs by key, in a small table that forgets: two loops that fall on one entry drive each other
/// out, and are then taken for unknown. Tag and cost are one word, so that nobody takes one loop's
/// cost for another's; an update that is lost to another thread's is a sample less.
pub(crate) struct Table {
    entries: Box<[AtomicU64]>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table {
            entries: (0..ENTRIES).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    #[inline]
    pub(crate) fn look(&self, key: Key) -> Known {
        let word = self.entries[key.entry()].load(Ordering::Relaxed);
        if word >> 33 << 33 != key.tag() {
            return Known::Nothing;
        }
        let cost = f32::from_bits(word as u32);
        if word & DOUBTFUL == 0 {
            Known::Cost(cost)
        } else {
            Known::Doubtful(cost)
        }
    }

    /// Replaces what is known.
    pub(crate) fn set(&self, key: Key, known: Known) {
        let word = match known {
            Known::Nothing => 0,
            Known::Doubtful(cost) => key.tag() | DOUBTFUL | u64::from(cost.to_bits()),
            Known::Cost(cost) => key.tag() | u64::from(cost.to_bits()),
        };
        self.entries[key.entry()].store(word, Ordering::Relaxed);
    }
}
