//! Models of the crate's lock-free protocols: loom runs the types that ship through every order of
//! their steps that few preemptions can make, and through every value that a load may see in them.
//!
//! | file | protocol |
//! |---|---|
//! | `parking` | announce and look again: [`Sleepers`](crate::parking::Sleepers) |
//! | `waiting` | the same for [`Waiters`](crate::parking::Waiters), and the queue with its stop |
//! | `deque` | each job is taken once, by its holder or by another |
//! | `board` | marks, and slots that change hands |
//! | `lanes` | lane ids from thread to thread |
//! | `finish` | the end of a loop: who wakes the caller, and what is touched afterwards |
//! | `slot` | loops back to back in one slot: claims, cuts, latecomers, shutting |
//! | `late` | workers that are still in a loop, or at its door, when it is over |
//! | `epochs` | the same where the numbers of the epochs come round |
//! | `solo` | a loop whose owner claims by stores, until somebody comes in |
//! | `watch` | no light loop is opened that nobody will look at |
//! | `meeting` | nobody is refused for good on a latecomer's account |
//! | `tasks` | the same for tasks: injection, sleep, latches, guests |
//! | `pool` | the whole: a caller and real workers, the chain, the queue, growing |
//!
//! Each model says which bug it catches, and has failed with that bug put in. `harness` has what
//! they share.
//!
//! What loom does not show: it takes `SeqCst` accesses for `AcqRel` (the crate has none); its
//! `fence(SeqCst)` synchronises with every later one, more than the language promises; loads are
//! not moved behind later stores; nothing takes time. `LOOM_MAX_PREEMPTIONS` searches deeper.

mod board;
mod deque;
mod epochs;
mod finish;
mod harness;
mod lanes;
mod late;
mod meeting;
mod parking;
mod pool;
mod slot;
mod solo;
mod tasks;
mod waiting;
mod watch;
