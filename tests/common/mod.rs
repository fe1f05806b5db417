//! What the tests have in common: deadlines, meetings, and the settings that a behaviour is checked in.

// Each test binary uses a part of this.
#![allow(dead_code, unused_imports, unused_macros)]

mod deadline;
mod forms;
mod lanes;
mod meeting;
mod visits;

pub use self::deadline::deadline;
pub use self::forms::{Form, FORMS};
pub use self::lanes::ActiveLanes;
pub use self::meeting::{wait_until, Meeting};
pub use self::visits::Visits;

use conga::{Dispatch, ThreadPool};

/// Every strategy.
pub const STRATEGIES: [Dispatch; 3] = [Dispatch::PerThread, Dispatch::Chained, Dispatch::Adaptive];

/// The numbers of threads that behaviour is checked with.
pub const THREADS: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// A pool of `threads` lanes whose loops use `dispatch`.
pub fn pool(threads: usize, dispatch: Dispatch) -> ThreadPool {
    ThreadPool::builder()
        .num_threads(threads)
        .dispatch(dispatch)
        .build()
        .unwrap()
}

/// Calls `check` with a pool of each size.
pub fn for_each_pool(dispatch: Dispatch, check: impl Fn(&ThreadPool, usize)) {
    for threads in THREADS {
        let pool = pool(threads, dispatch);
        assert_eq!(
            pool.num_threads(),
            threads,
            "the system has refused a thread"
        );
        check(&pool, threads);
    }
}

/// The message of the panic that `f` ends with.
pub fn panic_message(f: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
        .expect_err("this should have panicked");
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .expect("the payload is a message")
}

/// Makes a test of each function `fn(Dispatch)`, once for each strategy: `adaptive::name`,
/// `chained::name` and `per_thread::name`. Each has to end within two minutes.
macro_rules! for_every_strategy {
    ($($test:ident),+ $(,)?) => {
        $crate::common::for_one_strategy! { per_thread, PerThread, $($test)+ }
        $crate::common::for_one_strategy! { chained, Chained, $($test)+ }
        $crate::common::for_one_strategy! { adaptive, Adaptive, $($test)+ }
    };
}

macro_rules! for_one_strategy {
    ($module:ident, $dispatch:ident, $($test:ident)+) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    $crate::common::deadline(120, || super::$test(conga::Dispatch::$dispatch));
                }
            )+
        }
    };
}

pub(crate) use {for_every_strategy, for_one_strategy};
