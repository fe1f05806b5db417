//! An asymmetric barrier: announce and look again, for a pair of threads of which one does it a
//! million times a second and the other hardly ever.
//!
//! Both write one place and then read the other's. With a `fence(SeqCst)` on both sides one of the
//! two reads is sure to see the other's write. [`light`] and [`heavy`] give the same: the heavy side
//! asks the system to have every running thread of this process execute a full barrier (`membarrier`
//! on Linux, 3 µs with one other thread running), so the light side only has to keep the compiler
//! from moving its read before its write. Where the system cannot do that, both are fences.

#[cfg(not(loom))]
use std::sync::atomic::{compiler_fence, AtomicU64, AtomicU8, Ordering::Relaxed};

#[cfg(not(loom))]
use crate::clock;

use crate::sync::atomic::{fence, Ordering};

/// What [`prepare`] found out. It is a matter of the process, and the same in all its forks.
#[cfg(not(loom))]
static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);
#[cfg(not(loom))]
const UNKNOWN: u8 = 0;
#[cfg(not(loom))]
const SYMMETRIC: u8 = 1;
#[cfg(not(loom))]
const ASYMMETRIC: u8 = 2;

/// Finds out what the system can do. Before the first call both sides are fences; a pool calls it
/// before it has threads, so that no light side is older than the answer and younger than the
/// registration.
pub(crate) fn prepare() {
    #[cfg(not(loom))]
    if KIND.load(Relaxed) == UNKNOWN {
        let kind = if imp::register() {
            ASYMMETRIC
        } else {
            SYMMETRIC
        };
        KIND.store(kind, Relaxed);
    }
}

/// The side that must be cheap: between its write and its read.
#[inline(always)]
pub(crate) fn light() {
    #[cfg(not(loom))]
    if KIND.load(Relaxed) == ASYMMETRIC {
        // Partner: the system call in `heavy`.
        compiler_fence(Ordering::SeqCst);
        return;
    }
    // Partner: the fence in `heavy`.
    fence(Ordering::SeqCst);
}

/// Whether [`light`] is cheaper than an atomic read-modify-write.
#[inline]
pub(crate) fn light_is_cheap() -> bool {
    #[cfg(not(loom))]
    return KIND.load(Relaxed) == ASYMMETRIC;
    #[cfg(loom)]
    true
}

/// How many ticks of the [`clock`] the rare side took, of late.
#[cfg(not(loom))]
static PRICE: AtomicU64 = AtomicU64::new(20_000);

/// What [`heavy`] costs, in ticks of the [`clock`].
pub(crate) fn price() -> u64 {
    #[cfg(not(loom))]
    return PRICE.load(Relaxed);
    #[cfg(loom)]
    0
}

/// The rare side: between its write and its read. False: the system refused what it had granted (a
/// sandbox that was put up since): the caller may not rely on its read, and tries again later, when
/// both sides are fences.
#[must_use]
pub(crate) fn heavy() -> bool {
    // Partner: the fence in `light`.
    fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    if KIND.load(Relaxed) == ASYMMETRIC {
        let before = clock::now();
        if !imp::run_everywhere() {
            KIND.store(SYMMETRIC, Relaxed);
            return false;
        }
        let (took, old) = (clock::between(before, clock::now()), PRICE.load(Relaxed));
        // A mean, in which a sample counts for an eighth and for no more than double.
        PRICE.store(old - old / 8 + took.min(2 * old) / 8, Relaxed);
    }
    true
}

#[cfg(all(not(loom), any(target_os = "linux", target_os = "android")))]
mod imp {
    // From linux/membarrier.h.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Tells the system that this process will ask for barriers. False: it cannot do it.
    pub(super) fn register() -> bool {
        membarrier(REGISTER_PRIVATE_EXPEDITED)
    }

    /// Every running thread of this process has executed a full barrier when this returns.
    pub(super) fn run_everywhere() -> bool {
        membarrier(PRIVATE_EXPEDITED)
    }

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the system call takes two numbers (and a third that these commands ignore) and
        // touches no memory of the program.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(all(not(loom), not(any(target_os = "linux", target_os = "android"))))]
mod imp {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn run_everywhere() -> bool {
        true
    }
}
