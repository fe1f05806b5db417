//! `Table`: what an index of each loop costs.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries of a table: 16 KiB.
const ENTRIES: usize = 1024;
/// Set in an entry whose cost is in doubt.
const DOUBTFUL: u64 = 1 << 32;
/// The sign of a cost, which is not negative: there were pauses.
const GAPS: u32 = 1 << 31;

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

/// What the table knows of a loop on its caller alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// Nothing.
    Nothing,
    /// It is to be probed.
    Doubtful {
        /// The ticks it cost an index until then; 0: nothing was known.
        each: f32,
    },
    /// It costs this many ticks an index.
    Cost {
        each: f32,
        /// Whether there were pauses before its calls, when that was last looked at.
        gaps: bool,
    },
}

/// One loop: a tag and the ticks an index takes, on the caller alone and with a worker that spun when
/// it was called.
#[derive(Default)]
struct Entry {
    alone: AtomicU64,
    helped: AtomicU64,
}

/// Costs by key, in a small table that forgets: two loops that fall on one entry drive each other
/// out, and are then taken for unknown. Tag and cost are one word, so that nobody takes one loop's
/// cost for another's; an update that is lost to another thread's is a sample less.
pub(crate) struct Table {
    entries: Box<[Entry]>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table {
            entries: (0..ENTRIES).map(|_| Entry::default()).collect(),
        }
    }

    /// What the loop costs on its caller alone.
    #[inline]
    pub(crate) fn alone(&self, key: Key) -> Known {
        match read(&self.entries[key.entry()].alone, key) {
            None => Known::Nothing,
            Some(word) if word & DOUBTFUL != 0 => Known::Doubtful {
                each: f32::from_bits(word as u32 & !GAPS),
            },
            Some(word) => Known::Cost {
                each: f32::from_bits(word as u32 & !GAPS),
                gaps: word as u32 & GAPS != 0,
            },
        }
    }

    /// What it costs with a worker that spun when it was called, if that is known.
    pub(crate) fn helped(&self, key: Key) -> Option<f32> {
        let word = read(&self.entries[key.entry()].helped, key)?;
        Some(f32::from_bits(word as u32))
    }

    /// Puts the loop in doubt.
    pub(crate) fn doubt(&self, key: Key) {
        let alone = &self.entries[key.entry()].alone;
        let word = read(alone, key).unwrap_or(key.tag());
        alone.store(word | DOUBTFUL, Ordering::Relaxed);
    }

    /// Forgets what it costs with help.
    pub(crate) fn forget_helped(&self, key: Key) {
        let helped = &self.entries[key.entry()].helped;
        helped.store(0, Ordering::Relaxed);
    }

    /// Replaces what it costs on its caller alone.
    pub(crate) fn set_alone(&self, key: Key, each: f32, gaps: bool) {
        let gaps = if gaps { GAPS } else { 0 };
        let word = &self.entries[key.entry()].alone;
        write(word, key, each.to_bits() | gaps);
    }

    /// Replaces what it costs with help.
    pub(crate) fn set_helped(&self, key: Key, cost: f32) {
        write(&self.entries[key.entry()].helped, key, cost.to_bits());
    }
}

#[inline]
fn read(word: &AtomicU64, key: Key) -> Option<u64> {
    let word = word.load(Ordering::Relaxed);
    (word >> 33 << 33 == key.tag()).then_some(word)
}

fn write(word: &AtomicU64, key: Key, bits: u32) {
    word.store(key.tag() | u64::from(bits), Ordering::Relaxed);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches a tag that is not compared, and words that are mixed up.
    #[test]
    fn a_loop_gets_its_own_costs() {
        let table = Table::new();
        let here = Location::caller();
        let keys: Vec<_> = (0..5000).map(|code| Key::new(code, here, 100)).collect();
        for (code, &key) in keys.iter().enumerate() {
            assert_eq!(table.alone(key), Known::Nothing);
            table.set_alone(key, code as f32, code % 2 == 0);
            assert_eq!(table.helped(key), None);
            table.set_helped(key, 2.0 * code as f32);
        }
        let mut kept = 0;
        for (code, &key) in keys.iter().enumerate() {
            if let Known::Cost { each, gaps } = table.alone(key) {
                kept += 1;
                assert_eq!((each, gaps), (code as f32, code % 2 == 0));
                assert_eq!(table.helped(key), Some(2.0 * each));
            }
        }
        assert!(kept > ENTRIES / 2, "{kept}");
        let key = keys[4999];
        table.doubt(key);
        let doubtful = |each| Known::Doubtful { each };
        assert_eq!(table.alone(key), doubtful(4999.0));
        assert_eq!(table.helped(key), Some(9998.0));
        table.forget_helped(key);
        assert_eq!(table.helped(key), None);
        let new = Key::new(7000, here, 100);
        table.doubt(new);
        assert_eq!(table.alone(new), doubtful(0.0));
        // Lengths of one power of two are one loop, others are not.
        assert_eq!(Key::new(1, here, 64), Key::new(1, here, 127));
        assert_ne!(Key::new(1, here, 64), Key::new(1, here, 128));
    }
}
