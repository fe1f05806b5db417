//! The clock that prices are measured with: cheap to read, in units of its own.
//!
//! Every decision compares durations of this clock with each other, so a tick needs no length. On
//! x86-64 it is the processor's time stamp counter, which takes 10 ns to read where the standard
//! library's clock takes 23 (Xeon, KVM); elsewhere a tick is a nanosecond of the latter. Counters of
//! two processors may differ by a little and a thread may move: a difference that would be negative
//! is 0, and a price that came out wrong once is one sample of an average.

/// Ticks since some moment.
#[inline]
pub(crate) fn now() -> u64 {
    imp::now()
}

/// Ticks from `earlier` to `later`.
#[inline]
pub(crate) fn between(earlier: u64, later: u64) -> u64 {
    let ticks = later.wrapping_sub(earlier);
    if ticks > u64::MAX / 2 {
        0
    } else {
        ticks
    }
}

#[cfg(all(not(loom), target_arch = "x86_64"))]
mod imp {
    #[inline]
    pub(super) fn now() -> u64 {
        // SAFETY: the instruction is part of every x86-64 processor; systems that forbid it to
        // programs are not among Rust's targets.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(all(not(loom), not(target_arch = "x86_64")))]
mod imp {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) fn now() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// In a model nothing takes time.
#[cfg(loom)]
mod imp {
    pub(super) fn now() -> u64 {
        0
    }
}
