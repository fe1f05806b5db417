//! The decision: known costs and prices in, what to do about the next call out; what a call has
//! shown in, what is known out.
//!
//! With `W` ticks of work on the caller alone, a helper that starts after `d` ticks, whose call
//! costs the caller `c`, and whose last result the caller sees after `s`, a loop ends after
//! `c + (W + d) / 2 + s` instead of `W`. So a helper pays where `W > 2c + d + 2s`. That is what the
//! decision goes by until it has been tried: caches, memory and processors that share their units
//! make it dearer, by as much as they like. Once a loop has been run with a helper, what it took is
//! compared with what it takes alone. Now and then the other way is tried again.

use super::{Key, Known, Market, Memory, Table};

/// Whether a worker could come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    /// One spins, waiting for a call.
    Spins,
    /// One is busy, or about to look around.
    IsAwake,
    /// Whoever is idle is asleep.
    Sleeps,
}

/// What to do about the next call of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision {
    /// Call a worker before the first block.
    BringIn {
        /// How many ticks it should take alone, if that is known.
        expected: Option<u64>,
        /// Whether it is worth waking one that sleeps.
        wake: bool,
        /// Whether that is for the loops that follow, more than for this one.
        more_follow: bool,
    },
    /// Time the first claim, then decide.
    Probe,
    /// The caller just works.
    Alone {
        /// How many ticks that should take.
        expected: u64,
        /// Whether there was a pause before the loop's last calls, so that a reading of the clock at
        /// the end says nothing without one at the start.
        gaps: bool,
    },
}

/// The loop that is decided about, and what is known.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) costs: &'a Table,
    pub(crate) market: &'a Market,
    pub(crate) key: Key,
    /// How many indices the loop has.
    pub(crate) len: usize,
}

/// Every so many thoughts the other way is tried: an odd number, so that it is not always the same one
/// of two, four or eight loops that take turns.
const TRY_AGAIN: u32 = 127;
/// The same where help was no help: a worker may spin for the sake of the tries alone.
const TRY_HELP_AGAIN: u32 = 509;
/// So many times in a row: the first time memory has to move over.
const TIMES: u32 = 2;
/// However much there is to be gained.
const AT_MOST: u32 = 67;
/// A loop that costs more than this part of the price is not far below it.
const DOUBTFUL_PRICE: u64 = 16;
/// When such loops have taken so many times the price, it is doubted: with help they would have taken
/// half, so by then a price that is too high has cost a few times what it would cost to pay it.
const DOUBT_AFTER: u64 = 16;
/// The same as long as the price rests on a few samples.
const DOUBT_EARLY_AFTER: u64 = 2;
/// Help that made loops worse is tried again when they have taken so many times what it costs to wake
/// somebody,
const AS_BEFORE: u64 = 16;
/// and when it was as before, twice as many the next time, up to this power of two.
const DOUBLED: u64 = 4;
/// A worker that sleeps is woken for a loop where that saves more than this part of it: it may be
/// late, and it takes a processor.
const WORTH_WAKING: u64 = 8;
/// Where help is clearly worse, every so many times less often.
const IF_CLEAR: u32 = 16;

/// The least that a loop must cost to be worth a thought: it takes longer than a worker that spins
/// takes to start and to report back.
#[inline]
fn worth_a_thought(market: &Market) -> u64 {
    3 * market.start_spinning()
}

/// After how many thoughts the other way is tried. Trying to do without help costs a loop what it
/// gains by it, less than a hundredth in all. Trying help costs about what a worker that spins takes
/// to start, so the more there is to be gained the sooner it is tried again.
fn try_again_every(work: u64, helped: u64, market: &Market) -> u32 {
    if helped < work {
        return TRY_AGAIN;
    }
    let clear = helped / 4 * 3 > work;
    let gain = work as f32 / (4 * market.start_spinning()).max(1) as f32;
    let every = (TRY_HELP_AGAIN as f32 / gain.max(1.0)) as u32;
    let every = every.max(AT_MOST) * if clear { IF_CLEAR } else { 1 };
    every | 1
}

fn doubt_after(is_known: bool) -> u64 {
    if is_known {
        DOUBT_AFTER
    } else {
        DOUBT_EARLY_AFTER
    }
}

/// What a loop of `work` ticks takes with a worker that spins, as long as that has not been tried.
fn with_a_spinner(work: u64, market: &Market) -> u64 {
    work / 2 + 2 * market.start_spinning()
}

/// What it takes with a worker that sleeps.
fn with_a_sleeper(work: u64, market: &Market) -> u64 {
    let (call, start) = market.wake();
    call + work.min((work + start) / 2 + market.start_spinning())
}

fn is_worth_waking(work: u64, market: &Market) -> bool {
    with_a_sleeper(work, market) < work - work / WORTH_WAKING
}

impl Subject<'_> {
    /// Decides. `gap` is how long ago this caller's last loop was over.
    #[inline]
    pub(crate) fn decide(
        self,
        helper: impl FnOnce() -> Helper,
        gap: impl FnOnce() -> u64,
        memory: &Memory,
    ) -> Decision {
        match self.costs.alone(self.key) {
            Known::Nothing => Decision::BringIn {
                expected: None,
                wake: true,
                more_follow: false,
            },
            Known::Doubtful { .. } => Decision::Probe,
            Known::Cost { each, gaps } => {
                let expected = (each * self.len as f32) as u64;
                let worth = worth_a_thought(self.market);
                if expected < worth && expected > worth / DOUBTFUL_PRICE {
                    self.doubt_price(expected, memory);
                }
                let bring_in = if expected < worth {
                    None
                } else {
                    self.think(expected, helper(), gap, memory)
                };
                bring_in.unwrap_or(Decision::Alone { expected, gaps })
            }
        }
    }

    /// A loop that is not far below the price: now and then the price is doubted.
    fn doubt_price(self, expected: u64, memory: &Memory) {
        let after = doubt_after(self.market.knows_spinning());
        let price = after * self.market.start_spinning();
        if memory.below.comes_to(expected, price) {
            self.market.doubt_spinning();
        }
    }

    /// Whether to bring somebody in, and what for.
    fn think(
        self,
        work: u64,
        helper: Helper,
        gap: impl FnOnce() -> u64,
        memory: &Memory,
    ) -> Option<Decision> {
        // One that spins is called first.
        let wake = helper == Helper::Spins || is_worth_waking(work, self.market);
        let bring_in = Decision::BringIn {
            expected: Some(work),
            wake,
            more_follow: false,
        };
        memory.thoughts.add(1);
        let helped = match self.costs.helped(self.key) {
            Some(cost) => (cost * self.len as f32) as u64,
            None => {
                let helped = with_a_spinner(work, self.market);
                if helped >= work {
                    // By the price, not by experience.
                    self.doubt_price(work, memory);
                }
                helped
            }
        };
        let every = try_again_every(work, helped, self.market);
        let other_way = memory.thoughts.get() as u32 % every >= every - TIMES;
        if helper != Helper::Sleeps {
            if helped < work {
                memory.as_before.set(0);
            }
            let find_out = helper == Helper::Spins && !self.market.knows_spinning();
            return ((helped < work) != other_way || find_out).then_some(bring_in);
        }
        if wake {
            return (!other_way).then_some(bring_in);
        }
        let (call, start) = self.market.wake();
        if helped >= work {
            let as_before = memory.as_before.get();
            let patience = (AS_BEFORE << as_before).saturating_mul(call + start);
            if memory.without.comes_to(work, patience) {
                // An experience that was bad is made again, which costs a call and a start, and a few
                // loops that take longer.
                memory.as_before.set((as_before + 1).min(DOUBLED));
                self.costs.forget_helped(self.key);
            }
        }
        let after = doubt_after(self.market.knows_waking());
        // To try costs the caller the call: as long as nobody comes it goes on by itself.
        if memory.refused.comes_to(work, after * call) {
            self.market.doubt_waking();
        }
        // What a worker that spins would have saved in this call; it would have gone to sleep in a
        // long gap.
        let saved = if gap() < 4 * (call + start) {
            work.saturating_sub(helped)
        } else {
            0
        };
        let due = memory.rent.comes_to(saved, call + start);
        if due {
            self.market.tries_to_know_spinning();
        }
        due.then_some(Decision::BringIn {
            expected: Some(work),
            wake: true,
            more_follow: true,
        })
    }

    /// Whether a loop of so much work is less than any worker could be worth.
    #[inline]
    pub(crate) fn is_light(self, expected: u64) -> bool {
        expected < worth_a_thought(self.market)
    }

    /// How many of a loop's `units` are worth a claim of their own, if it takes `expected` ticks on the
    /// caller alone: a claim takes about as long as a call, because both are a line that goes from
    /// one processor to another.
    pub(crate) fn worth_a_claim(self, expected: u64, units: usize) -> usize {
        let price = self.market.start_spinning() as f32 * units as f32;
        (price / expected.max(1) as f32).ceil() as usize
    }

    /// Whether a loop that takes `expected` ticks on the caller alone is large: each of its lanes has
    /// more to do than a worker takes to start.
    pub(crate) fn is_large(self, expected: u64, lanes: usize) -> bool {
        let (call, start) = self.market.wake();
        expected > (lanes as u64).saturating_mul(call + start)
    }

    /// Whether a loop of which one of `claims` took so many ticks is so dear that it should not be
    /// finished alone; if so, whether that is worth waking somebody.
    pub(crate) fn too_dear_to_probe(
        self,
        ticks: u64,
        claims: usize,
        helper: impl FnOnce() -> Helper,
    ) -> Option<bool> {
        let work = ticks.saturating_mul(claims as u64);
        // One claim says little, and less after a pause: most of its time it may have waited for memory.
        if work <= 4 * worth_a_thought(self.market) {
            return None;
        }
        let wake = with_a_sleeper(work / 2, self.market) < work / 2;
        (wake || helper() != Helper::Sleeps).then_some(wake)
    }

    /// After a call on the caller alone that was expected to take `expected` ticks, with or without
    /// pauses before. It took `since`, if the clock was read at its start as well, and the pause was
    /// `gap`; else that is an upper bound. Far above, the body may have turned dear.
    #[inline]
    pub(crate) fn after_alone(self, expected: u64, gaps: bool, since: u64, gap: Option<u64>) {
        let suspicious = self.suspicious(expected);
        if since > suspicious {
            return self.costs.doubt(self.key);
        }
        let gaps_now = match gap {
            Some(gap) => gap > suspicious,
            None => gaps,
        };
        // The lowest counts: the first one after a call with help waits for memory that the worker has.
        if since < expected - expected / 8 || gaps_now != gaps {
            let each = self.each(since.min(expected));
            self.costs.set_alone(self.key, each, gaps_now);
        }
    }

    /// After a call that was probed and took `ticks` on the caller alone, or would have. It may have
    /// been in doubt for a pause alone, or because the caller had lost its processor for a while.
    pub(crate) fn after_probe(self, ticks: u64) {
        let each = self.each(ticks);
        let known = match self.costs.alone(self.key) {
            Known::Doubtful { each } if each > 0.0 => each,
            _ => 0.0,
        };
        let expected = (known * self.len as f32) as u64;
        if ticks > self.suspicious(expected) {
            self.costs.forget_helped(self.key);
            self.costs.set_alone(self.key, each, true);
        } else {
            let each = if known > 0.0 { each.min(known) } else { each };
            self.costs.set_alone(self.key, each, true);
        }
    }

    /// After how long a call that was expected to take `expected` ticks should no longer be taken for light.
    pub(crate) fn patience(self, expected: u64) -> u64 {
        self.suspicious(expected)
    }

    /// What takes so long is not what was expected.
    fn suspicious(self, expected: u64) -> u64 {
        2 * expected + worth_a_thought(self.market)
    }

    /// After a call that was open to a worker, and which took `ticks`. `spun`: one that spun was called;
    /// else nobody was, or one that slept. `came`: somebody took part.
    pub(crate) fn after_help(self, ticks: u64, spun: bool, came: bool) {
        let alone = match self.costs.alone(self.key) {
            Known::Nothing => return self.costs.doubt(self.key),
            Known::Cost { each, gaps } => {
                let expected = (each * self.len as f32) as u64;
                if !came && ticks < expected - expected / 8 {
                    // The caller did it all: it takes no longer than that.
                    return self.costs.set_alone(self.key, self.each(ticks), gaps);
                }
                if !spun {
                    return;
                }
                expected
            }
            Known::Doubtful { .. } => return,
        };
        if !came && alone > 4 * worth_a_thought(self.market) {
            // There was time enough: whoever was awake had something else to do, and that says
            // nothing about help.
            return;
        }
        // The first sample is one among what was expected, lest one bad one decides.
        let cost = self.each(ticks);
        let guess = self.each(with_a_spinner(alone, self.market));
        let known = self.costs.helped(self.key);
        if known.is_none() && cost < guess {
            // With several helpers it takes less than is guessed for one.
            return self.costs.set_helped(self.key, cost);
        }
        let old = known.unwrap_or(guess);
        if cost < old / 2.0 {
            // The body has turned cheap.
            self.costs.doubt(self.key);
            self.costs.forget_helped(self.key);
        } else {
            // A sample counts for an eighth, because the first few wait for memory to move over, and for
            // no more than double, because a thread may lose its processor for a while.
            let cost = old + (cost.min(2.0 * old) - old) / 8.0;
            self.costs.set_helped(self.key, cost);
        }
    }

    fn each(self, ticks: u64) -> f32 {
        ticks as f32 / self.len as f32
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
        // As often as it takes to be believed.
        for _ in 0..10 {
            market.sample(Start::Spinning, spinning);
            market.sample(Start::Parked, parked);
            market.woke(call);
        }
        market
    }

    fn brings_in(decision: Decision) -> bool {
        matches!(
            decision,
            Decision::BringIn {
                more_follow: false,
                ..
            }
        )
    }

    fn key() -> Key {
        Key::new(1, Location::caller(), 100)
    }

    fn subject<'a>(costs: &'a Table, market: &'a Market) -> Subject<'a> {
        Subject {
            costs,
            market,
            key: key(),
            len: 100,
        }
    }

    /// What is known of a loop whose 100 indices take so many ticks.
    fn cost_of_100(ticks: f32) -> Known {
        Known::Cost {
            each: ticks / 100.0,
            gaps: false,
        }
    }

    /// About a loop of 100 indices, of which this is known and which has never been helped.
    fn decide_once(known: Known, market: &Market, helper: Helper) -> Decision {
        let table = Table::new();
        match known {
            Known::Nothing => {}
            Known::Doubtful { .. } => table.doubt(key()),
            Known::Cost { each, gaps } => table.set_alone(key(), each, gaps),
        }
        subject(&table, market).decide(|| helper, || 0, &Memory::default())
    }

    /// Unknown loops bring somebody in, doubtful ones are probed, whatever they cost: catches a
    /// price that is asked of loops that have none.
    #[test]
    fn what_is_not_known_is_feared() {
        let market = market(1000, 20_000, 4000);
        for helper in [Helper::Spins, Helper::Sleeps] {
            let unknown = decide_once(Known::Nothing, &market, helper);
            assert!(brings_in(unknown));
            let doubtful = decide_once(Known::Doubtful { each: 0.0 }, &market, helper);
            assert_eq!(doubtful, Decision::Probe);
        }
    }

    /// A light loop stays with its caller even where a worker spins; one worth a spinner is brought
    /// to one, or to whoever is awake, and not to a sleeper; a dear one wakes somebody. Catches prices
    /// that are mixed up.
    #[test]
    fn each_price_has_its_loops() {
        let market = market(1000, 20_000, 4000);
        let (light, middle, dear) = (2900.0, 10_000.0, 100_000.0);
        let at = |cost: f32, helper| decide_once(cost_of_100(cost), &market, helper);
        for helper in [Helper::Spins, Helper::Sleeps] {
            let alone = Decision::Alone {
                expected: 2900,
                gaps: false,
            };
            assert_eq!(at(light, helper), alone);
            assert!(brings_in(at(dear, helper)));
        }
        assert!(brings_in(at(middle, Helper::Spins)));
        let wakes = |cost| match at(cost, Helper::IsAwake) {
            Decision::BringIn { wake, .. } => wake,
            decision => panic!("{decision:?}"),
        };
        assert!(wakes(dear) && !wakes(middle));
        assert!(matches!(at(middle, Helper::Sleeps), Decision::Alone { .. }));
    }

    /// A market without a sample has no price to be paid: everything is brought in, so that there
    /// will be one. Catches a pool that never learns because it never calls anybody.
    #[test]
    fn a_new_market_wants_samples() {
        let decision = decide_once(cost_of_100(100.0), &Market::default(), Helper::Sleeps);
        assert!(brings_in(decision));
    }

    /// A call that took far longer than it should puts its loop in doubt; one that took no longer
    /// does not; one that took less makes it cheaper. Catches a body that turned dear and goes
    /// unnoticed.
    #[test]
    fn a_body_that_turns_dear_is_noticed_at_once() {
        let (market, table) = (market(1000, 20_000, 4000), Table::new());
        let known = |since| {
            table.set_alone(key(), 1.0, false);
            subject(&table, &market).after_alone(100, false, since, None);
            table.alone(key())
        };
        assert_eq!(known(100), cost_of_100(100.0));
        assert_eq!(known(2000), cost_of_100(100.0));
        assert!(matches!(known(100_000), Known::Doubtful { .. }));
        assert_eq!(known(50), cost_of_100(50.0));
    }

    /// A price that has gone far up, because workers had lost their processors, comes down again by
    /// loops that cost less. Catches a price that nobody pays and that stays for ever.
    #[test]
    fn a_price_that_is_not_paid_comes_down() {
        let (market, table) = (market(1000, 20_000, 4000), Table::new());
        let (subject, memory) = (subject(&table, &market), Memory::default());
        (0..100).for_each(|_| market.sample(Start::Spinning, 20_000));
        table.set_alone(key(), 120.0, false);
        let calls =
            (0..10_000).position(|_| brings_in(subject.decide(|| Helper::Spins, || 0, &memory)));
        // Not before it has cost a few times what it would cost to pay it.
        assert!(calls.is_some_and(|n| (20..200).contains(&n)), "{calls:?}");
        // A light loop is not worth a worker, however long it is run.
        table.set_alone(key(), 15.0, false);
        let light = (0..100_000).all(|_| {
            let decision = subject.decide(|| Helper::Spins, || 0, &memory);
            matches!(decision, Decision::Alone { .. })
        });
        assert!(light);
    }

    /// A loop with pauses before its calls is probed once, then timed, and no longer timed when the
    /// pauses are over. Catches a loop that is probed at every call, and a clock that is read twice
    /// for ever.
    #[test]
    fn pauses_are_learnt() {
        let (market, table) = (market(1000, 20_000, 4000), Table::new());
        let subject = subject(&table, &market);
        let gaps = || matches!(table.alone(key()), Known::Cost { gaps: true, .. });
        table.set_alone(key(), 1.0, false);
        subject.after_alone(100, false, 50_000, None);
        assert!(matches!(table.alone(key()), Known::Doubtful { .. }));
        subject.after_probe(100);
        assert!(gaps());
        subject.after_alone(100, true, 100, Some(50_000));
        assert!(gaps());
        subject.after_alone(100, true, 100, Some(10));
        assert!(!gaps() && table.alone(key()) == cost_of_100(100.0));
        // What is first met, and light, has the cost that the probe has seen.
        let new = Table::new();
        let first = super::Subject {
            costs: &new,
            ..subject
        };
        new.doubt(key());
        first.after_probe(50);
        assert_eq!(
            new.alone(key()),
            Known::Cost {
                each: 0.5,
                gaps: true
            }
        );
        // A body that turns dear is noticed with pauses, too.
        table.set_alone(key(), 1.0, true);
        subject.after_alone(100, true, 100_000, Some(50_000));
        assert!(matches!(table.alone(key()), Known::Doubtful { .. }));
    }

    /// A loop that takes longer with a worker than alone stays alone though the price says otherwise,
    /// but for a try now and then; and the other way round. Catches a price that is believed against
    /// experience, and an experience that is never renewed.
    #[test]
    fn experience_counts_more_than_the_price() {
        let market = market(1000, 20_000, 4000);
        let most = TIMES * (TRY_HELP_AGAIN / AT_MOST);
        let all_but = TRY_AGAIN - TIMES;
        let turns = [
            (210.0, TRY_HELP_AGAIN, TIMES..=most),
            (190.0, TRY_AGAIN, all_but..=all_but),
        ];
        for (helped, thoughts, brought_in) in turns {
            let (table, memory) = (Table::new(), &Memory::default());
            table.set_alone(key(), 200.0, false);
            table.set_helped(key(), helped);
            let decide = || subject(&table, &market).decide(|| Helper::Spins, || 0, memory);
            let decisions = std::iter::repeat_with(decide).take(thoughts as usize);
            let times = decisions.filter(|&decision| brings_in(decision));
            let times = times.count() as u32;
            assert!(brought_in.contains(&times), "{helped}: {times}");
        }
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
                (true, Helper::Spins | Helper::IsAwake) => {
                    work.min((work + spinning) / 2 + spinning)
                }
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
            let (table, memory) = (Table::new(), Memory::default());
            let mut gaps = calls.iter().map(|call| call.1);
            let ours = cost_of(&calls, window, |work, helper| {
                let gap = gaps.next().unwrap();
                table.set_alone(key(), work as f32 / 100.0, false);
                matches!(
                    subject(&table, &market).decide(|| helper, || gap, &memory),
                    Decision::BringIn { .. }
                )
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
