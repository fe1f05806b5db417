//! The vector operations: elementwise ones equal the serial loop, reductions have the same bits for
//! every number of threads, every strategy, every run.

use std::ops::Add;
use std::panic::{catch_unwind, AssertUnwindSafe};

use conga::{vector, Blocks, Dispatch, ThreadPool};

const STRATEGIES: [Dispatch; 3] = [Dispatch::PerThread, Dispatch::Chained, Dispatch::Adaptive];
const LENGTHS: [usize; 11] = [0, 1, 15, 33, 1023, 1024, 1025, 2047, 2048, 2049, 100_000];

fn pool(threads: usize, dispatch: Dispatch) -> ThreadPool {
    ThreadPool::builder()
        .num_threads(threads)
        .dispatch(dispatch)
        .build()
        .unwrap()
}

/// Calls `check` with a pool of each size and strategy.
fn for_each_pool(
    threads: impl IntoIterator<Item = usize>,
    mut check: impl FnMut(&ThreadPool, &str),
) {
    for threads in threads {
        for dispatch in STRATEGIES {
            check(
                &pool(threads, dispatch),
                &format!("{threads} threads, {dispatch:?}"),
            );
        }
    }
}

/// Numbers without a pattern, in `-1.0..1.0` (splitmix64).
fn random(len: usize, seed: u64) -> Vec<f64> {
    (0..len as u64)
        .map(|i| {
            let mut z = (seed << 32 | i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        })
        .collect()
}

/// Numbers whose magnitudes differ by up to 20 powers of ten, so that every order of additions gives
/// other bits.
fn mixed_magnitudes(len: usize) -> Vec<f64> {
    random(len, 5)
        .into_iter()
        .enumerate()
        .map(|(i, x)| x * 10_f64.powi((i * 7 % 21) as i32 - 10))
        .collect()
}

/// Small whole numbers, of which sums are exact in any order.
fn whole_numbers(len: usize) -> Vec<f64> {
    (0..len).map(|i| (i * 37 % 101) as f64 - 49.0).collect()
}

/// `check(name, what writes z, the expectations)` for the operation of that name.
macro_rules! check {
    ($check:ident, $pool:expr, $operation:ident($($argument:expr),*), $($expected:expr),+) => {
        $check(
            stringify!($operation),
            &|z| {
                vector::$operation($pool, $($argument,)* z);
            },
            $(&$expected),+
        )
    };
}

macro_rules! elementwise_tests {
    ($real:ident, $test:ident) => {
        // Every elementwise operation, at lengths around the block size and in every setting, equals
        // the serial loop bit for bit. Catches elements that are skipped or handled twice, blocks of
        // the inputs that are not those of the output, arguments that are mixed up, fused arithmetic.
        #[test]
        fn $test() {
            let numbers = |len, seed| -> Vec<$real> {
                random(len, seed).into_iter().map(|x| x as $real).collect()
            };
            let (a, b) = (0.3 as $real, -1.7 as $real);
            for_each_pool([1, 2, 3, 4, 8, 16], |pool, setting| {
                for len in LENGTHS {
                    let (x, y, old) = (numbers(len, 1), numbers(len, 2), numbers(len, 3));
                    let check = |name: &str,
                                 operation: &dyn Fn(&mut [$real]),
                                 expected: &dyn Fn(usize) -> $real| {
                        let mut got = old.clone();
                        operation(&mut got);
                        for (i, got) in got.iter().enumerate() {
                            assert_eq!(
                                got.to_bits(),
                                expected(i).to_bits(),
                                "{name}, element {i} of {len}, {setting}"
                            );
                        }
                    };
                    let squares: Vec<_> = x.iter().map(|x| x * x).collect();
                    check!(check, pool, fill(a), |_| a);
                    check!(check, pool, copy(&x), |i| x[i]);
                    check!(check, pool, scale(a), |i| a * old[i]);
                    check!(check, pool, axpy(a, &x), |i| old[i] + a * x[i]);
                    check!(check, pool, axpby(a, &x, b, &y), |i| a * x[i] + b * y[i]);
                    check!(check, pool, axpby_assign(a, &x, b), |i| a * x[i]
                        + b * old[i]);
                    check!(check, pool, multiply(&x, &y), |i| x[i] * y[i]);
                    check!(check, pool, multiply_assign(&x), |i| x[i] * old[i]);
                    check!(check, pool, multiply_squared(&x, &y), |i| x[i]
                        * x[i]
                        * y[i]);
                    check!(check, pool, divide(&x, &y), |i| x[i] / y[i]);
                    check!(check, pool, divide_assign(&x), |i| old[i] / x[i]);
                    check!(check, pool, clamp(-0.5, 0.25), |i| old[i].clamp(-0.5, 0.25));
                    check!(check, pool, sqrt_divide(&squares, 0.5), |i| (squares[i]
                        / 0.5)
                        .sqrt());
                }
            });
        }
    };
}

elementwise_tests!(f64, elementwise_operations_equal_the_serial_loop_f64);
elementwise_tests!(f32, elementwise_operations_equal_the_serial_loop_f32);

/// Every reduction of a vector.
fn reductions<R: vector::Real>(pool: &ThreadPool, x: &[R], y: &[R]) -> [R; 5] {
    [
        vector::sum(pool, x),
        vector::dot(pool, x, y),
        vector::norm2(pool, x),
        vector::max(pool, x),
        vector::min(pool, x),
    ]
}

/// The sum in the order of the documentation: blocks of at least 1024, in each of them `LANES` running
/// results that are folded in halves, and the blocks from the left to the right.
fn documented_sum<T: Copy + Default + Add<Output = T>, const LANES: usize>(terms: &[T]) -> T {
    let blocks = Blocks::for_reduction(terms.len(), 1024);
    let block_sum = |b| {
        let mut lanes = [T::default(); LANES];
        for (i, &term) in terms[blocks.range(b)].iter().enumerate() {
            lanes[i % LANES] = lanes[i % LANES] + term;
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for i in 0..width {
                lanes[i] = lanes[i] + lanes[i + width];
            }
        }
        lanes[0]
    };
    (0..blocks.count()).map(block_sum).reduce(T::add).unwrap()
}

// Reductions of numbers that make every order of additions visible: the bits of one thread, in every
// setting and on repetition, and they are those of the documented order. Catches blocks that depend on
// the number of threads, partials that are combined as they come, and a kernel or a block size that
// was changed without a word about the bits.
#[test]
fn reductions_have_the_same_bits_everywhere() {
    for len in LENGTHS {
        let (x, y) = (mixed_magnitudes(len), random(len, 6));
        let narrow = |x: &[f64]| -> Vec<f32> { x.iter().map(|&x| x as f32).collect() };
        let (x32, y32) = (narrow(&x), narrow(&y));
        let bits = |pool: &ThreadPool| reductions(pool, &x, &y).map(f64::to_bits);
        let bits32 = |pool: &ThreadPool| reductions(pool, &x32, &y32).map(f32::to_bits);
        let one = ThreadPool::new(1).unwrap();
        let (expected, expected32) = (bits(&one), bits32(&one));
        let products: Vec<_> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        let squares: Vec<_> = x32.iter().map(|x| x * x).collect();
        let norm = documented_sum::<f32, 32>(&squares).sqrt();
        assert_eq!(expected[0], documented_sum::<f64, 16>(&x).to_bits());
        assert_eq!(expected[1], documented_sum::<f64, 16>(&products).to_bits());
        assert_eq!(expected32[2], norm.to_bits());
        for_each_pool([1, 2, 3, 4, 8, 16], |pool, setting| {
            for _ in 0..5 {
                assert_eq!(bits(pool), expected, "{len}, {setting}");
                assert_eq!(bits32(pool), expected32, "f32, {len}, {setting}");
            }
        });
    }
}

// Sums of whole numbers are exact in any order, so they equal the serial ones at every length: catches
// elements left out or added twice, above all those after the last whole group of running results, and
// a second slice that is not aligned with the first.
#[test]
fn reductions_take_each_element_once() {
    for_each_pool([1, 2, 4], |pool, setting| {
        for len in (0..200).chain(1000..1060).chain(2040..2060).chain(LENGTHS) {
            let (x, mut y) = (whole_numbers(len), whole_numbers(len));
            y.reverse();
            let total: f64 = x.iter().sum();
            let product: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            let squares: f64 = x.iter().map(|x| x * x).sum();
            assert_eq!(vector::sum(pool, &x), total, "{len}, {setting}");
            assert_eq!(vector::dot(pool, &x, &y), product, "{len}, {setting}");
            assert_eq!(vector::norm2(pool, &x), squares.sqrt(), "{len}, {setting}");
            if len <= 2060 {
                let x: Vec<_> = x.iter().map(|&x| x as f32).collect();
                let y: Vec<_> = y.iter().map(|&y| y as f32).collect();
                let squares = squares as f32;
                assert_eq!(vector::sum(pool, &x), total as f32, "f32, {len}, {setting}");
                assert_eq!(vector::dot(pool, &x, &y), product as f32, "f32, {len}");
                assert_eq!(vector::norm2(pool, &x), squares.sqrt(), "f32, {len}");
            }
        }
    });
}

// The largest and the smallest element are found wherever they are, in a vector of otherwise equal
// ones; a NaN anywhere is never passed over, infinities of both signs are not taken for one. Catches
// positions that are not looked at, a start value of zero, and the comparison that drops NaN.
#[test]
fn extremes_and_nan_are_found_wherever_they_are() {
    let pool = ThreadPool::new(2).unwrap();
    for len in [1, 7, 8, 9, 16, 35, 1025, 5000] {
        for at in (0..len).filter(|at| len <= 35 || at % 97 == 0 || at + 20 > len) {
            for sign in [1.0_f64, -1.0] {
                let mut x = vec![sign * 5.0; len];
                x[at] = sign * 6.0;
                let best = (vector::max(&pool, &x), vector::min(&pool, &x));
                let other = if len == 1 { x[0] } else { sign * 5.0 };
                let expected = (x[at].max(other), x[at].min(other));
                assert_eq!(best, expected, "{at} of {len}");
                for nan in [f64::NAN, -f64::NAN] {
                    x[at] = nan;
                    assert!(vector::max(&pool, &x).is_nan(), "{at} of {len}");
                    assert!(vector::min(&pool, &x).is_nan(), "{at} of {len}");
                }
            }
            let mut x = vec![1.0_f32; len];
            x[at] = f32::NEG_INFINITY;
            x[len - 1 - at] = f32::INFINITY;
            let least = x.iter().copied().fold(f32::INFINITY, f32::min);
            assert_eq!(vector::max(&pool, &x), f32::INFINITY);
            assert_eq!(vector::min(&pool, &x), least);
            x[at] = f32::NAN;
            assert!(vector::max(&pool, &x).is_nan() && vector::min(&pool, &x).is_nan());
        }
    }
}

// What reductions of nothing give.
#[test]
fn reductions_of_empty_vectors() {
    let pool = ThreadPool::new(2).unwrap();
    let empty: [f64; 0] = [];
    assert_eq!(vector::sum(&pool, &empty), 0.0);
    assert_eq!(vector::dot(&pool, &empty, &empty), 0.0);
    assert_eq!(vector::norm2(&pool, &empty), 0.0);
    assert_eq!(vector::max(&pool, &empty), f64::NEG_INFINITY);
    assert_eq!(vector::min(&pool, &empty), f64::INFINITY);
}

// The sum of 10^5 doubles of mixed magnitude, more than 2,000 times, on 1 to 16 threads and by every
// strategy, is one number, and near the exact one. Catches a combination in the order of arrival, which
// shows rarely, and running results that depend on where a block was cut.
#[test]
fn one_sum_in_two_thousand_runs() {
    let x = mixed_magnitudes(100_000);
    let expected = vector::sum(&ThreadPool::new(1).unwrap(), &x);
    // Neumaier's compensated sum is exact to the last bit or so here.
    let (mut exact, mut rest) = (0.0_f64, 0.0);
    for &x in &x {
        let next = exact + x;
        rest += if exact.abs() >= x.abs() {
            (exact - next) + x
        } else {
            (x - next) + exact
        };
        exact = next;
    }
    let magnitude: f64 = x.iter().map(|x| x.abs()).sum();
    assert!((expected - (exact + rest)).abs() <= 1e-14 * magnitude);
    let mut runs = 0;
    for_each_pool(1..=16, |pool, setting| {
        for _ in 0..42 {
            let sum = vector::sum(pool, &x);
            assert_eq!(sum.to_bits(), expected.to_bits(), "{setting}");
            runs += 1;
        }
    });
    assert!(runs >= 2000);
}

/// The message of the panic that `f` ends with.
fn panic_message(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("no panic");
    *payload.downcast::<String>().expect("a formatted message")
}

// Slices of different lengths are refused by a message that names the operation, both arguments and
// both lengths, before anything is written, whichever argument is the odd one. Catches a check that is
// left out, one that looks at a single input only, and names that are mixed up.
#[test]
fn wrong_lengths_panic_and_name_both() {
    let pool = ThreadPool::new(2).unwrap();
    let (short, long) = (vec![1.0; 3000], vec![1.0; 3001]);
    let check = |name: &str, operation: &dyn Fn(&mut [f64]), short_is: &&str, out: &&str| {
        let mut z = long.clone();
        let message = panic_message(|| operation(&mut z));
        for part in [
            format!("vector::{name}:"),
            format!("{short_is} has 3000 elements"),
            format!("{out} has 3001"),
        ] {
            assert!(message.contains(&part), "{part:?} is not in {message:?}");
        }
        assert_eq!(z, long, "{name} wrote something");
    };
    check!(check, &pool, copy(&short), "x", "y");
    check!(check, &pool, axpy(2.0, &short), "x", "y");
    check!(check, &pool, axpby(2.0, &short, 2.0, &long), "x", "z");
    check!(check, &pool, axpby(2.0, &long, 2.0, &short), "y", "z");
    check!(check, &pool, axpby_assign(2.0, &short, 2.0), "x", "y");
    check!(check, &pool, multiply(&short, &long), "x", "z");
    check!(check, &pool, multiply(&long, &short), "y", "z");
    check!(check, &pool, multiply_assign(&short), "x", "y");
    check!(check, &pool, multiply_squared(&short, &long), "d", "y");
    check!(check, &pool, multiply_squared(&long, &short), "x", "y");
    check!(check, &pool, divide(&short, &long), "x", "z");
    check!(check, &pool, divide(&long, &short), "y", "z");
    check!(check, &pool, divide_assign(&short), "x", "y");
    check!(check, &pool, sqrt_divide(&short, 0.5), "x", "y");
    check!(check, &pool, dot(&short), "x", "y");
}

// Bounds of a clamp that exclude each other are refused, and NaN stays NaN where the bounds are right.
#[test]
fn clamp_bounds_and_nan() {
    let pool = ThreadPool::new(2).unwrap();
    for (low, high) in [(1.0, 0.5), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        let message = panic_message(|| vector::clamp(&pool, low, high, &mut [0.7]));
        assert!(message.contains("vector::clamp: low is"), "{message:?}");
    }
    let mut x = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY];
    vector::clamp(&pool, -1.0, 2.0, &mut x);
    assert!(x[0].is_nan());
    assert_eq!(x[1..], [-1.0, 2.0]);
}

// Ceres's ParallelAssign.D2MulX: y = D^2 * x over 2^20 doubles, written to a vector that is not
// aligned, on 1 to 8 threads, within a relative 1e-16 of the squared norm. By the vector operation, and
// by a loop over a mutable slice.
#[test]
fn parallel_assign_d2_mul_x() {
    let n = 1 << 20;
    let (d, x) = (random(n, 7), random(n, 8));
    let expected: Vec<_> = d.iter().zip(&x).map(|(d, x)| d * d * x).collect();
    let norm: f64 = expected.iter().map(|y| y * y).sum();
    let mut memory = vec![0.0; n + 2];
    let aligned_here = usize::from(memory.as_ptr().align_offset(64) % 2 == 0);
    let y = &mut memory[aligned_here..aligned_here + n];
    for threads in 1..=8 {
        let pool = ThreadPool::new(threads).unwrap();
        let check = |y: &[f64]| {
            let error: f64 = y.iter().zip(&expected).map(|(y, e)| (y - e).powi(2)).sum();
            assert!(error <= 1e-16 * norm, "{threads} threads");
        };
        vector::fill(&pool, f64::NAN, y);
        vector::multiply_squared(&pool, &d, &x, y);
        check(y);
        vector::fill(&pool, f64::NAN, y);
        pool.for_each_mut(y, |i, y| *y = d[i].powi(2) * x[i]);
        check(y);
    }
}

// Ceres's ParallelAssign.SetZero: 2^20 doubles become zero on 1 to 8 threads, and those beside them
// stay. Catches a block that is left out or reaches too far.
#[test]
fn parallel_assign_set_zero() {
    let n = 1 << 20;
    for threads in 1..=8 {
        let pool = ThreadPool::new(threads).unwrap();
        let mut memory = vec![1.0; n + 2];
        vector::fill(&pool, 0.0, &mut memory[1..=n]);
        assert!(memory[1..=n].iter().all(|&x| x == 0.0), "{threads} threads");
        assert_eq!((memory[0], memory[n + 1]), (1.0, 1.0), "{threads} threads");
        memory.fill(1.0);
        pool.for_each_mut(&mut memory[1..=n], |_, x| *x = 0.0);
        assert!(memory[1..=n].iter().all(|&x| x == 0.0), "{threads} threads");
    }
}
