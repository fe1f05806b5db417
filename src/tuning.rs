//! Every constant that trades one cost for another, with the measurement behind it.
//!
//! Measured on two cores of a virtualised Xeon (2026), where `pause` takes 17 ns, a clock read 35
//! ns, a `yield` 0.3 µs, an `unpark` 1.7 µs and a woken thread runs 7.7 µs after it.

use std::time::Duration;

/// How long a worker that did something useful spins before it parks, unless the builder or
/// `CONGA_SPIN_US` says otherwise. A helper that is met again within that time is had for the price of
/// a cache line instead of a system call and 8 to 40 µs. Between loops of 300 µs that are 20 µs apart a
/// helper waits 20 to 60 µs, because it is done before the caller is: 50 µs were not enough.
pub(crate) const IDLE_SPIN: Duration = Duration::from_micros(100);

/// The longest spin that the builder accepts.
pub(crate) const IDLE_SPIN_MAX: Duration = Duration::from_micros(200);

/// Pauses between two looks at the clock while a worker spins: about 0.5 µs.
#[cfg(not(loom))]
pub(crate) const PAUSES_PER_CLOCK: u32 = 32;

/// Pauses that a caller makes before it gives its core away: about 2 µs, the price of one `unpark`.
pub(crate) const WAIT_PAUSES: u32 = 128;

/// Yields that a caller makes after that, before it parks: about 15 µs where nobody else wants the
/// core, twice what it takes to be woken; where threads outnumber cores each yield lets one of them
/// go on.
pub(crate) const WAIT_YIELDS: u32 = 48;
