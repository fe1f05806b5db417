//! The pool that the whole program shares.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use super::builder::{default_lanes, ThreadPoolBuilder};
use super::{ThreadPool, MAX_THREADS};
use crate::tuning;

/// Not a `OnceLock`: a fork while another thread fills one would leave it locked in the child for
/// good.
static GLOBAL: AtomicPtr<ThreadPool> = AtomicPtr::new(std::ptr::null_mut());

pub(super) fn global() -> &'static ThreadPool {
    // Acquire: partner is the Release below.
    let mut pool = GLOBAL.load(Ordering::Acquire);
    if pool.is_null() {
        pool = make();
    }
    // SAFETY: not null, so it came from `Box::into_raw` in `make`; it is never freed or written to
    // again.
    unsafe { &*pool }
}

#[cold]
fn make() -> *mut ThreadPool {
    let mut complaints = Vec::new();
    let lanes = setting("CONGA_NUM_THREADS", 1..=MAX_THREADS, &mut complaints)
        .unwrap_or_else(default_lanes);
    let most = tuning::IDLE_SPIN_MAX.as_micros() as usize;
    let spin = setting("CONGA_SPIN_US", 0..=most, &mut complaints)
        .map_or(tuning::IDLE_SPIN, |micros| {
            Duration::from_micros(micros as u64)
        });
    let pool = ThreadPoolBuilder::new()
        .num_threads(lanes)
        .spin(spin)
        .build_without_workers();
    let pool = Box::into_raw(Box::new(
        pool.expect("settings outside their range were not taken"),
    ));
    // Release: partner is the Acquire in `global`, here and above.
    let made = GLOBAL.compare_exchange(
        std::ptr::null_mut(),
        pool,
        Ordering::AcqRel,
        Ordering::Acquire,
    );
    match made {
        Ok(_) => {
            complaints
                .iter()
                .for_each(|complaint| eprintln!("{complaint}"));
            // SAFETY: `pool` came from `Box::into_raw` and is never freed or written to again.
            let made = unsafe { &*pool };
            made.ensure_threads(lanes);
            pool
        }
        Err(others) => {
            // SAFETY: `pool` came from `Box::into_raw` and nobody else has seen it.
            drop(unsafe { Box::from_raw(pool) });
            others
        }
    }
}

/// The whole number in the environment's `name`. What is not one in `range` is complained of and
/// counts as unset; so does an empty value, without a complaint.
fn setting(
    name: &str,
    range: std::ops::RangeInclusive<usize>,
    complaints: &mut Vec<String>,
) -> Option<usize> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    let number = value.to_str().and_then(|text| text.trim().parse().ok());
    let number = number.filter(|number| range.contains(number));
    if number.is_none() {
        complaints.push(format!(
            "conga: {name} is {value:?}, not a whole number from {} to {}: it is ignored",
            range.start(),
            range.end()
        ));
    }
    number
}
