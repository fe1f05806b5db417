//! The decision: known cost and prices in, what to do about the next call out.
//!
//! With `W` ticks of work on the caller alone, a helper that starts after `d` ticks, whose call
//! costs the caller `c`, and whose last result the caller sees after `s`, a loop ends after
//! `c + (W + d) / 2 + s` instead of `W`. So a helper pays where `W > 2c + d + 2s`. `s` is the way of
//! a cache line between two processors, as most of what a spinning worker takes to start is.

use super::{Key, Known, Market, Table};

/// Whether a worker could come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    /// One spins, waiting for a call.
    Spins,
    /// Whoever is idle is asleep.
    Sleeps,
}

/// What to do about the next call of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision {
    /// Call a worker before the first block.
    BringIn,
    /// Time the first block, then decide.
    Probe,
    /// The caller just works. Its work is expected to take this many ticks.
    Alone(u64),
}

/// What a loop must cost to be worth a worker that spins.
#[inline]
pub(crate) fn worth_a_spinner(market: &Market) -> u64 {
    3 * market.start_spinning()
}

/// What a loop must cost to be worth waking a worker that sleeps.
pub(crate) fn worth_a_sleeper(market: &Market) -> u64 {
    let (call, start) = market.wake();
    2 * call + start + 2 * market.start_spinning()
}

/// Decides about a loop of `len` indices. `rent` is what this caller's loops would have saved with a
/// spinning worker since one was woken last; when it exceeds the price of waking one, one is woken.
#[inline]
pub(crate) fn decide(
    known: Known,
    len: usize,
    market: &Market,
    helper: impl FnOnce() -> Helper,
    rent: &mut u64,
) -> Decision {
    match known {
        Known::Nothing => Decision::BringIn,
        Known::Doubtful(_) => Decision::Probe,
        Known::Cost(cost) => {
            let work = (cost * len as f32) as u64;
            let worth = worth_a_spinner(market);
            if work <= worth {
                return Decision::Alone(work);
            }
            decide_by_helper(work, worth, market, helper(), rent)
        }
    }
}

/// The same for a loop that is worth a spinning worker, if there is one.
fn decide_by_helper(
    work: u64,
    worth: u64,
    market: &Market,
    helper: Helper,
    rent: &mut u64,
) -> Decision {
    if helper == Helper::Spins || work > worth_a_sleeper(market) {
        return Decision::BringIn;
    }
    // What a spinning worker would have saved in this call.
    *rent += (work - worth) / 2;
    let (call, start) = market.wake();
    if *rent > call + start {
        *rent = 0;
        return Decision::BringIn;
    }
    Decision::Alone(work)
}

/// After a call on the caller alone that was expected to take `expected` ticks: `since` is an upper
/// bound of what it took. Far above, the body may have turned dear; below, it is cheaper than was
/// known.
#[inline]
pub(crate) fn still_alone(
    table: &Table,
    key: Key,
    len: usize,
    expected: u64,
    since: u64,
    market: &Market,
) {
    if since > 2 * expected + worth_a_spinner(market) {
        table.set(key, Known::Doubtful(0.0));
    } else if since < expected - expected / 8 {
        table.set(key, Known::Cost(since as f32 / len as f32));
    }
}

impl Known {
    /// What is known after a call with help in which the caller's own indices took `cost` ticks
    /// each. Two lanes that hinder each other can make a cheap loop look dear, so the next call is
    /// probed where the loop is near the price, or was unknown.
    pub(crate) fn after_help(self, cost: f32, len: usize, market: &Market) -> Known {
        match self {
            Known::Cost(old) => {
                let cost = old + (cost - old) / 4.0;
                if cost * (len as f32) < 2.0 * worth_a_spinner(market) as f32 {
                    Known::Doubtful(cost)
                } else {
                    Known::Cost(cost)
                }
            }
            _ => Known::Doubtful(cost),
        }
    }
}
