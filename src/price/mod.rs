//! Prices: what bringing somebody in costs, what a loop costs without, and whether it pays.
//!
//! | file | what |
//! |---|---|
//! | `table` | what an index of each loop costs, remembered from call to call |
//! | `market` | what starting a worker costs on this machine, now |
//! | `memory` | what each caller remembers from loop to loop |
//! | `decision` | what to do about the next call: pure |
//!
//! Everything is in ticks of [`clock`](crate::clock), measured by the pool itself while it works.
//! Prices decide speed only, never what is computed: a wrong one makes a call slower, not wrong.
//!
//! # The light path
//!
//! A loop whose expected work is below the price of a worker runs on its caller. What that costs
//! beside the blocks, on x86-64 Linux: the thread's kept slot, one look into the table and one at the
//! price, the opening of the slot (some twenty stores to lines that only this thread writes), two calls
//! of the body, each with a claim that is a store and a load, a look at the watch's state, and one read
//! of the clock. No fence, no atomic read-modify-write, no lock, no system call, no line that another
//! thread writes. Elsewhere a claim is a compare-and-swap.
//!
//! The clock is read at the end only. The time since the last reading on this slot is an upper
//! bound of the call's cost; where it is much more than the call was expected to cost, either there
//! was a pause before it, or the caller lost its processor, or the body has turned dear, and the next
//! call of the loop is *probed*: the caller times its first claim alone before it decides. Where there
//! was a pause, the next calls are timed at both ends.
//!
//! # The others
//!
//! The first call of a loop that is not known brings somebody in, the second one is probed. After
//! that a loop that is dear enough is decided by what it takes alone and what it takes with a worker
//! that spins, both measured, and now and then the other way is tried. While everybody sleeps, a
//! loop wakes somebody if it is worth that by itself; if not, what help would have saved accrues like
//! a rent, and somebody is woken when it has come to the price of that (*ski rental*).
//!
//! Prices are measured where they are paid, so one that is too high would stay: it is asked in part
//! until there are a few samples, and what loops cost that refuse it is summed up, too, until the price
//! is doubted.

mod decision;
mod market;
mod memory;
mod table;

pub(crate) use decision::{Decision, Helper, Subject};
pub(crate) use market::{Market, Start};
pub(crate) use memory::Memory;
pub(crate) use table::{Key, Known, Table};
