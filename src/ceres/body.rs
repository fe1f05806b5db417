//! `Body`: the four forms that a body of Ceres's loops may have.

use std::ops::Range;

/// A body by index or by range, with or without the thread's id. `Form` only tells the four apart:
/// it is found by itself when the closure's parameters have their types written down.
///
/// | body | gets |
/// |---|---|
/// | <code>&#124;i: usize&#124;</code> | each index of a block, in order |
/// | <code>&#124;thread_id: usize, i: usize&#124;</code> | the same, and the lane's id |
/// | <code>&#124;range: Range&lt;usize&gt;&#124;</code> | a block |
/// | <code>&#124;thread_id: usize, range: Range&lt;usize&gt;&#124;</code> | a block, and the lane's id |
///
/// One closure serves all lanes by reference.
pub trait Body<Form>: Sync {
    /// Runs the body over `range` as thread `thread_id`.
    fn run(&self, thread_id: usize, range: Range<usize>);
}

impl<F: Fn(usize) + Sync> Body<fn(usize)> for F {
    #[inline]
    fn run(&self, _: usize, range: Range<usize>) {
        range.for_each(self);
    }
}

impl<F: Fn(usize, usize) + Sync> Body<fn(usize, usize)> for F {
    #[inline]
    fn run(&self, thread_id: usize, range: Range<usize>) {
        range.for_each(|i| self(thread_id, i));
    }
}

impl<F: Fn(Range<usize>) + Sync> Body<fn(Range<usize>)> for F {
    #[inline]
    fn run(&self, _: usize, range: Range<usize>) {
        self(range);
    }
}

impl<F: Fn(usize, Range<usize>) + Sync> Body<fn(usize, Range<usize>)> for F {
    #[inline]
    fn run(&self, thread_id: usize, range: Range<usize>) {
        self(thread_id, range);
    }
}
