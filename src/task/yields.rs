//! Letting others go on.

use crate::pool::{Member, ThreadPool};

/// What came of a [`yield_now`] or [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was none.
    Idle,
}

/// On a thread of a pool, runs one job that waits: its own newest, or another's oldest. `None` on any
/// other thread. A thread that waits for something in a loop of its own lets it happen so.
///
/// ```
/// assert_eq!(conga::yield_now(), None); // not on a thread of a pool
/// ```
pub fn yield_now() -> Option<Yield> {
    Member::current(|me| me.map(|me| yield_as(me, Member::find)))
}

/// The same with the thread's own jobs only.
pub fn yield_local() -> Option<Yield> {
    Member::current(|me| me.map(|me| yield_as(me, Member::own)))
}

impl ThreadPool {
    /// [`yield_now`], if the calling thread is one of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.as_member(|me| yield_as(me, Member::find))
    }

    /// [`yield_local`], if the calling thread is one of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.as_member(|me| yield_as(me, Member::own))
    }

    /// Calls `f` if the calling thread is one of this pool.
    pub(super) fn as_member<R>(&self, f: impl FnOnce(&Member) -> R) -> Option<R> {
        Member::current(|me| me.filter(|me| me.is_of(self.shared())).map(f))
    }
}

fn yield_as<'a>(
    me: &Member<'a>,
    find: impl FnOnce(&Member<'a>) -> Option<crate::jobs::Job>,
) -> Yield {
    match find(me) {
        Some(job) => {
            me.run(job);
            Yield::Executed
        }
        None => Yield::Idle,
    }
}
