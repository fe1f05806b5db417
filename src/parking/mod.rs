//! Sleeping and waking, without a lost wake-up and without a broadcast.
//!
//! Two things live here. [`Sleepers`] is where the pool's workers go when they have nothing to do;
//! [`Waiters`] is where any thread waits for a [`ConcurrentQueue`](crate::ConcurrentQueue). Both
//! stand on [`Parker`], the sleeping place of one thread, and know nothing of loops.
//!
//! # A worker's states
//!
//! | state | in `spinning` | in `parked` | who may end it |
//! |---|---|---|---|
//! | busy | no | no | the worker |
//! | spinning | yes | no | the worker by `withdraw`, or somebody else by `claim` |
//! | parked | no | yes | the worker by `withdraw`, or somebody else by `claim` |
//! | called | no | no | the worker, when it has taken its call |
//! | lent | no | no | whoever has borrowed it: by announcing it as parked again |
//!
//! Taking the bit out of a set is one atomic operation, so each stay in a set is ended by exactly
//! one side. A claimer then owes exactly one call: it writes the call word and, if the bit came
//! from `parked`, gives the token. A worker whose `withdraw` fails knows that it was claimed and
//! waits for that call. So no call is overwritten (the word is empty before the worker announces
//! itself, and only the claimer of that stay writes it) and none is lost.
//!
//! A worker is lent by `borrow`, a claim whose call is owed as long as somebody else works in its place. From
//! `parked` it is not told and sleeps on. From `spinning` it is told to sleep; that call alone may be
//! overwritten, by whoever claims the worker after it was announced again, and the worker takes whichever
//! it finds, by one exchange. A worker that sleeps with a limit is not lent: it would find itself claimed
//! when that is over, and wait for a call that nobody owes once it has been announced again.
//!
//! A thread that sleeps inside a job, in the place of its worker or another's, is in neither set but in
//! `inside`, or in `aside` if it may not be called to look for jobs, and has a sleeping place of its own; the
//! same rules hold there, but nobody borrows from these. Who waits at a loop's door sleeps in the loop's parker,
//! because whoever finishes the loop gives the token there: its place says so, and its claimer gives the
//! token first and writes the call then, after which it does not touch that parker, which the sleeper, who
//! knows that it was claimed, does not leave before.
//!
//! # Why no wake-up is lost
//!
//! A publisher makes work visible, puts a `fence(SeqCst)`, then looks for a bit in the sets. A
//! worker sets its bit, puts a `fence(SeqCst)`, then looks for work. The two fences have one order.
//! If the publisher's comes first, the worker's look sees the work; if the worker's comes first,
//! the publisher sees the bit, unless another publisher has claimed it, and then the worker is up
//! already and looks for work before it announces itself again. Loom checks this in `tests/loom`.
//!
//! A worker that spins may be claimed before the work is visible: it waits for its call, which comes
//! after the work, and the call's Release is all that it takes. Claimed and then not called, it parks,
//! and looks for work on the way.

mod idle;
mod parker;
mod sleepers;
mod waiters;

pub(crate) use parker::{Parker, Sleep};
pub(crate) use sleepers::{Call, Claimed, Reached, Sleepers, Stage, Waited};
pub(crate) use waiters::Waiters;
