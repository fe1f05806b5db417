//! Prices: what bringing somebody in costs, what a loop costs without, and whether it pays.
//!
//! | file | what |
//! |---|---|
//! | `table` | what an index of each loop costs, remembered from call to call |
//! | `market` | what starting a worker costs on this machine, now |
//! | `decision` | what to do about the next call: pure |
//!
//! Everything is in ticks of [`clock`](crate::clock), measured by the pool itself while it works.
//! Prices decide speed only, never what is computed: a wrong one makes a call slower, not wrong.
//!
//! # The light path
//!
//! A loop whose expected work is below the price of a worker runs on its caller. What that costs
//! beside the blocks: one look into the table, the opening of the slot (stores to lines that only
//! this thread writes), one compare-and-swap for the last block, one read of the clock; no fence,
//! no other atomic read-modify-write, no line that another thread writes.
//!
//! The clock is read at the end only. The time since the last reading on this slot is an upper
//! bound of the call's cost; where it is much more than the call was expected to cost, either there
//! was a pause before it or the body has turned dear, and the next call of the loop is *probed*: the
//! caller times its first block alone before it decides. Where there was a pause, the next calls are
//! timed at both ends.
//!
//! # The others
//!
//! The first call of a loop that is not known brings somebody in, the second one is probed. After
//! that a loop that is dear enough is decided by what it takes alone and what it takes with a worker
//! that is awake, both measured, and now and then the other way is tried. While everybody sleeps, a
//! loop wakes somebody if it is worth that by itself; if not, what help would have saved accrues like
//! a rent, and somebody is woken when it has come to the price of that (*ski rental*).

mod decision;
mod market;
mod table;

pub(crate) use decision::{Decision, Helper, Memory, Subject};
pub(crate) use market::{Market, Start};
pub(crate) use table::{Key, Known, Table};
