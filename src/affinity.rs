//! Which processor a thread runs on: asking, pinning, moving off one. Where the system cannot do it,
//! nothing happens.

pub(crate) use imp::{current_processor, leave, pin_current_thread};

#[cfg(all(not(loom), any(target_os = "linux", target_os = "android")))]
mod imp {
    use std::mem::{size_of, zeroed};

    const SIZE: usize = size_of::<libc::cpu_set_t>();

    /// The processors that the calling thread may run on.
    fn allowed() -> Option<libc::cpu_set_t> {
        let mut set = none();
        // SAFETY: 0 is the calling thread; the set is live, writable and of the size given.
        (unsafe { libc::sched_getaffinity(0, SIZE, &mut set) } == 0).then_some(set)
    }

    /// A refusal leaves the thread where it may run anyway.
    fn allow(set: &libc::cpu_set_t) {
        // SAFETY: 0 is the calling thread; the set is live and of the size given.
        unsafe { libc::sched_setaffinity(0, SIZE, set) };
    }

    fn none() -> libc::cpu_set_t {
        // SAFETY: `cpu_set_t` is an array of integers, for which all zeros is the empty set.
        unsafe { zeroed() }
    }

    fn members(set: &libc::cpu_set_t) -> impl Iterator<Item = usize> + '_ {
        // SAFETY: the number is below the bits of the set.
        (0..8 * SIZE).filter(|&processor| unsafe { libc::CPU_ISSET(processor, set) })
    }

    fn with_members(processors: impl Iterator<Item = usize>) -> libc::cpu_set_t {
        let mut set = none();
        for processor in processors {
            // SAFETY: the number came from a set of the same size.
            unsafe { libc::CPU_SET(processor, &mut set) };
        }
        set
    }

    /// The processor that the calling thread runs on.
    pub(crate) fn current_processor() -> Option<usize> {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// Pins the calling thread to the `n`-th processor, counted round, that it may run on.
    pub(crate) fn pin_current_thread(n: usize) {
        let Some(set) = allowed() else { return };
        let count = members(&set).count().max(1);
        let processor = members(&set).nth(n % count);
        if processor.is_some() {
            allow(&with_members(processor.into_iter()));
        }
    }

    /// Moves the calling thread to another processor than this one, if there is one that it may run on.
    /// What it may run on is the same afterwards.
    pub(crate) fn leave(processor: usize) {
        let Some(before) = allowed() else { return };
        let others = members(&before).filter(|&other| other != processor);
        let others = with_members(others);
        if members(&others).next().is_some() {
            allow(&others);
            allow(&before);
        }
    }
}

#[cfg(any(loom, not(any(target_os = "linux", target_os = "android"))))]
mod imp {
    pub(crate) fn current_processor() -> Option<usize> {
        None
    }

    pub(crate) fn pin_current_thread(_: usize) {}

    pub(crate) fn leave(_: usize) {}
}

#[cfg(all(test, not(loom), any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;

    /// Catches a thread that stays where it was, or that may not come back afterwards.
    #[test]
    fn a_thread_that_leaves_a_processor_may_return() {
        let here = current_processor().expect("the system tells");
        leave(here);
        let there = current_processor().expect("the system tells");
        leave(there);
        if num_cpus::get() > 1 {
            // Wherever the system moves it meanwhile, it leaves a processor that it is on.
            let moved = (0..100).any(|_| {
                let before = current_processor();
                before.into_iter().for_each(leave);
                current_processor() != before
            });
            assert!(moved);
        }
        assert_eq!(
            num_cpus::get(),
            std::thread::available_parallelism().map_or(1, |n| n.get())
        );
    }
}
