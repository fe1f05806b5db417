//! The slot: where a loop lives while it runs.
//!
//! A slot is memory that the pool owns, so a worker that comes late can look at it without touching
//! the caller's stack. One thread at a time is its *owner*: the caller of the loop. Workers
//! *enter*, *claim* units (blocks, or groups of them), run them, and *leave*.
//!
//! # States
//!
//! | door's word | loop | who changes it |
//! |---|---|---|
//! | `shut(e)` | none, or nothing left to claim | the owner opens `e + 1` by a store |
//! | solo, or asked | one line, in which the owner is alone | see [`solo`] |
//! | in line, position `p` | one line, units from `p` on unclaimed | claimers, to `p + 1` |
//! | not cut, next `n` | runs, only the caller was there so far | the caller claims; a worker that enters cuts |
//! | cut at `c` | runs; units from `c` on are shared out, each run has a word | whoever has found all used up shuts |
//!
//! Units never come back: what is claimed stays claimed, and a loop with runs is cut once. The runs'
//! words are not written when the loop is cut: a word of an older epoch *means* that the run is
//! whole, from the cut on. So a cut is one compare-and-swap, and no unit is ever out of sight between
//! two words. A run's own lane claims from its front and the others from its back, both on one word.
//!
//! # Why it is right
//!
//! *A claim is the entry.* A unit is claimed by a compare-and-swap from a word of epoch `e`, so the
//! loop `e` has an unclaimed unit at that moment, and cannot finish before the claimer has
//! subtracted it from the [balance](finish::Finish). Body and length are read after that, never
//! before. The words of a loop that is over do not change, but for `cut` to `shut`, which the owner's
//! store may overwrite: so opening needs no read-modify-write, and nobody can shut or claim in a later
//! loop than it looked at.
//!
//! *The shape is read whole.* A worker reads door, shape, door. The shape is marked with low bits
//! of its epoch and was stored before that epoch's door: were it of a later loop than the door, the
//! second look at the door would show at least the loop before that one.
//!
//! *An older run word means a whole run.* Where run `k` has units beyond the cut, all of them are
//! claimed before the loop is over, so its word carries `e` by then and a latecomer's
//! compare-and-swap from an older word fails. A word of a newer epoch tells a latecomer to go.
//! Twice in half a turn of the epochs the owner refreshes all words, so that old and new cannot be
//! mixed up.
//!
//! *Lane ids.* See [`lanes`]. *The end.* See [`finish`].

pub(crate) mod body;
mod bringing;
mod claims;
pub(crate) mod door;
pub(crate) mod finish;
pub(crate) mod lanes;
pub(crate) mod shape;
mod solo;
mod work;

use std::hint::black_box;
use std::ops::Range;

use crossbeam_utils::CachePadded;

use self::body::{Body, Payload};
use self::bringing::Bringing;
pub(crate) use self::bringing::Urgency;
pub(crate) use self::claims::Claim;
use self::door::{Door, Epoch, Word};
use self::finish::Finish;
use self::lanes::Lanes;
use self::shape::{Claims, Shape};
use self::solo::Solo;
use crate::barrier;
use crate::clock;
use crate::count::Count;
use crate::parking::Sleep;
use crate::price::Memory;
use crate::stats::Counts;
use crate::sync::atomic::{fence, AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{lock, Cell, Mutex};

/// A place for one loop at a time. See the [module page](self).
pub(crate) struct Slot {
    door: CachePadded<Door>,
    sheet: CachePadded<Sheet>,
    bringing: CachePadded<Bringing>,
    finish: CachePadded<Finish>,
    solo: CachePadded<Solo>,
    lanes: Lanes,
    /// The first payload of the current loop.
    payload: Mutex<Option<Payload>>,
    /// What the owners have counted.
    pub(crate) counts: CachePadded<Counts>,
    /// What the owners have noted about prices.
    pub(crate) notes: CachePadded<Notes>,
}

/// What a slot's owners remember from loop to loop.
#[derive(Default)]
pub(crate) struct Notes {
    /// When the clock was read last.
    last: Count,
    /// The number of the last loop.
    epoch: Count,
    pub(crate) memory: Memory,
}

impl Notes {
    /// Ticks since the clock was read last.
    #[inline]
    pub(crate) fn since(&self) -> u64 {
        clock::between(self.last.get(), clock::now())
    }

    /// The same, and from now on it counts from here.
    #[inline]
    pub(crate) fn read_clock(&self) -> u64 {
        let (last, now) = (self.last.get(), clock::now());
        self.last.set(now);
        clock::between(last, now)
    }
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

// SAFETY: all fields but `body` are atomics. The cell is written by the owner while no claim is
// unsettled, and read by holders of unsettled claims, who have acquired the owner's opening; `Body`
// is `Send`.
unsafe impl Sync for Sheet {}

/// How the owner begins a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It claims as every lane does.
    Together,
    /// It claims as little as a claim takes; in a loop with one line it goes on alone, one unit after
    /// the other, [solo](solo).
    OneByOne,
    /// Solo, in a loop with one line: half of the unclaimed units at a time, though no less than an
    /// eighth of the loop.
    ByHalves,
    /// Solo, in a loop with one line: all units but one, then the last.
    AllButOne,
}

/// One lane's presence in one loop.
pub(crate) struct Stay {
    epoch: Epoch,
    shape: Shape,
    lane: usize,
    /// The door's word as this lane has seen it last, in a loop with one line.
    seen: Word,
    /// Whether this is the owner, alone in a loop with one line.
    solo: bool,
    /// Whether it claims by halves as long as it is.
    by_halves: bool,
    /// Where the loop was cut, once this lane knows.
    cut: Option<usize>,
    /// The run that this lane looks after.
    home: usize,
    /// Runs that this lane has seen used up, counted from that one on.
    passed: usize,
}

impl Default for Slot {
    fn default() -> Self {
        Self::starting_at(Epoch::new(0))
    }
}

impl Slot {
    /// A slot whose first loop has the epoch after `epoch`.
    pub(crate) fn starting_at(epoch: Epoch) -> Self {
        let notes = Notes::default();
        notes.epoch.set(epoch.number());
        Slot {
            door: CachePadded::new(Door::new(epoch)),
            sheet: CachePadded::new(Sheet {
                shape: AtomicU64::new(0),
                body: Cell::new(None),
                stopped: AtomicBool::new(false),
                lanes_made: AtomicUsize::new(1),
            }),
            bringing: CachePadded::new(Bringing::new()),
            finish: CachePadded::new(Finish::new()),
            solo: CachePadded::new(Solo::new(epoch)),
            lanes: Lanes::new(epoch),
            payload: Mutex::new(None),
            counts: CachePadded::default(),
            notes: CachePadded::new(notes),
        }
    }

    /// Opens a loop of two blocks and two lanes or more, with its first claim.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner, the last loop is closed, and what `body` borrows stays
    /// borrowed until [`close`](Self::close) has returned.
    #[inline(always)]
    pub(crate) unsafe fn open(&self, body: Body, shape: Shape, begin: Begin) -> (Stay, Claim) {
        // Relaxed, here and below: the owner reads and writes its own words; `Door::put` publishes
        // them. The last loop's number is in the door as well, but others have written there.
        let last = Epoch::new(self.notes.epoch.get());
        let epoch = last.next();
        self.notes.epoch.set(epoch.number());
        self.make_lanes(shape, last);
        self.sheet.body.with_mut(|cell| {
            // SAFETY: the last loop is closed, so every claim of it is settled, and only the holder
            // of an unsettled claim reads the cell; the pointer is the cell's own.
            unsafe { *cell = Some(body) }
        });
        self.sheet.stopped.store(false, Ordering::Relaxed);
        match shape.claims {
            Claims::InLine { .. } => self.lanes.open_ids(epoch, shape.lanes),
            Claims::InRuns { .. } => self.bringing.invitations.store(1, Ordering::Relaxed),
        }
        // Release: partner is the Acquire in `look`; whoever reads this sees the door of the loop
        // before.
        self.sheet.shape.store(shape.pack(epoch), Ordering::Release);
        debug_assert!(shape.is_in_line() || matches!(begin, Begin::Together | Begin::OneByOne));
        let first = match (shape.claims, begin) {
            (_, Begin::AllButOne) => shape.units - 1,
            (_, Begin::ByHalves) => shape.units / 2,
            (Claims::InRuns { runs, .. }, Begin::Together) => shape.grain(shape.run(0, runs).end),
            _ => shape.least(),
        };
        let solo = shape.is_in_line() && begin != Begin::Together && barrier::light_is_cheap();
        let word = if solo {
            self.solo.open(first);
            Word::solo(epoch)
        } else {
            shape.opening(epoch, first)
        };
        self.door.put(word);
        let mut stay = Stay::new(word, shape, 0, None);
        stay.solo = solo;
        stay.by_halves = begin == Begin::ByHalves;
        (stay, Claim(0..first))
    }

    /// Makes the lanes that `shape` needs and the slot does not have yet, and refreshes the run
    /// words before the numbers of the epochs have gone half round. `last` is the epoch of the loop
    /// that is over.
    fn make_lanes(&self, shape: Shape, last: Epoch) {
        let made = self.sheet.lanes_made.load(Ordering::Relaxed);
        if last.is_quarter() {
            self.lanes.make(0, made, last);
            self.solo.refresh(last);
        }
        if let Claims::InRuns { .. } = shape.claims {
            if made < shape.lanes {
                self.lanes.make(made, shape.lanes, last);
                self.sheet.lanes_made.store(shape.lanes, Ordering::Relaxed);
            }
        }
    }

    /// Enters the current loop, if something may be unclaimed and a lane is free. A worker that
    /// never claims anything afterwards must still [`leave`](Self::leave).
    pub(crate) fn enter(&self, preferred_lane: usize) -> Option<Stay> {
        loop {
            let (mut word, shape) = self.look()?;
            let epoch = word.epoch();
            match shape.claims {
                Claims::InLine { .. } => {
                    if word.is_solo() {
                        word = self.end_solo(word, shape)?;
                    }
                    let lane = self.lanes.draw(epoch, shape.lanes)?;
                    return Some(Stay::new(word, shape, lane, None));
                }
                Claims::InRuns { .. } => {
                    let lane = self.lanes.hold(preferred_lane, shape.lanes)?;
                    if let Some(cut) = self.cut(epoch) {
                        return Some(Stay::new(word, shape, lane, Some(cut)));
                    }
                    self.lanes.release(lane);
                    self.before_second_look();
                }
            }
        }
    }

    /// A worker that is about to enter looks at the lines that it will need, all at once instead of
    /// one after the other.
    #[inline]
    pub(crate) fn approach(&self) {
        black_box((
            self.door.look_again(),
            self.sheet.shape.load(Ordering::Relaxed),
            self.is_stopped(),
            self.more_follow(),
        ));
    }

    /// The number of the last loop, and whether it is open.
    pub(crate) fn glance(&self) -> (Epoch, bool) {
        let word = self.door.look_again();
        (word.epoch(), !word.is_shut())
    }

    /// Whether a worker that came now might find something to claim.
    pub(crate) fn is_open(&self) -> bool {
        !self.door.look().is_shut()
    }

    /// The current loop's word and shape, if it is not shut.
    fn look(&self) -> Option<(Word, Shape)> {
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
                return Some((word, shape));
            }
        }
    }

    /// A worker leaves, with what it settles. True: that is nothing, and it must look at the slot
    /// again, because somebody may have been refused on its account.
    pub(crate) fn leave(&self, stay: Stay, units: usize) -> bool {
        let in_runs = !stay.is_in_line();
        if in_runs {
            self.lanes.release(stay.lane);
        }
        if units != 0 {
            // First of all, because the caller may be waiting.
            self.finish.subtract(units);
        }
        if in_runs {
            self.shut_cut(stay.epoch);
        }
        if in_runs && units == 0 {
            self.before_second_look();
            return true;
        }
        false
    }

    /// The caller, who ran `units` itself and finds nothing left to claim, waits for the others.
    /// Returns the first payload of a panic, if there was one. After that nobody touches what the
    /// body borrows. `sleep` is how it sleeps, if it comes to that.
    #[inline]
    pub(crate) fn close(&self, stay: Stay, units: usize, sleep: Sleep) -> Option<Payload> {
        if stay.cut.is_some() {
            self.shut_cut(stay.epoch);
        }
        let others = stay.shape.units - units;
        if others != 0 {
            self.finish.add_and_wait(others, sleep);
            self.counts.loops_brought_in.add(1);
        }
        if self.is_stopped() {
            return lock(&self.payload).take();
        }
        None
    }

    /// A latecomer has let its lane go and looks at the door again.
    fn before_second_look(&self) {
        // Partner: the fence in `Lanes::hold`. Whoever was refused had seen an open loop, and this
        // one, if its letting go came after that, sees it as well.
        fence(Ordering::SeqCst);
    }
}

impl Stay {
    fn new(seen: Word, shape: Shape, lane: usize, cut: Option<usize>) -> Self {
        Stay {
            epoch: seen.epoch(),
            shape,
            lane,
            seen,
            solo: false,
            by_halves: false,
            cut,
            // 32 bits, as they are divided faster.
            home: (lane as u32 % shape.runs() as u32) as usize,
            passed: 0,
        }
    }

    /// The run that comes so many after this lane's own, of `runs` in a ring.
    fn run_after(&self, passed: usize, runs: usize) -> usize {
        let run = self.home + passed;
        if run < runs {
            run
        } else {
            run - runs
        }
    }

    /// Whether the loop has one line.
    pub(crate) fn is_in_line(&self) -> bool {
        self.shape.is_in_line()
    }

    /// How many a worker that starts brings in.
    pub(crate) fn successors(&self) -> usize {
        self.shape.successors()
    }

    fn is_others_run(&self, units: &Range<usize>) -> bool {
        match (self.shape.claims, self.cut) {
            (Claims::InRuns { runs, .. }, Some(_)) => {
                self.shape.run_of(units.start, runs) != self.home
            }
            _ => false,
        }
    }
}
