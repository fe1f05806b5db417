//! A task of a scope as a job. A thread that takes up several of one scope in a row counts their
//! ends in one operation: the scope cannot end before the last of them anyway.

use std::alloc::Layout;
use std::ptr;

use super::chunk::{Chunk, Chunks};
use super::latches::Countdown;
use crate::jobs::Job;
use crate::pool::Member;

/// How many are run in a row, at most. Then the thread looks around.
const ROW: usize = 64;

/// A task, whatever it does.
#[repr(C)]
struct Header {
    /// What counts it.
    left: *const Countdown,
    /// Takes the task out of its memory, of which this is the beginning, and runs it.
    run: unsafe fn(*const Header),
    /// The chunk that it is in; null: a box.
    chunk: *const Chunk,
}

#[repr(C)]
struct Task<F> {
    header: Header,
    f: F,
}

/// A job that runs `f`, which must not unwind, and tells `left` that it has ended. If nobody runs it, it is
/// leaked. The task is put into one of the `chunks`, if there are any and it fits, or else into a box.
///
/// # Safety
///
/// The task has begun in `left`, which stays where it is until all that have begun have ended, and so does
/// what `f` borrows.
pub(super) unsafe fn scope_job<F: FnOnce() + Send>(
    left: *const Countdown,
    f: F,
    call: u64,
    chunks: Option<&Chunks>,
) -> Job {
    /// # Safety
    ///
    /// `header` is the beginning of a box of a `Task<F>`, and this is called once.
    unsafe fn run_boxed<F: FnOnce()>(header: *const Header) {
        // SAFETY: the caller's promise.
        let task = unsafe { Box::from_raw(header.cast_mut().cast::<Task<F>>()) };
        (task.f)();
    }
    /// # Safety
    ///
    /// `header` is the beginning of a `Task<F>`, and this is called once.
    unsafe fn run_in_place<F: FnOnce()>(header: *const Header) {
        // SAFETY: the caller's promise.
        let task = unsafe { header.cast::<Task<F>>().read() };
        (task.f)();
    }

    let room = chunks.and_then(|chunks| chunks.room(Layout::new::<Task<F>>()));
    let data = match room {
        Some((room, chunk)) => {
            let run = run_in_place::<F>;
            let header = Header { left, run, chunk };
            let task = room.cast::<Task<F>>();
            // SAFETY: it is as large and aligned, and nobody else's.
            unsafe { task.write(Task { header, f }) };
            task
        }
        None => {
            let (run, chunk) = (run_boxed::<F>, ptr::null());
            let header = Header { left, run, chunk };
            Box::into_raw(Box::new(Task { header, f }))
        }
    };
    // SAFETY: a job is run once; `F` is `Send` and `Countdown` and `Chunk` are `Sync`, and what is borrowed is
    // there, by the caller's promise.
    unsafe { Job::new(data.cast_const().cast(), run_in_a_row, call) }.one_of_many()
}

/// Tasks that have been run and are to be told of.
#[derive(Clone, Copy)]
struct Ended {
    left: *const Countdown,
    chunk: *const Chunk,
    tasks: usize,
}

impl Ended {
    /// # Safety
    ///
    /// So many of that countdown and in that chunk have been run, and were not told of yet.
    unsafe fn tell(self) {
        if self.tasks == 0 {
            return;
        }
        if !self.chunk.is_null() {
            // SAFETY: they are no more.
            unsafe { Chunk::release(self.chunk, self.tasks) };
        }
        // SAFETY: so many have ended that had begun.
        unsafe { Countdown::end(self.left, self.tasks) };
    }
}

/// Runs a task, and those that the calling thread would take up next.
///
/// # Safety
///
/// `data` came from `scope_job`, and this is called once with it.
unsafe fn run_in_a_row(data: *const ()) {
    let mut next = data;
    let mut ended = Ended {
        left: ptr::null(),
        chunk: ptr::null(),
        tasks: 0,
    };
    for rest in (0..ROW).rev() {
        let header = next.cast::<Header>();
        // SAFETY: it is there until it is run.
        let Header { left, run, chunk } = unsafe { header.read() };
        if left != ended.left || chunk != ended.chunk {
            // SAFETY: they have been run.
            unsafe { ended.tell() };
            ended = Ended {
                left,
                chunk,
                tasks: 0,
            };
        }
        // SAFETY: a queue gives a job to one taker.
        unsafe { run(header) };
        ended.tasks += 1;
        let another = || Member::current(|me| me?.pop_for(run_in_a_row));
        match (rest != 0).then(another).flatten() {
            Some(data) => next = data,
            None => break,
        }
    }
    // SAFETY: they have been run.
    unsafe { ended.tell() };
}
