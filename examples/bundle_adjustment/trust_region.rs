//! The trust region: how far the quadratic model is believed.

const INITIAL_RADIUS: f64 = 1e4;
const MAX_RADIUS: f64 = 1e16;
const MIN_RADIUS: f64 = 1e-32;
/// A step is taken if the cost falls by this fraction of what the model promised.
const MIN_RATIO: f64 = 1e-3;

/// The radius, with the rules and constants of Ceres Solver's Levenberg-Marquardt strategy.
#[derive(Clone, Copy, Debug)]
pub struct TrustRegion {
    radius: f64,
    /// What the radius is divided by if the next step fails.
    divisor: f64,
}

impl TrustRegion {
    pub fn new() -> Self {
        TrustRegion {
            radius: INITIAL_RADIUS,
            divisor: 2.0,
        }
    }

    pub fn radius(&self) -> f64 {
        self.radius
    }

    pub fn is_exhausted(&self) -> bool {
        self.radius < MIN_RADIUS
    }

    /// Whether a step is to be taken that changed the cost by `ratio` times what the model
    /// promised. Adapts the radius: it grows up to threefold after a good step, and shrinks
    /// faster with each failure after another.
    pub fn accepts(&mut self, ratio: f64) -> bool {
        // A ratio that is NaN is a failure too.
        let accepted = ratio > MIN_RATIO;
        if accepted {
            let shrinkage = 1.0 - (2.0 * ratio - 1.0).powi(3);
            self.radius = (self.radius / shrinkage.max(1.0 / 3.0)).min(MAX_RADIUS);
            self.divisor = 2.0;
        } else {
            self.radius /= self.divisor;
            self.divisor *= 2.0;
        }
        accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a radius that moves the wrong way, and a growth without bounds.
    #[test]
    fn the_radius_follows_the_ratio() {
        let mut region = TrustRegion::new();
        assert!(region.accepts(1.0));
        assert!((region.radius() - 3e4).abs() < 1e-8);
        assert!(region.accepts(0.5));
        assert!((region.radius() - 3e4).abs() < 1e-8);
        assert!(region.accepts(0.25));
        assert!(region.radius() < 3e4);
        for _ in 0..100 {
            assert!(region.accepts(1.0));
        }
        assert_eq!(region.radius(), MAX_RADIUS);
    }

    /// Catches failures that do not shrink the radius faster and faster, and a NaN that is
    /// taken for a success.
    #[test]
    fn failures_exhaust_the_region() {
        let mut region = TrustRegion::new();
        for (ratio, radius) in [
            (0.0, 5000.0),
            (f64::NAN, 1250.0),
            (f64::NEG_INFINITY, 156.25),
        ] {
            assert!(!region.accepts(ratio));
            assert_eq!(region.radius(), radius);
        }
        assert!(region.accepts(0.5));
        assert!(!region.accepts(-1.0));
        assert_eq!(region.radius(), 78.125);
        let failures = (0..).take_while(|_| {
            region.accepts(0.0);
            !region.is_exhausted()
        });
        assert!(failures.count() < 20);
    }
}
