//! `Thread`: a worker's thread, of the standard library or, in a forked child, of the system.
//!
//! A thread of the standard library takes a lock of the library when it starts and when it ends,
//! for the list of guard pages. A fork in the moment when any thread of the parent holds it leaves
//! it taken in the child for good, and no such thread ever starts there. So in a child the system's
//! threads are used as they are. They lack what the library adds: a message when the stack
//! overflows, and the name that `std::thread::current()` tells.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::thread;

#[cfg(loom)]
use loom::thread;

#[cfg(unix)]
use super::fork;

/// How much stack the standard library gives a thread that asks for none in particular.
pub(crate) fn default_stack() -> usize {
    /// What has been found out; 0 before.
    static BYTES: AtomicUsize = AtomicUsize::new(0);

    // Relaxed: whoever looks it up finds the same.
    match BYTES.load(Ordering::Relaxed) {
        0 => {
            let asked = std::env::var("RUST_MIN_STACK").ok();
            let bytes = asked
                .and_then(|bytes| bytes.parse().ok())
                .unwrap_or(2 << 20)
                .max(1);
            BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}

pub(crate) enum Thread {
    Library(thread::JoinHandle<()>),
    #[cfg(unix)]
    System(system::Thread),
}

impl Thread {
    /// Starts a thread that calls `life`, which must not panic.
    pub(crate) fn start(
        name: String,
        stack_size: Option<usize>,
        life: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        #[cfg(unix)]
        if fork::is_child() {
            return system::Thread::start(stack_size, Box::new(life)).map(Thread::System);
        }
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = stack_size {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(life).map(Thread::Library)
    }

    /// Whether this is the calling thread.
    pub(crate) fn is_current(&self) -> bool {
        match self {
            Thread::Library(thread) => thread.thread().id() == thread::current().id(),
            #[cfg(unix)]
            Thread::System(thread) => thread.is_current(),
        }
    }

    /// Waits until the thread has ended. One that is dropped instead is left to end by itself.
    pub(crate) fn join(self) {
        match self {
            // It does not panic: there is no error to pass on.
            Thread::Library(thread) => drop(thread.join()),
            #[cfg(unix)]
            Thread::System(thread) => thread.join(),
        }
    }
}

#[cfg(unix)]
mod system {
    use std::ffi::c_void;
    use std::io;
    use std::mem::{self, MaybeUninit};
    use std::ptr;

    /// A multiple of every page size, and no less than any system's smallest stack.
    const STACK_STEP: usize = 64 << 10;

    type Life = Box<dyn FnOnce() + Send>;

    /// A POSIX thread that has been neither joined nor detached.
    pub(crate) struct Thread(libc::pthread_t);

    // SAFETY: it names a thread; any thread of the process may join, detach or compare it.
    unsafe impl Send for Thread {}

    extern "C" fn begin(life: *mut c_void) -> *mut c_void {
        // SAFETY: the pointer came from `Box::into_raw` in `start`, which gave it to this thread
        // alone.
        let life = unsafe { Box::from_raw(life.cast::<Life>()) };
        life();
        ptr::null_mut()
    }

    impl Thread {
        pub(super) fn start(stack_size: Option<usize>, life: Life) -> io::Result<Self> {
            let bytes = stack_size.unwrap_or_else(super::default_stack).max(1);
            let bytes = bytes.checked_next_multiple_of(STACK_STEP);
            let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
            let mut attributes = MaybeUninit::uninit();
            // SAFETY: the memory is live and of the type asked for.
            check(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
            // SAFETY: they have been initialised.
            let sized = unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), bytes) };
            let started = check(sized).and_then(|()| Self::start_with(attributes.as_ptr(), life));
            // SAFETY: they have been initialised and are not used any more. It has no error to
            // report.
            unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
            started
        }

        fn start_with(attributes: *const libc::pthread_attr_t, life: Life) -> io::Result<Self> {
            let life = Box::into_raw(Box::new(life));
            let mut thread = MaybeUninit::uninit();
            // SAFETY: `start` has initialised the attributes; `begin` takes over the box if this
            // succeeds.
            let error = unsafe {
                libc::pthread_create(thread.as_mut_ptr(), attributes, begin, life.cast())
            };
            check(error).inspect_err(|_| {
                // SAFETY: the pointer came from `Box::into_raw` above, and no thread has got it.
                drop(unsafe { Box::from_raw(life) });
            })?;
            // SAFETY: the call succeeded, so it has written the thread's name.
            Ok(Thread(unsafe { thread.assume_init() }))
        }

        pub(super) fn is_current(&self) -> bool {
            // SAFETY: always possible.
            let here = unsafe { libc::pthread_self() };
            // SAFETY: this thread has been neither joined nor detached, so its name is still its
            // own.
            unsafe { libc::pthread_equal(self.0, here) != 0 }
        }

        pub(super) fn join(self) {
            // SAFETY: it has been neither joined nor detached, is not the calling one, and is
            // forgotten now. There is no error that can happen.
            unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
            mem::forget(self);
        }
    }

    impl Drop for Thread {
        fn drop(&mut self) {
            // SAFETY: it has been neither joined nor detached, and nobody names it after this.
            unsafe { libc::pthread_detach(self.0) };
        }
    }

    fn check(error: libc::c_int) -> io::Result<()> {
        match error {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}
