//! Automatic derivatives: dual numbers ("jets"), and the trait through which the
//! camera model is written once for plain numbers and for jets.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The arithmetic that the camera model needs.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A number that depends on no variable.
    fn constant(value: f64) -> Self;
    /// The number without its derivatives.
    fn value(self) -> f64;
    fn sqrt(self) -> Self;
    fn sin_cos(self) -> (Self, Self);
}

impl Real for f64 {
    fn constant(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    fn sin_cos(self) -> (Self, Self) {
        f64::sin_cos(self)
    }
}

/// A value with its derivatives by `N` variables: `value + Σ derivatives[i]·εᵢ`, where any
/// product `εᵢ·εⱼ` is 0.
///
/// The derivatives are one array and each operation is one loop of fixed length over it,
/// which the compiler turns into vector instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jet<const N: usize> {
    pub value: f64,
    pub derivatives: [f64; N],
}

impl<const N: usize> Jet<N> {
    /// The variable number `index` at `value`. Panics unless `index < N`.
    pub fn variable(value: f64, index: usize) -> Self {
        let mut jet = Self::constant(value);
        jet.derivatives[index] = 1.0;
        jet
    }

    pub fn is_finite(&self) -> bool {
        // One infinity or NaN anywhere makes this sum of zeros a NaN.
        let zero = self.derivatives.iter().fold(0.0, |sum, d| sum + d * 0.0);
        self.value.is_finite() && zero == 0.0
    }

    /// The chain rule for a function of one number: its `value` and its `slope` there.
    #[inline(always)]
    fn chain(self, value: f64, slope: f64) -> Self {
        Jet {
            value,
            derivatives: std::array::from_fn(|i| self.derivatives[i] * slope),
        }
    }

    /// The chain rule for a function of two numbers: its `value` and its slope by each.
    #[inline(always)]
    fn chain2(self, other: Self, value: f64, slope: f64, slope_of_other: f64) -> Self {
        Jet {
            value,
            derivatives: std::array::from_fn(|i| {
                self.derivatives[i] * slope + other.derivatives[i] * slope_of_other
            }),
        }
    }
}

impl<const N: usize> Real for Jet<N> {
    #[inline(always)]
    fn constant(value: f64) -> Self {
        Jet {
            value,
            derivatives: [0.0; N],
        }
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.value
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, 0.5 / root)
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
}

impl<const N: usize> Add for Jet<N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Jet {
            value: self.value + other.value,
            derivatives: std::array::from_fn(|i| self.derivatives[i] + other.derivatives[i]),
        }
    }
}

impl<const N: usize> Sub for Jet<N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Jet {
            value: self.value - other.value,
            derivatives: std::array::from_fn(|i| self.derivatives[i] - other.derivatives[i]),
        }
    }
}

impl<const N: usize> Mul for Jet<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.chain2(other, self.value * other.value, other.value, self.value)
    }
}

impl<const N: usize> Div for Jet<N> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        // Not multiplied by the inverse, which would round otherwise than plain numbers do.
        let value = self.value / other.value;
        let inverse = 1.0 / other.value;
        self.chain2(other, value, inverse, -value * inverse)
    }
}

impl<const N: usize> Neg for Jet<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of `f` by each of its two variables.
    fn differences(f: impl Fn(f64, f64) -> f64, x: f64, y: f64) -> [f64; 2] {
        let h = 1e-6;
        [
            (f(x + h, y) - f(x - h, y)) / (2.0 * h),
            (f(x, y + h) - f(x, y - h)) / (2.0 * h),
        ]
    }

    fn check(jet: impl Fn(Jet<2>, Jet<2>) -> Jet<2>, plain: impl Fn(f64, f64) -> f64) {
        for (x, y) in [(0.7, 1.9), (-1.3, 0.4), (2.5, -3.1)] {
            let result = jet(Jet::variable(x, 0), Jet::variable(y, 1));
            assert!((result.value - plain(x, y)).abs() <= 1e-14 * (1.0 + plain(x, y).abs()));
            for (exact, approximate) in result.derivatives.iter().zip(differences(&plain, x, y)) {
                let error = (exact - approximate).abs();
                assert!(error < 1e-7 * (1.0 + exact.abs()), "{exact} {approximate}");
            }
        }
    }

    /// Catches a wrong sign or a forgotten term in any of the derivative rules.
    #[test]
    fn derivatives_agree_with_finite_differences() {
        check(|x, y| x + y, |x, y| x + y);
        check(|x, y| x - y, |x, y| x - y);
        check(|x, y| x * y, |x, y| x * y);
        check(|x, y| x / y, |x, y| x / y);
        check(|x, _| -x, |x, _| -x);
        check(|x, y| (x * x + y * y).sqrt(), |x, y| x.hypot(y));
        check(|x, y| (x * y).sin_cos().0, |x, y| (x * y).sin());
        check(|x, y| (x / y).sin_cos().1, |x, y| (x / y).cos());
    }

    /// Catches a test for finiteness that looks at the value only.
    #[test]
    fn a_jet_is_finite_only_if_all_of_it_is() {
        assert!(Jet::<3>::variable(2.0, 1).is_finite());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!Jet::<3>::constant(bad).is_finite());
            let mut jet = Jet::<3>::constant(1.0);
            jet.derivatives[2] = bad;
            assert!(!jet.is_finite());
        }
    }
}
