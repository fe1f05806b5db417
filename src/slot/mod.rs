//! The slot: where a loop lives while it runs.
//!
//! A slot is memory that the pool owns, so a worker that comes late can look at it without touching the
//! caller's stack. One thread at a time is its *owner*: the caller of the loop. Workers *enter*, *claim* units (blocks, or
//! groups of them), run them, and *leave*.
//!
//! # States
//!
//! | door's word | loop | who changes it |
//! |---|---|---|
//! | `shut(e)` | none, or nothing left to claim | the owner opens `e + 1` by a store |
//! | in line, position `p` | one line, units from `p` on unclaimed | claimers, to `p + 1` |
//! | not cut, next `n` | runs, only the caller was there so far | the caller claims; a worker that enters cuts |
//! | cut at `c`, next `n` | runs; units from `c` on are shared out | claimers of run 0; whoever finds all used up shuts |
//!
//! Units never come back: what is claimed stays claimed, and a loop with runs is cut once. Run `k`'s word
//! is not written when the loop is cut: a word of an older epoch *means* that the run is whole. So
//! a cut is one compare-and-swap, and no unit is ever out of sight between two words.
//!
//! # Why it is right
//!
//! *A claim is the entry.* A unit is claimed by a compare-and-swap from a word of epoch `e`, so the loop `e` has
//! an unclaimed unit at that moment, and cannot finish before the claimer has subtracted it from the
//! [balance](finish::Finish). Body and length are read after that, never before. The words of a loop that is over do
//! not change, but for `cut, used up` to `shut`, which the owner's store may overwrite: so opening needs no
//! read-modify-write, and nobody can shut or claim in a later loop than it looked at.
//!
//! *The shape is read whole.* A worker reads door, shape, door. The shape is marked with low bits of its
//! epoch and was stored before that epoch's door: were it of a later loop than the door, the second look
//! at the door would show at least the loop before that one.
//!
//! *An older run word means a whole run.* Where run `k` has units beyond the cut, all of them are claimed
//! before the loop is over, so its word carries `e` by then and a latecomer's compare-and-swap from
//! an older word fails. A word of a newer epoch tells a latecomer to go. Twice in half a turn of the
//! epochs the owner refreshes all words, so that old and new cannot be mixed up.
//!
//! *Lane ids.* See [`lanes`]. *The end.* See [`finish`].

pub(crate) mod body;
pub(crate) mod door;
mod finish;
mod lanes;
pub(crate) mod shape;

use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crossbeam_utils::CachePadded;

use self::body::{Body, Flow, Payload};
use self::door::{Door, Epoch, Word};
use self::finish::Finish;
use self::lanes::Lanes;
use self::shape::{Claims, Shape};
use crate::stats::Counts;
use crate::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{lock, Cell, Mutex};

/// A place for one loop at a time. See the [module page](self).
pub(crate) struct Slot {
    door: CachePadded<Door>,
    sheet: CachePadded<Sheet>,
    bringing: CachePadded<Bringing>,
    finish: CachePadded<Finish>,
    lanes: Lanes,
    /// The first payload of the current loop.
    payload: Mutex<Option<Payload>>,
    /// What the owners have counted.
    pub(crate) counts: CachePadded<Counts>,
}

/// What the owner writes before it opens, and all lanes read.
struct Sheet {
    shape: AtomicU64,
    body: Cell<Option<Body>>,
    /// Whether no lane need begin another block.
    stopped: AtomicBool,
    /// How many lanes have been made. The owner's.
    lanes_made: AtomicUsize,
}

// SAFETY: all fields but `body` are atomics. The cell is written by the owner while no claim is unsettled, and
// read by holders of unsettled claims, who have acquired the owner's opening; `Body` is `Send`.
unsafe impl Sync for Sheet {}

/// Who has been brought in.
struct Bringing {
    /// Invitations of the current loop, of a loop with runs.
    invitations: AtomicUsize,
    /// Tasks in the pool's queue that name this slot, left over ones of earlier loops included.
    posted: AtomicU32,
}

/// One lane's presence in one loop.
pub(crate) struct Stay {
    epoch: Epoch,
    shape: Shape,
    lane: usize,
    /// Where the loop was cut, once this lane knows.
    cut: Option<usize>,
    /// Runs that this lane has seen used up, counted from its own on.
    passed: usize,
}

/// Units of a loop that nobody else has. Running or dropping them without counting would hang the loop.
#[must_use]
pub(crate) struct Claim(Range<usize>);

/// What a lane did in a loop.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// Units that it claimed, to settle with [`Slot::leave`] or [`Slot::close`].
    pub(crate) units: usize,
    /// Blocks that it ran.
    pub(crate) blocks: usize,
    /// Those of them that were in another lane's run.
    pub(crate) others: usize,
}

impl Ran {
    /// Counts the blocks in `units`, and returns them.
    #[inline]
    fn count(&mut self, body: &Body, stay: &Stay, units: Range<usize>) -> Range<usize> {
        let blocks = body.blocks_of(units.clone(), stay.shape.units);
        self.blocks += blocks.len();
        if stay.is_others_run(&units) {
            self.others += blocks.len();
        }
        blocks
    }

    /// Adds the blocks to what a thread has counted.
    pub(crate) fn add_to(&self, counts: &Counts) {
        counts.blocks.add(self.blocks as u64);
        counts.blocks_from_other_runs.add(self.others as u64);
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self::starting_at(Epoch::new(0))
    }
}

impl Slot {
    /// A slot whose first loop has the epoch after `epoch`.
    pub(crate) fn starting_at(epoch: Epoch) -> Self {
        Slot {
            door: CachePadded::new(Door::new(epoch)),
            sheet: CachePadded::new(Sheet {
                shape: AtomicU64::new(0),
                body: Cell::new(None),
                stopped: AtomicBool::new(false),
                lanes_made: AtomicUsize::new(1),
            }),
            bringing: CachePadded::new(Bringing {
                invitations: AtomicUsize::new(0),
                posted: AtomicU32::new(0),
            }),
            finish: CachePadded::new(Finish::new()),
            lanes: Lanes::new(epoch),
            payload: Mutex::new(None),
            counts: CachePadded::default(),
        }
    }

    /// Opens a loop of two blocks and two lanes or more, with its first claim.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner, the last loop is closed, and what `body` borrows stays
    /// borrowed until [`close`](Self::close) has returned.
    pub(crate) unsafe fn open(&self, body: Body, shape: Shape) -> (Stay, Claim) {
        // Relaxed, here and below: the owner reads and writes its own words; `Door::open` publishes them.
        let last = self.door.look_again().epoch();
        let epoch = last.next();
        self.make_lanes(shape, last);
        self.sheet.body.with_mut(|cell| {
            // SAFETY: the last loop is closed, so every claim of it is settled, and only the holder of an
            // unsettled claim reads the cell; the pointer is the cell's own.
            unsafe { *cell = Some(body) }
        });
        self.sheet.stopped.store(false, Ordering::Relaxed);
        self.bringing.invitations.store(1, Ordering::Relaxed);
        if shape.claims == Claims::InLine {
            self.lanes.open_ids(epoch, shape.lanes);
        }
        // Release: partner is the Acquire in `look`; whoever reads this sees the door of the loop before.
        self.sheet.shape.store(shape.pack(epoch), Ordering::Release);
        let stay = Stay::new(epoch, shape, 0, None);
        let first = match shape.claims {
            Claims::InLine => 1,
            Claims::InRuns { runs, .. } => shape.grain(shape.run(0, runs).end),
        };
        self.door.open(shape.opening(epoch, first));
        (stay, Claim(0..first))
    }

    /// Makes the lanes that `shape` needs and the slot does not have yet, and refreshes the run words before
    /// the numbers of the epochs have gone half round. `last` is the epoch of the loop that is over.
    fn make_lanes(&self, shape: Shape, last: Epoch) {
        let made = self.sheet.lanes_made.load(Ordering::Relaxed);
        if last.is_quarter() {
            self.lanes.make(1, made, last);
        }
        if let Claims::InRuns { .. } = shape.claims {
            if made < shape.lanes {
                self.lanes.make(made, shape.lanes, last);
                self.sheet.lanes_made.store(shape.lanes, Ordering::Relaxed);
            }
        }
    }

    /// Enters the current loop, if something may be unclaimed and a lane is free. A worker that never
    /// claims anything afterwards must still [`leave`](Self::leave).
    pub(crate) fn enter(&self, preferred_lane: usize) -> Option<Stay> {
        loop {
            let (epoch, shape) = self.look()?;
            match shape.claims {
                Claims::InLine => {
                    let lane = self.lanes.draw(epoch, shape.lanes)?;
                    return Some(Stay::new(epoch, shape, lane, None));
                }
                Claims::InRuns { runs, .. } => {
                    let lane = self.lanes.hold(preferred_lane, shape.lanes)?;
                    if let Some(cut) = self.cut(epoch, shape, runs) {
                        return Some(Stay::new(epoch, shape, lane, Some(cut)));
                    }
                    self.lanes.release(lane);
                    self.before_second_look();
                }
            }
        }
    }

    /// Whether a worker that came now might find something to claim.
    pub(crate) fn is_open(&self) -> bool {
        !self.door.look().is_shut()
    }

    /// The current loop's epoch and shape, if it is not shut.
    fn look(&self) -> Option<(Epoch, Shape)> {
        loop {
            let word = self.door.look();
            if word.is_shut() {
                return None;
            }
            // Acquire: partner is the Release in `open`.
            let shape = self.sheet.shape.load(Ordering::Acquire);
            // Marked otherwise: the loop is over and its owner is about to open the next one.
            let shape = Shape::unpack(shape, word.epoch())?;
            if self.door.look_again().epoch() == word.epoch() {
                return Some((word.epoch(), shape));
            }
        }
    }

    /// Shares out what the caller has not claimed, unless that has been done. `None`: the loop is used up or over.
    fn cut(&self, epoch: Epoch, shape: Shape, runs: usize) -> Option<usize> {
        let mut word = self.door.look_again();
        loop {
            if word.epoch() != epoch || word.is_shut() {
                return None;
            }
            if let Some(cut) = word.cut() {
                return Some(cut);
            }
            let next = word.next()?;
            let cut = Word::cut_at(epoch, next, next, shape.run(0, runs).end);
            match self.door.exchange(word, cut) {
                Ok(()) => return Some(next),
                Err(now) => word = now,
            }
        }
    }

    /// The next units for this lane: of its own run, then of the others in a ring. `None`: nothing is left.
    #[inline]
    pub(crate) fn claim(&self, stay: &mut Stay) -> Option<Claim> {
        match stay.shape.claims {
            Claims::InLine => self.claim_in_line(stay),
            Claims::InRuns { runs, .. } => self.claim_in_runs(stay, runs),
        }
    }

    fn claim_in_line(&self, stay: &Stay) -> Option<Claim> {
        let units = stay.shape.units;
        let mut word = self.door.look_again();
        loop {
            if word.epoch() != stay.epoch {
                return None;
            }
            let next = word.position()?;
            let end = if self.is_stopped() { units } else { next + 1 };
            match self
                .door
                .exchange(word, Word::in_line(stay.epoch, end, units))
            {
                Ok(()) => return Some(Claim(next..end)),
                Err(now) => word = now,
            }
        }
    }

    fn claim_in_runs(&self, stay: &mut Stay, runs: usize) -> Option<Claim> {
        let cut = match stay.cut {
            Some(cut) => cut,
            // Only the caller is here without having cut.
            None => match self.claim_uncut(stay, runs) {
                Ok(claim) => return claim,
                Err(cut) => *stay.cut.insert(cut),
            },
        };
        while stay.passed < runs {
            let run = (stay.lane + stay.passed) % runs;
            if let Some(claim) = self.claim_of_run(stay, run, runs, cut) {
                return Some(claim);
            }
            stay.passed += 1;
        }
        let word = self.door.look_again();
        if word.epoch() == stay.epoch && !word.is_shut() {
            // Nobody enters for nothing any more. Where this fails, the loop is over or another was first.
            let _ = self.door.exchange(word, Word::shut(stay.epoch));
        }
        None
    }

    /// The caller's claim while it is alone: no more than one run at a time, so that a worker that comes
    /// later finds its own run whole. `Err`: where a worker has cut the loop.
    fn claim_uncut(&self, stay: &Stay, runs: usize) -> Result<Option<Claim>, usize> {
        let shape = stay.shape;
        let mut word = self.door.look_again();
        loop {
            if word.is_shut() {
                return Ok(None);
            }
            if let Some(cut) = word.cut() {
                return Err(cut);
            }
            let Some(next) = word.next() else {
                return Ok(None);
            };
            let end = if self.is_stopped() {
                shape.units
            } else {
                next + shape.grain(shape.run(shape.run_of(next, runs), runs).end - next)
            };
            match self
                .door
                .exchange(word, Word::not_cut(stay.epoch, end, shape.units))
            {
                Ok(()) => return Ok(Some(Claim(next..end))),
                Err(now) => word = now,
            }
        }
    }

    fn claim_of_run(&self, stay: &Stay, run: usize, runs: usize, cut: usize) -> Option<Claim> {
        let units = stay.shape.run(run, runs);
        let whole_from = units.start.max(cut);
        let cell = if run == 0 {
            &*self.door
        } else {
            self.lanes.run(run)
        };
        let mut word = cell.look_again();
        loop {
            let next = if word.epoch() == stay.epoch {
                word.next()?
            } else if run == 0 || word.epoch().is_after(stay.epoch) || whole_from >= units.end {
                return None;
            } else {
                whole_from
            };
            let left = units.end - next;
            let end = next
                + if self.is_stopped() {
                    left
                } else {
                    stay.shape.grain(left)
                };
            match cell.exchange(word, Word::cut_at(stay.epoch, cut, end, units.end)) {
                Ok(()) => return Some(Claim(next..end)),
                Err(now) => word = now,
            }
        }
    }

    /// Runs what was claimed first, then whatever this lane can claim. Where the loop has been stopped the rest is
    /// claimed and not run. A panic of the body stops the loop; the first payload is kept for [`close`](Self::close).
    pub(crate) fn work(&self, stay: &mut Stay, first: Claim) -> Ran {
        let body = self.sheet.body.with(|cell| {
            // SAFETY: the first claim is not settled yet, so the loop is open and its owner, who alone writes
            // the cell, does not; the opening's write was acquired before the claim. The pointer is the cell's own.
            unsafe { *cell }
        });
        let body = body.expect("an open loop has a body");
        let mut ran = Ran::default();
        let mut next = Some(first);
        // One frame of `catch_unwind` for many claims, because entering it costs as much as a small block.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            while let Some(Claim(units)) = next.take() {
                ran.units += units.len();
                if !self.is_stopped() {
                    let blocks = ran.count(&body, stay, units);
                    // SAFETY: the claims of `ran` are not settled, so `close` does not return, and what the body
                    // borrows stays borrowed.
                    if unsafe { body.run(stay.lane, blocks) } == Flow::Stop {
                        self.stop();
                    }
                }
                next = self.claim(stay);
            }
        })) {
            self.keep_first(payload);
            next = self.claim(stay);
        }
        ran
    }

    /// A worker leaves, with what it settles. True: that is nothing, and it must look at the slot again, because
    /// somebody may have been refused on its account.
    pub(crate) fn leave(&self, stay: Stay, units: usize) -> bool {
        let in_runs = stay.shape.claims != Claims::InLine;
        if in_runs {
            self.lanes.release(stay.lane);
        }
        if units != 0 {
            self.finish.subtract(units);
            return false;
        }
        if in_runs {
            self.before_second_look();
        }
        in_runs
    }

    /// The caller, who ran `units` itself and finds nothing left to claim, waits for the others. Returns the
    /// first payload of a panic, if there was one. After that nobody touches what the body borrows.
    pub(crate) fn close(&self, stay: Stay, units: usize) -> Option<Payload> {
        let others = stay.shape.units - units;
        if others != 0 {
            self.finish.add_and_wait(others);
            self.counts.loops_brought_in.add(1);
        }
        if self.is_stopped() {
            return lock(&self.payload).take();
        }
        None
    }

    /// Whether this lane, which has claimed its first units, should bring in the next one: fewer than all
    /// lanes have been asked for, and something is left.
    pub(crate) fn wants_more(&self, stay: &Stay) -> bool {
        match stay.shape.claims {
            Claims::InLine => stay.lane + 1 < stay.shape.lanes && self.is_open(),
            Claims::InRuns { runs, .. } => {
                // Relaxed: a budget. It belongs to the current loop, because a claim of it is held.
                self.bringing.invitations.load(Ordering::Relaxed) < stay.shape.lanes - 1
                    && self.anything_left(stay, runs)
                    && self.bringing.invitations.fetch_add(1, Ordering::Relaxed)
                        < stay.shape.lanes - 1
            }
        }
    }

    fn anything_left(&self, stay: &Stay, runs: usize) -> bool {
        let Some(cut) = stay.cut else {
            return self.is_open();
        };
        (stay.passed..runs)
            .map(|passed| (stay.lane + passed) % runs)
            .any(|run| {
                let units = stay.shape.run(run, runs);
                let cell = if run == 0 {
                    &*self.door
                } else {
                    self.lanes.run(run)
                };
                let word = cell.look_again();
                if word.epoch() == stay.epoch {
                    word.next().is_some()
                } else {
                    units.start.max(cut) < units.end
                }
            })
    }

    /// Counts one more task in the queue that names this slot, unless `most` are there.
    pub(crate) fn post(&self, most: u32) -> bool {
        // Partner: the fence in `unpost`. Either the one who took a left-over task sees this loop, or this
        // sees that the task is gone.
        fence(Ordering::SeqCst);
        let posted = &self.bringing.posted;
        posted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < most).then_some(n + 1)
            })
            .is_ok()
    }

    /// A task that named this slot has been taken from the queue; its taker looks at the slot next.
    pub(crate) fn unpost(&self) {
        self.bringing.posted.fetch_sub(1, Ordering::Relaxed);
        // Partner: the fence in `post`.
        fence(Ordering::SeqCst);
    }

    /// After this no lane begins another block.
    fn stop(&self) {
        // Relaxed: a lane that sees it late runs one claim more. `close` reads it after all are done.
        self.sheet.stopped.store(true, Ordering::Relaxed);
    }

    #[inline]
    fn is_stopped(&self) -> bool {
        self.sheet.stopped.load(Ordering::Relaxed)
    }

    /// Stops the loop for a panic and keeps its payload, if it is the first.
    fn keep_first(&self, payload: Payload) {
        self.stop();
        let later = {
            let mut first = lock(&self.payload);
            if first.is_none() {
                *first = Some(payload);
                None
            } else {
                Some(payload)
            }
        };
        if let Err(of_the_drop) = catch_unwind(AssertUnwindSafe(|| drop(later))) {
            // Dropping this one could panic again, and so on.
            std::mem::forget(of_the_drop);
        }
    }

    /// A latecomer has let its lane go and looks at the door again.
    fn before_second_look(&self) {
        // Partner: the fence in `Lanes::hold`. Whoever was refused had seen an open loop, and this one,
        // if its letting go came after that, sees it as well.
        fence(Ordering::SeqCst);
    }
}

impl Stay {
    fn new(epoch: Epoch, shape: Shape, lane: usize, cut: Option<usize>) -> Self {
        Stay {
            epoch,
            shape,
            lane,
            cut,
            passed: 0,
        }
    }

    /// Whether the loop has one line.
    pub(crate) fn is_in_line(&self) -> bool {
        self.shape.claims == Claims::InLine
    }

    fn is_others_run(&self, units: &Range<usize>) -> bool {
        match (self.shape.claims, self.cut) {
            (Claims::InRuns { runs, .. }, Some(_)) => {
                self.shape.run_of(units.start, runs) != self.lane % runs
            }
            _ => false,
        }
    }
}
