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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::price::Start;
    use std::panic::Location;

    /// A market with these prices, in ticks.
    fn market(spinning: u64, parked: u64, call: u64) -> Market {
        let market = Market::default();
        market.sample(Start::Spinning, spinning);
        market.sample(Start::Parked, parked);
        market.sample_call(call);
        market
    }

    fn decide_once(known: Known, len: usize, market: &Market, helper: Helper) -> Decision {
        decide(known, len, market, || helper, &mut 0)
    }

    /// Unknown loops bring somebody in, doubtful ones are probed, whatever they cost: catches a
    /// price that is asked of loops that have none.
    #[test]
    fn what_is_not_known_is_feared() {
        let market = market(1000, 20_000, 4000);
        for helper in [Helper::Spins, Helper::Sleeps] {
            let unknown = decide_once(Known::Nothing, 8, &market, helper);
            assert_eq!(unknown, Decision::BringIn);
            let doubtful = decide_once(Known::Doubtful(0.0), 8, &market, helper);
            assert_eq!(doubtful, Decision::Probe);
        }
    }

    /// A light loop stays with its caller even where a worker spins; one worth a spinner is brought
    /// to one, and not to a sleeper; a dear one wakes somebody. Catches prices that are mixed up.
    #[test]
    fn each_price_has_its_loops() {
        let market = market(1000, 20_000, 4000);
        let (light, middle, dear) = (2000.0, 10_000.0, 100_000.0);
        let at = |cost: f32, helper| decide_once(Known::Cost(cost / 100.0), 100, &market, helper);
        for helper in [Helper::Spins, Helper::Sleeps] {
            assert_eq!(at(light, helper), Decision::Alone(2000));
            assert_eq!(at(dear, helper), Decision::BringIn);
        }
        assert_eq!(at(middle, Helper::Spins), Decision::BringIn);
        assert!(matches!(at(middle, Helper::Sleeps), Decision::Alone(_)));
    }

    /// A market without a sample has no price to be paid: everything is brought in, so that there
    /// will be one. Catches a pool that never learns because it never calls anybody.
    #[test]
    fn a_new_market_wants_samples() {
        let cost = Known::Cost(1.0);
        let decision = decide_once(cost, 100, &Market::default(), Helper::Sleeps);
        assert_eq!(decision, Decision::BringIn);
    }

    /// A call that took far longer than it should puts its loop in doubt; one that took no longer
    /// does not; one that took less makes it cheaper. Catches a body that turned dear and goes
    /// unnoticed.
    #[test]
    fn a_body_that_turns_dear_is_noticed_at_once() {
        let (market, table) = (market(1000, 20_000, 4000), Table::new());
        let key = Key::new(1, Location::caller(), 100);
        let known = |since| {
            table.set(key, Known::Cost(1.0));
            still_alone(&table, key, 100, 100, since, &market);
            table.look(key)
        };
        assert_eq!(known(100), Known::Cost(1.0));
        assert_eq!(known(2000), Known::Cost(1.0));
        assert!(matches!(known(100_000), Known::Doubtful(_)));
        assert_eq!(known(50), Known::Cost(0.5));
    }

    /// What a stream of calls costs its caller, under the decision or a fixed one, on a simulated
    /// clock: `(work, gap)` of each call, in ticks. A worker that was called spins for `window`.
    fn cost_of(
        calls: &[(u64, u64)],
        window: u64,
        mut policy: impl FnMut(u64, Helper) -> bool,
    ) -> u64 {
        const PRICES: (u64, u64, u64) = (1000, 20_000, 4000);
        let (spinning, parked, call) = PRICES;
        let (mut now, mut spins_until, mut cost) = (0, 0, 0);
        for &(work, gap) in calls {
            now += gap;
            let helper = if now < spins_until {
                Helper::Spins
            } else {
                Helper::Sleeps
            };
            let called = policy(work, helper);
            let took = match (called, helper) {
                (false, _) => work,
                (true, Helper::Spins) => work.min((work + spinning) / 2 + spinning),
                (true, Helper::Sleeps) => call + work.min((work + parked) / 2 + spinning),
            };
            if called {
                // From the end of the loop on it waits for the next one.
                spins_until = now + took + window;
            }
            now += took;
            cost += took;
        }
        cost
    }

    /// Ski rental: whatever the stream of loops, the decision costs at most twice what the better
    /// of "always alone" and "always bring in" costs, and one wake-up. Catches rent that is never
    /// due, or due at once.
    #[test]
    fn never_more_than_twice_the_best_fixed_choice() {
        let market = market(1000, 20_000, 4000);
        let mut random = 1_u64;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % n
        };
        for round in 0..2000 {
            let (most_work, most_gap) = (500 << below(9), 1 + (500 << below(12)));
            let window = [0, 10_000, 100_000, 400_000][round % 4];
            let calls: Vec<_> = (0..1 + below(400))
                .map(|_| (1 + below(most_work), below(most_gap)))
                .collect();
            let mut rent = 0;
            let ours = cost_of(&calls, window, |work, helper| {
                let known = Known::Cost(work as f32);
                decide(known, 1, &market, || helper, &mut rent) == Decision::BringIn
            });
            let alone = cost_of(&calls, window, |_, _| false);
            let brought = cost_of(&calls, window, |_, _| true);
            let best = alone.min(brought);
            assert!(
                ours <= 2 * best + 24_000,
                "round {round}: {ours}, alone {alone}, brought in {brought}"
            );
        }
    }
}
