//! Elimination of the points: what both solvers of the reduced camera system share.
//!
//! A step of Levenberg-Marquardt solves `(JᵀJ + D²) s = Jᵀ r`. With `J = [E F]` that is
//!
//! ```text
//! (EᵀE + D_E²) y +          EᵀF x = Eᵀ r
//!          FᵀE y + (FᵀF + D_F²) x = Fᵀ r
//! ```
//!
//! `V = EᵀE + D_E²` has blocks of 3 × 3 on its diagonal and nothing else, so `y` is eliminated
//! cheaply. What is left is the reduced camera system `S x = Fᵀ(r − E V⁻¹ Eᵀ r)` with the Schur
//! complement `S = FᵀF + D_F² − FᵀE V⁻¹ EᵀF`.

use std::mem;

use crate::camera::{CAMERA_SIZE, POINT_SIZE};
use crate::jacobian::{EBlock, Jacobian, Row};
use crate::loops::Loops;
use crate::parameters::Parameters;
use crate::spd;
use crate::structure::Structure;

pub const PACKED_CAMERA: usize = spd::packed_size(CAMERA_SIZE);
const PACKED_POINT: usize = spd::packed_size(POINT_SIZE);

/// A linear system: Jacobian, right-hand side and damping of one step.
pub struct System<'a> {
    pub loops: &'a Loops<'a>,
    pub jacobian: &'a Jacobian,
    /// `r`, by observation.
    pub residuals: &'a [Row],
    /// The diagonal of `D`.
    pub damping: &'a Parameters,
}

/// `V⁻¹`, and the room for what the products with it pass through.
pub struct Elimination {
    pub inverse_v: Vec<[[f64; POINT_SIZE]; POINT_SIZE]>,
    /// `Fx`, by observation.
    fx: Vec<Row>,
    /// `Ey`, by place.
    ey: Vec<Row>,
    left: Vec<[f64; POINT_SIZE]>,
    solved: Vec<[f64; POINT_SIZE]>,
    partials: Vec<[f64; CAMERA_SIZE]>,
    block_partials: Vec<[f64; PACKED_CAMERA]>,
}

impl Elimination {
    pub fn new(structure: &Structure) -> Self {
        let (rows, points) = (structure.num_observations(), structure.num_points());
        let segments = structure.num_segments();
        Elimination {
            inverse_v: vec![[[0.0; POINT_SIZE]; POINT_SIZE]; points],
            fx: vec![[0.0; 2]; rows],
            ey: vec![[0.0; 2]; rows],
            left: vec![[0.0; POINT_SIZE]; points],
            solved: vec![[0.0; POINT_SIZE]; points],
            partials: vec![[0.0; CAMERA_SIZE]; segments],
            block_partials: vec![[0.0; PACKED_CAMERA]; segments],
        }
    }

    /// Computes `V⁻¹`. Must come first whenever the system has changed.
    pub fn invert_v(&mut self, system: &System) {
        let e = &system.jacobian.e;
        let damping = &system.damping.points;
        system
            .loops
            .gather_points(&mut self.inverse_v, |p, places| {
                let mut packed = [0.0; PACKED_POINT];
                for place in places {
                    let identity = [[1.0, 0.0], [0.0, 1.0]];
                    add_packed(&e[place], &identity, &mut packed);
                }
                let mut v = spd::unpack::<POINT_SIZE>(&packed);
                for (i, d) in damping[p].iter().enumerate() {
                    v[i][i] += d * d;
                }
                spd::invert(&v)
            });
    }

    /// `b = Fᵀ(r − E V⁻¹ Eᵀ r)`.
    pub fn right_hand_side(&mut self, system: &System, b: &mut [[f64; CAMERA_SIZE]]) {
        self.left_without_points(system, system.residuals, b);
    }

    /// `out = (FᵀF − FᵀE V⁻¹ EᵀF) x`.
    pub fn multiply(
        &mut self,
        system: &System,
        x: &[[f64; CAMERA_SIZE]],
        out: &mut [[f64; CAMERA_SIZE]],
    ) {
        let mut fx = mem::take(&mut self.fx);
        system.jacobian.right_f(system.loops, x, &mut fx);
        self.left_without_points(system, &fx, out);
        self.fx = fx;
    }

    /// `y = V⁻¹ Eᵀ (r − F x)`.
    pub fn back_substitute(
        &mut self,
        system: &System,
        x: &[[f64; CAMERA_SIZE]],
        y: &mut [[f64; POINT_SIZE]],
    ) {
        let System {
            loops, jacobian, ..
        } = system;
        jacobian.right_f(loops, x, &mut self.fx);
        let residuals = system.residuals;
        loops.pool.for_each_mut(&mut self.fx, |o, row| {
            *row = subtract(residuals[o], *row);
        });
        jacobian.left_e(loops, &self.fx, &mut self.left);
        solve_v(loops, &self.inverse_v, &self.left, y);
    }

    /// `out = Fᵀ(I − E V⁻¹ Eᵀ) rows`, where `rows` is by observation.
    fn left_without_points(
        &mut self,
        system: &System,
        rows: &[Row],
        out: &mut [[f64; CAMERA_SIZE]],
    ) {
        let System {
            loops, jacobian, ..
        } = system;
        jacobian.left_e(loops, rows, &mut self.left);
        solve_v(loops, &self.inverse_v, &self.left, &mut self.solved);
        jacobian.right_e(loops, &self.solved, &mut self.ey);
        let (ey, place_of) = (&self.ey, &loops.structure.place_of);
        let row = |o: usize| subtract(rows[o], ey[place_of[o] as usize]);
        jacobian.left_f(loops, row, &mut self.partials, out);
    }

    /// The blocks of `FᵀF + D_F² − Σ Fₒᵀ Eₒ V⁻¹ Eₒᵀ Fₒ` on the diagonal, packed, where the sum is
    /// over single observations `o`. They are those of the Schur complement, unless a camera
    /// has several observations of one point; and they are positive definite in any case.
    pub fn diagonal_blocks(&mut self, system: &System, blocks: &mut [[f64; PACKED_CAMERA]]) {
        let structure = system.loops.structure;
        let Jacobian { e, f } = system.jacobian;
        let inverse_v = &self.inverse_v;
        system
            .loops
            .gather_cameras(&mut self.block_partials, blocks, |o, sum| {
                let e = &e[structure.place_of[o] as usize];
                let [[a, b], [c, d]] = middle(e, &inverse_v[structure.point_of[o] as usize], e);
                add_packed(&f[o], &[[1.0 - a, -b], [-c, 1.0 - d]], sum);
            });
        let damping = &system.damping.cameras;
        system.loops.pool.for_each_mut(blocks, |camera, block| {
            for (i, d) in damping[camera].iter().enumerate() {
                block[spd::packed_size(i + 1) - 1] += d * d;
            }
        });
    }
}

/// `solved = V⁻¹ left`.
fn solve_v(
    loops: &Loops,
    inverse_v: &[[[f64; POINT_SIZE]; POINT_SIZE]],
    left: &[[f64; POINT_SIZE]],
    solved: &mut [[f64; POINT_SIZE]],
) {
    loops.pool.for_each_mut(solved, |p, solved| {
        *solved = spd::multiply(&inverse_v[p], &left[p]);
    });
}

/// `a · V⁻¹ · bᵀ` of two blocks of one point.
pub fn middle(
    a: &EBlock,
    inverse_v: &[[f64; POINT_SIZE]; POINT_SIZE],
    b: &EBlock,
) -> [[f64; 2]; 2] {
    let solved = [
        spd::multiply(inverse_v, &b[0]),
        spd::multiply(inverse_v, &b[1]),
    ];
    let dot =
        |a: &[f64; POINT_SIZE], b: &[f64; POINT_SIZE]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    std::array::from_fn(|i| std::array::from_fn(|j| dot(&a[i], &solved[j])))
}

/// Adds `blockᵀ · weight · block`, packed, for a symmetric `weight`.
fn add_packed<const N: usize>(block: &[[f64; N]; 2], weight: &[[f64; 2]; 2], packed: &mut [f64]) {
    let [top, bottom] = block;
    let mut rest = packed;
    for i in 0..N {
        let u = weight[0][0] * top[i] + weight[1][0] * bottom[i];
        let v = weight[0][1] * top[i] + weight[1][1] * bottom[i];
        let (row, below) = rest.split_at_mut(i + 1);
        for ((sum, a), b) in row.iter_mut().zip(top).zip(bottom) {
            *sum += u * a + v * b;
        }
        rest = below;
    }
}

fn subtract(a: Row, b: Row) -> Row {
    [a[0] - b[0], a[1] - b[1]]
}
