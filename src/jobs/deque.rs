//! `Deque`: where the holder of an identity keeps its jobs, and others take the oldest.
//!
//! Nearly always nobody takes anything. So the holder's push and pop are a few loads and stores, without a
//! fence or a read-modify-write, and whoever takes a job pays for both.
//!
//! ```text
//!      head          split                 tail
//!       v              v                     v
//!  ... [  for others   |   the holder's own  ]
//! ```
//!
//! | place | who writes it |
//! |---|---|
//! | `tail` | the holder |
//! | `split` | whoever has the lock |
//! | `head` | whoever has the lock |
//!
//! Jobs below `split` are taken under the lock, by others from `head` and by the holder from `tail`. Jobs from
//! `split` on are the holder's: it *writes `tail`* to claim the last one, then *looks at `split`*. Where nothing
//! is left for others, they ask the holder, who moves `split` up at its next push or pop. Where it does not come to
//! that for long, one of them, with the lock, *moves `split`* up over the older half of what is there, then
//! *looks at `tail`*. Of these two pairs, write here and read there, one sees the other's write: the holder has a
//! [`light`](barrier::light) barrier in between, the other a [`heavy`](barrier::heavy) one. So, where the holder
//! claims job `k`:
//!
//! * It sees a `split` of `k` or less: the other, if there is one, sees a `tail` of `k` or less, and takes `split`
//!   back to there. The job is the holder's.
//! * It sees a `split` above `k`: the job may be for others. It puts `tail` back and asks for the lock, and under
//!   the lock the job is there or `head` is above it.
//!
//! While the other has `split` too high it has the lock, so nobody takes a job by it. What the holder wrote for a
//! job comes before its `tail`, which whoever moves `split` over it acquires, and the lock hands on.
//!
//! The lock is held for a few instructions, or for the length of a heavy barrier (3 to 20 µs). Others do not wait
//! for it. The holder does, if it has nothing of its own left.

use crossbeam_utils::CachePadded;

use super::Job;
use crate::barrier;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{spin_loop, yield_now, Cell};

/// Places of a new buffer.
const PLACES: usize = if cfg!(loom) { 2 } else { 64 };

/// Pauses of a holder that waits for the lock, before it gives its processor away: about as long as a heavy
/// barrier.
const LOCK_PAUSES: u32 = if cfg!(loom) { 0 } else { 128 };

/// Jobs, each at its number modulo a power of two.
type Buffer = Box<[Cell<Option<Job>>]>;

/// See the [module page](self).
pub(crate) struct Deque {
    own: CachePadded<Own>,
    border: CachePadded<Border>,
    others: CachePadded<Others>,
}

/// What came back from the tail.
pub(crate) enum Popped {
    /// What was expected.
    It,
    /// Something else.
    Another(Job),
    /// Nothing: others have taken it all.
    Nothing,
}

/// What the holder writes.
struct Own {
    tail: AtomicUsize,
    /// Replaced under the lock.
    buffer: Cell<Buffer>,
    /// At this `tail` the buffer may be full. The holder's.
    limit: Cell<usize>,
}

/// What changes when somebody wants something.
struct Border {
    split: AtomicUsize,
    /// Whether somebody asks the holder to move the split.
    wanted: AtomicBool,
}

/// What came of an attempt to steal.
pub(crate) enum Stolen {
    /// The oldest job.
    Job(Job),
    /// Nothing is there for others. The holder has been asked for it.
    Asked,
    /// Nothing is there, or another is stealing it.
    Nothing,
}

/// Jobs that are stolen along with one, at most.
const MOST: usize = 31;

/// What is stolen along with a job, oldest first, until the first place that is empty.
#[derive(Default)]
pub(crate) struct Along {
    jobs: [Option<Job>; MOST],
}

impl Along {
    /// Newest first.
    pub(crate) fn into_newest_first(self) -> impl Iterator<Item = Job> {
        self.jobs.into_iter().rev().flatten()
    }
}

/// What others write.
struct Others {
    lock: AtomicBool,
    head: AtomicUsize,
}

// SAFETY: the atomics are `Sync`. `limit` is the holder's. `buffer` is written by the holder under the lock, and
// read by the holder or under the lock. A place in it is written by the holder at `tail`, where nobody else looks,
// and read by who has claimed the job, as the module page tells; `Job` is `Send`.
unsafe impl Sync for Deque {}

fn buffer(places: usize) -> Buffer {
    (0..places).map(|_| Cell::new(None)).collect()
}

impl Deque {
    pub(crate) fn new() -> Self {
        Deque {
            own: CachePadded::new(Own {
                tail: AtomicUsize::new(0),
                buffer: Cell::new(buffer(PLACES)),
                limit: Cell::new(PLACES),
            }),
            border: CachePadded::new(Border {
                split: AtomicUsize::new(0),
                wanted: AtomicBool::new(false),
            }),
            others: CachePadded::new(Others {
                lock: AtomicBool::new(false),
                head: AtomicUsize::new(0),
            }),
        }
    }

    /// Puts a job at the tail.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, job: Job) {
        let own = &self.own;
        // Relaxed: the holder's own.
        let tail = own.tail.load(Ordering::Relaxed);
        // SAFETY: the holder alone uses it; the pointer is the cell's own.
        if tail == own.limit.with(|limit| unsafe { *limit }) {
            self.make_room(tail);
        }
        self.with_place(tail, |place| {
            place.with_mut(|place| {
                // SAFETY: nobody else looks at a place from `tail` on, and what was there before has been taken,
                // because there is room.
                unsafe { *place = Some(job) }
            })
        });
        // Release: partner is the Acquire in `seen_from`.
        own.tail.store(tail.wrapping_add(1), Ordering::Release);
        if self.border.wanted.load(Ordering::Relaxed) {
            self.hand_out(tail.wrapping_add(1), 1);
        }
    }

    /// Takes the job at the tail.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<Job> {
        match self.claim_last() {
            Ok(last) => Some(self.take(last)),
            Err(tail) => self.pop_shared(tail),
        }
    }

    /// The same if the job `fits`.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    #[inline]
    pub(crate) unsafe fn pop_if(&self, fits: impl FnOnce(&Job) -> bool) -> Option<Job> {
        let last = self.claim_last().ok()?;
        if self.with_place(last, |place| look_at(place, fits)) {
            return Some(self.take(last));
        }
        // Back to where it was, and it has stayed there. Release: as in `push`.
        self.own.tail.store(last.wrapping_add(1), Ordering::Release);
        None
    }

    /// The same, for whoever has pushed the job that is made from `data` and expects it there.
    ///
    /// # Safety
    ///
    /// The same.
    #[inline(always)]
    pub(crate) unsafe fn pop_back(&self, data: *const ()) -> Popped {
        if let Ok(last) = self.claim_last() {
            // Looked at where it lies: to copy it takes longer than all else here.
            if self.with_place(last, |place| look_at(place, |job| job.is(data))) {
                return Popped::It;
            }
            return Popped::Another(self.take(last));
        }
        match self.pop_shared(self.own.tail.load(Ordering::Relaxed)) {
            Some(job) if job.is(data) => Popped::It,
            Some(job) => Popped::Another(job),
            None => Popped::Nothing,
        }
    }

    /// The holder claims the last job. `Err`: it may be for others as well, with the tail.
    #[inline(always)]
    fn claim_last(&self) -> Result<usize, usize> {
        let end = &self.own.tail;
        let tail = end.load(Ordering::Relaxed);
        if self.border.wanted.load(Ordering::Relaxed) {
            self.hand_out(tail, 0);
        }
        if tail == self.split() {
            return Err(tail);
        }
        let last = tail.wrapping_sub(1);
        end.store(last, Ordering::Relaxed);
        // Partner: the heavy barrier in `move_split`.
        barrier::light();
        // Relaxed: what others have taken is known under the lock only. It is never far from `tail`.
        if (last.wrapping_sub(self.split()) as isize) < 0 {
            end.store(tail, Ordering::Relaxed);
            return Err(tail);
        }
        Ok(last)
    }

    /// The same where the last job, if there is one, is for others as well.
    #[cold]
    fn pop_shared(&self, tail: usize) -> Option<Job> {
        if tail == self.others.head.load(Ordering::Relaxed) {
            // Only the holder could change that.
            return None;
        }
        self.lock();
        let head = self.others.head.load(Ordering::Relaxed);
        let job = (head != tail).then(|| {
            let last = tail.wrapping_sub(1);
            self.own.tail.store(last, Ordering::Relaxed);
            // The newer half is the holder's again.
            let left = last.wrapping_sub(head);
            self.put_split(head.wrapping_add(left / 2));
            self.take(last)
        });
        self.unlock();
        job
    }

    /// Takes the job at the head, and if it is one of many up to half of those like it that follow and are for
    /// others, into `along`. Where nothing is for others, the holder is asked to hand something out, which it
    /// does when it pushes or pops the next time; `at_once`: it is not waited for.
    pub(crate) fn steal(&self, at_once: bool, along: Option<&mut Along>) -> Stolen {
        if self.is_empty() || !self.try_lock() {
            return Stolen::Nothing;
        }
        let head = self.others.head.load(Ordering::Relaxed);
        let stolen = if head != self.split() || (at_once && self.move_split(head)) {
            let next = head.wrapping_add(1);
            let job = self.take(head);
            let taken = match along {
                Some(along) if job.is_one_of_many() => self.take_along(next, along),
                _ => 0,
            };
            self.others
                .head
                .store(next.wrapping_add(taken), Ordering::Relaxed);
            Stolen::Job(job)
        } else {
            let wanted = &self.border.wanted;
            if !wanted.load(Ordering::Relaxed) {
                wanted.store(true, Ordering::Relaxed);
            }
            Stolen::Asked
        };
        self.unlock();
        stolen
    }

    /// With the lock: copies jobs from number `next` on, which the caller then takes away. How many.
    fn take_along(&self, next: usize, along: &mut Along) -> usize {
        let there = self.split().wrapping_sub(next);
        for taken in 0..MOST.min(there / 2) {
            let job = self.take(next.wrapping_add(taken));
            if !job.is_one_of_many() {
                return taken;
            }
            along.jobs[taken] = Some(job);
        }
        MOST.min(there / 2)
    }

    /// The holder moves the split without being asked.
    ///
    /// # Safety
    ///
    /// The calling thread is the holder.
    pub(crate) unsafe fn offer(&self) {
        let tail = self.own.tail.load(Ordering::Relaxed);
        if tail.wrapping_sub(self.split()) as isize > 0
            && self.split() == self.others.head.load(Ordering::Relaxed)
        {
            self.hand_out(tail, 1);
        }
    }

    /// The holder, who was asked for it, moves the split up over half of what is there, at least over `least`.
    #[cold]
    fn hand_out(&self, tail: usize, least: usize) {
        if !self.try_lock() {
            // Who has the lock looks for itself.
            return;
        }
        let head = self.others.head.load(Ordering::Relaxed);
        let there = tail.wrapping_sub(head);
        let split = head.wrapping_add((there / 2).max(least.min(there)));
        if (split.wrapping_sub(self.split()) as isize) > 0 {
            self.put_split(split);
            self.border.wanted.store(false, Ordering::Relaxed);
        }
        self.unlock();
    }

    /// With the lock, where nothing is left for others: the older half of what is there is. False: nothing is.
    fn move_split(&self, head: usize) -> bool {
        let half = self.seen_from(head).div_ceil(2);
        if half == 0 {
            return false;
        }
        self.put_split(head.wrapping_add(half));
        // Partner: the light barrier in `claim_last`.
        let known = barrier::heavy();
        let there = if known {
            self.seen_from(head).min(half)
        } else {
            0
        };
        self.put_split(head.wrapping_add(there));
        there != 0
    }

    #[inline(always)]
    fn split(&self) -> usize {
        // Relaxed: ordered by the lock, or by the barriers.
        self.border.split.load(Ordering::Relaxed)
    }

    /// With the lock.
    fn put_split(&self, split: usize) {
        self.border.split.store(split, Ordering::Relaxed);
    }

    /// How many jobs there are from `head` on. The holder may just now have put the tail below it.
    fn seen_from(&self, head: usize) -> usize {
        // Acquire: partner is the Release in `push`.
        let tail = self.own.tail.load(Ordering::Acquire);
        (tail.wrapping_sub(head) as isize).max(0) as usize
    }

    /// Whether there is nothing, at some moment during the call.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.tail.load(Ordering::Relaxed) == self.others.head.load(Ordering::Relaxed)
    }

    /// The holder finds out that others have taken jobs, or makes a larger buffer.
    #[cold]
    fn make_room(&self, tail: usize) {
        self.lock();
        let head = self.others.head.load(Ordering::Relaxed);
        let there = tail.wrapping_sub(head);
        let places = self.own.buffer.with_mut(|old| {
            // SAFETY: the holder alone writes it, and has the lock; the pointer is the cell's own.
            let old = unsafe { &mut *old };
            if there > old.len() / 2 {
                let new = buffer(2 * old.len());
                for number in (0..there).map(|i| head.wrapping_add(i)) {
                    let job = take_from(old, number);
                    new[number & (new.len() - 1)].with_mut(|place| {
                        // SAFETY: nobody else has seen it; the pointer is the cell's own.
                        unsafe { *place = Some(job) }
                    });
                }
                *old = new;
            }
            old.len()
        });
        let limit = head.wrapping_add(places);
        // SAFETY: the holder alone uses it; the pointer is the cell's own.
        self.own.limit.with_mut(|place| unsafe { *place = limit });
        self.unlock();
    }

    #[inline(always)]
    fn with_place<R>(&self, number: usize, f: impl FnOnce(&Cell<Option<Job>>) -> R) -> R {
        self.own.buffer.with(|buffer| {
            // SAFETY: the holder or who has the lock looks, and it is not replaced meanwhile; the pointer is the
            // cell's own.
            let buffer = unsafe { &*buffer };
            f(&buffer[number & (buffer.len() - 1)])
        })
    }

    /// Takes the job of this number, which the caller has claimed.
    #[inline(always)]
    fn take(&self, number: usize) -> Job {
        self.with_place(number, take_place)
    }

    /// For the holder.
    fn lock(&self) {
        let mut tries = 0;
        while !self.try_lock() {
            tries += 1;
            if tries < LOCK_PAUSES {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    fn try_lock(&self) -> bool {
        // Acquire: partner is the Release in `unlock`.
        self.others
            .lock
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn unlock(&self) {
        // Release: partner is the Acquire in `try_lock`.
        self.others.lock.store(false, Ordering::Release);
    }
}

fn take_from(buffer: &Buffer, number: usize) -> Job {
    take_place(&buffer[number & (buffer.len() - 1)])
}

/// Whether the job in a place that the caller has claimed `fits`.
#[inline(always)]
fn look_at(place: &Cell<Option<Job>>, fits: impl FnOnce(&Job) -> bool) -> bool {
    place.with(|place| {
        // SAFETY: as in `take_place`.
        let job = unsafe { (*place).as_ref() };
        job.is_some_and(fits)
    })
}

/// Takes the job in a place that the caller has claimed.
#[inline]
fn take_place(place: &Cell<Option<Job>>) -> Job {
    let job = place.with(|place| {
        // SAFETY: who has claimed a job alone looks at its place, until there is another one; the pointer is the
        // cell's own.
        unsafe { *place }
    });
    job.expect("a job lies in each place between head and tail")
}
