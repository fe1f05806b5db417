//! OpenMP (libgomp) and oneTBB: the loops of `cpp/peers.cpp`.

use std::ffi::{c_int, c_void};

use super::Contender;

extern "C" {
    fn peers_zero(kind: c_int, threads: usize, y: *mut f64, n: usize);
    fn peers_axpy(kind: c_int, threads: usize, a: f64, x: *const f64, y: *mut f64, n: usize);
    fn peers_dot(kind: c_int, threads: usize, x: *const f64, y: *const f64, n: usize) -> f64;
    fn peers_work(kind: c_int, threads: usize, iterations: u64, y: *mut f64, n: usize);
    fn peers_skew(kind: c_int, threads: usize, scale: f64, y: *mut f64, n: usize);
    fn peers_in_arena(threads: usize, f: extern "C" fn(*mut c_void), context: *mut c_void);
}

pub struct Cpp {
    /// The order of `Kind` in `peers.cpp`.
    kind: c_int,
    threads: usize,
}

impl Cpp {
    pub fn omp_static(threads: usize) -> Cpp {
        Cpp { kind: 0, threads }
    }

    pub fn omp_dynamic(threads: usize) -> Cpp {
        Cpp { kind: 1, threads }
    }

    /// To be used within [`in_arena`].
    pub fn tbb_static(threads: usize) -> Cpp {
        Cpp { kind: 2, threads }
    }

    /// To be used within [`in_arena`].
    pub fn tbb_auto(threads: usize) -> Cpp {
        Cpp { kind: 3, threads }
    }
}

/// Calls `f` once, in a oneTBB arena of `threads` threads.
pub fn in_arena<R, F: FnOnce() -> R>(threads: usize, f: F) -> R {
    struct Call<F, R> {
        f: Option<F>,
        result: Option<R>,
    }

    // A panic ends the process here: it must not unwind through C++.
    extern "C" fn run<R, F: FnOnce() -> R>(call: *mut c_void) {
        // SAFETY: `call` is the `Call` below, which lives until the arena's call is over, and
        // nobody else has it.
        let call = unsafe { &mut *call.cast::<Call<F, R>>() };
        call.result = call.f.take().map(|f| f());
    }

    let mut call = Call {
        f: Some(f),
        result: None,
    };
    let context = std::ptr::from_mut(&mut call).cast();
    // SAFETY: `run` is given what it expects, once, on this thread or another of the arena's while
    // this one waits.
    unsafe { peers_in_arena(threads, run::<R, F>, context) };
    call.result.expect("the arena has called the function")
}

impl Contender for Cpp {
    #[inline]
    fn zero(&mut self, y: &mut [f64]) {
        // SAFETY: the pointers are those of slices of as many elements, borrowed during the call.
        unsafe { peers_zero(self.kind, self.threads, y.as_mut_ptr(), y.len()) }
    }

    #[inline]
    fn axpy(&mut self, a: f64, x: &[f64], y: &mut [f64]) {
        let n = x.len().min(y.len());
        // SAFETY: the pointers are those of slices of as many elements, borrowed during the call.
        unsafe { peers_axpy(self.kind, self.threads, a, x.as_ptr(), y.as_mut_ptr(), n) }
    }

    #[inline]
    fn dot(&mut self, x: &[f64], y: &[f64]) -> f64 {
        let n = x.len().min(y.len());
        // SAFETY: the pointers are those of slices of as many elements, borrowed during the call.
        unsafe { peers_dot(self.kind, self.threads, x.as_ptr(), y.as_ptr(), n) }
    }

    #[inline]
    fn work(&mut self, iterations: u64, y: &mut [f64]) {
        // SAFETY: the pointers are those of slices of as many elements, borrowed during the call.
        unsafe { peers_work(self.kind, self.threads, iterations, y.as_mut_ptr(), y.len()) }
    }

    #[inline]
    fn skew(&mut self, scale: f64, y: &mut [f64]) {
        // SAFETY: the pointers are those of slices of as many elements, borrowed during the call.
        unsafe { peers_skew(self.kind, self.threads, scale, y.as_mut_ptr(), y.len()) }
    }
}
