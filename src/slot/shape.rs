//! `Shape`: how a loop is shared out, in one word, so that a late worker reads it whole.

use super::door::{Epoch, Word, MAX_UNITS_IN_RUNS};
use std::ops::Range;

/// Most lanes of a loop with runs.
pub(crate) const MAX_LANES_IN_RUNS: usize = 1024;
/// Most runs: a lane beyond them owns none and takes from the others.
const MAX_RUNS: usize = 64;
/// Most lanes of a loop, so that four blocks a lane fit in the door of a loop with one line.
pub(crate) const MAX_LANES: usize = (1 << 20) - 1;

/// One in a model, so that a mark comes round after two loops.
const TAG_BITS: u32 = if cfg!(loom) { 1 } else { 20 };
const PAYLOAD_BITS: u32 = 43;

/// How a loop's units are claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claims {
    /// One at a time, in increasing order, by all lanes from the door: Ceres's way.
    InLine {
        /// Whether each lane that starts queues the next one.
        chain: bool,
    },
    /// From runs of one's own first, several at a time.
    InRuns {
        /// How many runs there are once the loop is cut.
        runs: usize,
        /// Whether a claim takes one unit, because each may need a lane of its own: there are no
        /// more units than lanes. Of lanes for which there is no worker only the first few count,
        /// so that asking for a million costs nothing.
        single: bool,
        /// The least that a claim takes otherwise, as long as that leaves one.
        least: usize,
        /// Whether a worker that starts brings in two, because the loop is large.
        fan: bool,
    },
}

/// Who may take part in a loop and what there is to claim.
///
/// | bits | in line | in runs |
/// |---|---|---|
/// | 63 | 0 | 1 |
/// | 62..43 | tag: low bits of the epoch | the same |
/// | 42 | chain | – |
/// | 41..22 | lanes | – |
/// | 21..0 | units | – |
/// | 40 | | fan |
/// | 39..30 | | least |
/// | 29 | | single |
/// | 28..18 | | lanes |
/// | 17..11 | | runs |
/// | 10..0 | | units |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Lanes that may be active at once, the caller's included.
    pub(crate) lanes: usize,
    /// What is claimed: blocks, or groups of adjacent ones where there are more than the words can
    /// count.
    pub(crate) units: usize,
    /// How it is claimed.
    pub(crate) claims: Claims,
}

impl Shape {
    /// All lanes take one unit after the other. `units` must be at most `MAX_UNITS_IN_LINE`, which
    /// four for each of the most lanes are.
    pub(crate) fn in_line(chain: bool, lanes: usize, units: usize) -> Self {
        let lanes = lanes.min(MAX_LANES);
        debug_assert!(units <= super::door::MAX_UNITS_IN_LINE);
        Shape {
            lanes,
            units,
            claims: Claims::InLine { chain },
        }
    }

    /// Each lane has a run, as far as `helpers` there are that could serve one.
    pub(crate) fn in_runs(lanes: usize, units: usize, helpers: usize) -> Self {
        let units = units.min(MAX_UNITS_IN_RUNS);
        let lanes = lanes.min(MAX_LANES_IN_RUNS).min(units);
        let present = lanes.min(helpers.saturating_add(1));
        let runs = present.min(MAX_RUNS);
        let single = units <= present.max(lanes.min(MAX_RUNS));
        Shape {
            lanes,
            units,
            claims: Claims::InRuns {
                runs,
                single,
                least: 1,
                fan: false,
            },
        }
    }

    /// The same in no more runs than there are `processors`: so few lanes are there at a time.
    pub(crate) fn on(mut self, processors: usize) -> Self {
        if let Claims::InRuns { runs, .. } = &mut self.claims {
            *runs = (*runs).min(processors);
        }
        self
    }

    /// The same with claims of so many units or more, if that leaves several for each lane that there
    /// is room for.
    #[inline]
    pub(crate) fn in_claims_of(mut self, units: usize) -> Self {
        if let Claims::InRuns { runs, least, .. } = &mut self.claims {
            let most = divide(self.units, (4 * *runs).max(2 * self.lanes));
            *least = units.min(most).max(1);
        }
        self
    }

    /// The same in the largest claims that it can have.
    #[inline]
    pub(crate) fn in_large_claims(self) -> Self {
        self.in_claims_of(usize::MAX)
    }

    /// The same, in which a worker that starts brings in two if `fan`, else one.
    #[inline]
    pub(crate) fn in_a_fan(mut self, wide: bool) -> Self {
        if let Claims::InRuns { fan, .. } = &mut self.claims {
            *fan = wide;
        }
        self
    }

    /// How many a worker that starts brings in.
    pub(crate) fn successors(self) -> usize {
        match self.claims {
            Claims::InRuns { fan: true, .. } => 2,
            _ => 1,
        }
    }

    /// The least that a claim takes.
    #[inline]
    pub(crate) fn least(self) -> usize {
        match self.claims {
            Claims::InRuns { least, .. } => least,
            Claims::InLine { .. } => 1,
        }
    }

    /// The word, marked with the epoch that it is for.
    pub(crate) fn pack(self, epoch: Epoch) -> u64 {
        let tag = epoch.low_bits(TAG_BITS) << PAYLOAD_BITS;
        let (lanes, units) = (self.lanes as u64, self.units as u64);
        match self.claims {
            Claims::InLine { chain } => tag | (chain as u64) << 42 | lanes << 22 | units,
            Claims::InRuns {
                runs,
                single,
                least,
                fan,
            } => {
                let (runs, single, least) = (runs as u64, single as u64, least as u64);
                let how = (fan as u64) << 40 | least << 30 | single << 29;
                1 << 63 | tag | how | lanes << 18 | runs << 11 | units
            }
        }
    }

    /// The shape in `word`, if it is marked with `epoch`.
    pub(crate) fn unpack(word: u64, epoch: Epoch) -> Option<Self> {
        if word >> PAYLOAD_BITS & ((1 << TAG_BITS) - 1) != epoch.low_bits(TAG_BITS) {
            return None;
        }
        let field = |low: u32, bits: u32| (word >> low & ((1 << bits) - 1)) as usize;
        Some(if word >> 63 == 0 {
            Shape {
                lanes: field(22, 20),
                units: field(0, 22),
                claims: Claims::InLine {
                    chain: field(42, 1) == 1,
                },
            }
        } else {
            Shape {
                lanes: field(18, 11),
                units: field(0, 11),
                claims: Claims::InRuns {
                    runs: field(11, 7),
                    single: field(29, 1) == 1,
                    least: field(30, 10),
                    fan: field(40, 1) == 1,
                },
            }
        })
    }

    /// The door's word when the loop opens with its first `claimed` units taken by the owner.
    pub(crate) fn opening(self, epoch: Epoch, claimed: usize) -> Word {
        match self.claims {
            Claims::InLine { .. } => Word::in_line(epoch, claimed, self.units),
            Claims::InRuns { .. } => Word::not_cut(epoch, claimed, self.units),
        }
    }

    /// Whether a claim takes one unit because each may need a lane of its own.
    #[inline]
    pub(crate) fn is_single(self) -> bool {
        matches!(self.claims, Claims::InRuns { single: true, .. })
    }

    /// Whether the loop has one line.
    #[inline]
    pub(crate) fn is_in_line(self) -> bool {
        matches!(self.claims, Claims::InLine { .. })
    }

    /// How many runs there are: one, where the loop has one line.
    #[inline]
    pub(crate) fn runs(self) -> usize {
        match self.claims {
            Claims::InRuns { runs, .. } => runs,
            Claims::InLine { .. } => 1,
        }
    }

    /// Units of run `run` of `runs`, in a loop that nobody has cut elsewhere.
    pub(crate) fn run(self, run: usize, runs: usize) -> Range<usize> {
        let start = |run: usize| divide(run * self.units, runs);
        start(run)..start(run + 1)
    }

    /// The run that `unit` is in.
    pub(crate) fn run_of(self, unit: usize, runs: usize) -> usize {
        divide((unit + 1) * runs - 1, self.units)
    }

    /// How many of the `left` unclaimed units of a run one claim takes: half, so that cheap loops
    /// take few claims and uneven ones balance, and all but one rather than less than is worth a
    /// claim; one where every unit may need a lane of its own.
    #[inline]
    pub(crate) fn grain(self, left: usize) -> usize {
        match self.claims {
            Claims::InRuns {
                single: false,
                least,
                ..
            } => (left / 2).max(least.min(left - 1)).max(1),
            _ => 1,
        }
    }
}

/// `a / b` of the small numbers here: where 64 bits are divided in hardware, 32 take a third of the time.
#[inline]
fn divide(a: usize, b: usize) -> usize {
    debug_assert!(a as u32 as usize == a && b as u32 as usize == b);
    (a as u32 / b as u32) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::slot::door::MAX_UNITS_IN_LINE;

    /// Catches a field too narrow for its largest value, and a tag that is not compared.
    #[test]
    fn words_keep_everything() {
        let epochs = [0, 5, 1 << 41].map(Epoch::new);
        let shapes = [
            Shape::in_line(true, 2, 2),
            Shape::in_line(false, usize::MAX, MAX_UNITS_IN_LINE),
            Shape::in_runs(2, 8, 1),
            Shape::in_runs(2, 1000, 1).on(2).in_large_claims(),
            Shape::in_runs(9, 1000, 9).in_large_claims().in_a_fan(true),
            Shape::in_runs(usize::MAX, usize::MAX, usize::MAX),
        ];
        for epoch in epochs {
            for shape in shapes {
                let word = shape.pack(epoch);
                assert_eq!(Shape::unpack(word, epoch), Some(shape));
                assert_eq!(Shape::unpack(word, epoch.next()), None);
            }
        }
    }

    /// Runs cover the units, and `run_of` finds each; catches rounding the wrong way.
    #[test]
    fn runs_cover_the_units() {
        for units in 2..200 {
            let shape = Shape::in_runs(1024, units, 1024);
            for runs in 1..=units.min(MAX_RUNS) {
                let mut next = 0;
                for run in 0..runs {
                    let range = shape.run(run, runs);
                    assert_eq!(range.start, next);
                    next = range.end;
                    assert!(
                        range.clone().all(|unit| shape.run_of(unit, runs) == run),
                        "{units} in {runs}"
                    );
                }
                assert_eq!(next, units);
            }
        }
    }
}
