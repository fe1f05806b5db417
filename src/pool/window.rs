//! `Window`: whether it pays for an idle worker to spin before it sleeps.

use std::time::Duration;

/// Learns from the gaps that a worker meets between going idle and being called. Spinning pays where
/// the calls come within the time that a worker may spin; two misses in a row end it, and two calls
/// that would have been met bring it back.
#[derive(Debug)]
pub(super) struct Window {
    most: Duration,
    /// From `-LIMIT` to `LIMIT`; spinning pays from 0 on.
    score: i8,
    /// Whether the worker was woken for loops that follow.
    more_follow: bool,
}

const LIMIT: i8 = 2;

impl Window {
    /// A worker that spins for `most` at a time, and begins with it.
    pub(super) fn new(most: Duration) -> Self {
        Window {
            most,
            score: 1,
            more_follow: false,
        }
    }

    /// How long to spin, for a worker that has been useful.
    pub(super) fn spin(&mut self) -> Duration {
        if std::mem::take(&mut self.more_follow) {
            // Until the next loop: whoever woke this worker may take longer to come back from that
            // than the worker takes to start and to have done its part.
            self.most * 4
        } else if self.score >= 0 {
            self.most
        } else {
            Duration::ZERO
        }
    }

    /// The worker was woken for loops that follow at once: it spins the next time, whatever the gaps
    /// were.
    pub(super) fn more_follow(&mut self) {
        self.score = self.score.max(0);
        self.more_follow = true;
    }

    /// The worker was called after a gap.
    pub(super) fn called_after(&mut self, gap: Duration) {
        let step = if gap <= self.most { 1 } else { -1 };
        self.score = (self.score + step).clamp(-LIMIT, LIMIT);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Catches a worker that spins through long gaps for ever, or that never begins again.
    #[test]
    fn learns_from_the_gaps() {
        let (most, long) = (Duration::from_micros(50), Duration::from_millis(1));
        let mut window = Window::new(most);
        assert_eq!(window.spin(), most);
        for _ in 0..10 {
            window.called_after(long);
        }
        assert_eq!(window.spin(), Duration::ZERO);
        for _ in 0..2 {
            window.called_after(most);
        }
        assert_eq!(window.spin(), most);
        // A worker that is told that more loops follow tries again.
        for _ in 0..10 {
            window.called_after(long);
        }
        window.more_follow();
        assert_eq!(window.spin(), 4 * most);
        assert_eq!(window.spin(), most);
        // One long gap among short ones changes nothing.
        window.called_after(most);
        window.called_after(long);
        assert_eq!(window.spin(), most);
    }
}
