//! Which processors this process may use, and pinning a thread to one.

/// Pins the calling thread to the `n`-th processor, counted round, that it may run on. Where the
/// system cannot do that, nothing happens.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn pin_current_thread(n: usize) {
    use std::mem::{size_of, zeroed};

    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: `cpu_set_t` is an array of integers, for which all zeros is the empty set.
    let mut allowed: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: 0 is the calling thread; the set is live, writable and of the size given.
    if unsafe { libc::sched_getaffinity(0, SIZE, &mut allowed) } != 0 {
        return;
    }
    let processors: Vec<usize> = (0..8 * SIZE)
        // SAFETY: the number is below the bits of the set.
        .filter(|&processor| unsafe { libc::CPU_ISSET(processor, &allowed) })
        .collect();
    let Some(&processor) = processors.get(n % processors.len().max(1)) else {
        return;
    };
    // SAFETY: as above.
    let mut one: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the number came from a set of the same size.
    unsafe { libc::CPU_SET(processor, &mut one) };
    // SAFETY: 0 is the calling thread; the set is live and of the size given. A refusal leaves the
    // thread where it may run anyway.
    unsafe { libc::sched_setaffinity(0, SIZE, &one) };
}

/// Pinning is not supported here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn pin_current_thread(_: usize) {}
