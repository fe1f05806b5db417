//! The Jacobian as blocks, and its products with vectors.

use crate::camera::{CAMERA_SIZE, POINT_SIZE};
use crate::loops::Loops;
use crate::parameters::Parameters;
use crate::structure::Structure;

/// The two rows of one observation in the columns of its camera.
pub type FBlock = [[f64; CAMERA_SIZE]; 2];
/// The two rows of one observation in the columns of its point.
pub type EBlock = [[f64; POINT_SIZE]; 2];
/// One number for each of the two rows of an observation.
pub type Row = [f64; 2];

/// `J = [E F]`: two rows for each observation, of which all but two blocks are zero.
pub struct Jacobian {
    /// By place.
    pub e: Vec<EBlock>,
    /// By observation.
    pub f: Vec<FBlock>,
}

impl Jacobian {
    pub fn new(structure: &Structure) -> Self {
        let n = structure.num_observations();
        Jacobian {
            e: vec![[[0.0; POINT_SIZE]; 2]; n],
            f: vec![[[0.0; CAMERA_SIZE]; 2]; n],
        }
    }

    /// `rows = F x`, by observation.
    pub fn right_f(&self, loops: &Loops, x: &[[f64; CAMERA_SIZE]], rows: &mut [Row]) {
        let camera_of = &loops.structure.camera_of;
        loops.pool.for_each_mut(rows, |o, row| {
            *row = right(&self.f[o], &x[camera_of[o] as usize]);
        });
    }

    /// `rows = E y`, by place.
    pub fn right_e(&self, loops: &Loops, y: &[[f64; POINT_SIZE]], rows: &mut [Row]) {
        let point_at = &loops.structure.point_at;
        loops.pool.for_each_mut(rows, |place, row| {
            *row = right(&self.e[place], &y[point_at[place] as usize]);
        });
    }

    /// `y = Eᵀ rows`, where `rows` is by observation.
    pub fn left_e(&self, loops: &Loops, rows: &[Row], y: &mut [[f64; POINT_SIZE]]) {
        let observation_at = &loops.structure.observation_at;
        loops.gather_points(y, |_, places| {
            let mut sum = [0.0; POINT_SIZE];
            for place in places {
                let row = rows[observation_at[place] as usize];
                add_left(&self.e[place], row, &mut sum);
            }
            sum
        });
    }

    /// `x = Fᵀ rows`, where `row(o)` is the row of observation `o`. `partials` has an element
    /// for each segment.
    pub fn left_f(
        &self,
        loops: &Loops,
        row: impl Fn(usize) -> Row + Sync,
        partials: &mut [[f64; CAMERA_SIZE]],
        x: &mut [[f64; CAMERA_SIZE]],
    ) {
        loops.gather_cameras(partials, x, |o, sum| add_left(&self.f[o], row(o), sum));
    }

    /// The squared norm of each column.
    pub fn squared_column_norms(
        &self,
        loops: &Loops,
        partials: &mut [[f64; CAMERA_SIZE]],
        norms: &mut Parameters,
    ) {
        loops.gather_points(&mut norms.points, |_, places| {
            let mut sum = [0.0; POINT_SIZE];
            for place in places {
                add_squares(&self.e[place], &mut sum);
            }
            sum
        });
        loops.gather_cameras(partials, &mut norms.cameras, |o, sum| {
            add_squares(&self.f[o], sum);
        });
    }

    /// Multiplies each column by its element of `scale`.
    pub fn scale_columns(&mut self, loops: &Loops, scale: &Parameters) {
        let point_at = &loops.structure.point_at;
        loops.pool.for_each_mut(&mut self.e, |place, block| {
            scale_block(block, &scale.points[point_at[place] as usize]);
        });
        let camera_of = &loops.structure.camera_of;
        loops.pool.for_each_mut(&mut self.f, |o, block| {
            scale_block(block, &scale.cameras[camera_of[o] as usize]);
        });
    }
}

fn right<const N: usize>(block: &[[f64; N]; 2], x: &[f64; N]) -> Row {
    let mut row = [0.0; 2];
    for ((a, b), x) in block[0].iter().zip(&block[1]).zip(x) {
        row[0] += a * x;
        row[1] += b * x;
    }
    row
}

fn add_left<const N: usize>(block: &[[f64; N]; 2], row: Row, sum: &mut [f64; N]) {
    for ((sum, a), b) in sum.iter_mut().zip(&block[0]).zip(&block[1]) {
        *sum += a * row[0] + b * row[1];
    }
}

fn add_squares<const N: usize>(block: &[[f64; N]; 2], sum: &mut [f64; N]) {
    for ((sum, a), b) in sum.iter_mut().zip(&block[0]).zip(&block[1]) {
        *sum += a * a + b * b;
    }
}

fn scale_block<const N: usize>(block: &mut [[f64; N]; 2], scale: &[f64; N]) {
    for row in block {
        for (element, scale) in row.iter_mut().zip(scale) {
            *element *= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{self, Random};
    use conga::ThreadPool;

    /// Catches a product that is not the transpose of its counterpart: `(J x)ᵀ r = xᵀ (Jᵀ r)`
    /// for random `x` and `r`, and column norms and scales that are not of the same columns.
    #[test]
    fn left_and_right_products_are_of_the_same_matrix() {
        let structure = Structure::new(&synthetic::problem(4, 300));
        let pool = ThreadPool::new(3).unwrap();
        let loops = Loops::new(&pool, &structure);
        let mut random = Random::new(3);
        let mut jacobian = Jacobian::new(&structure);
        let mut fill = |x: &mut [f64]| x.iter_mut().for_each(|x| *x = random.next());
        fill(jacobian.e.as_flattened_mut().as_flattened_mut());
        fill(jacobian.f.as_flattened_mut().as_flattened_mut());
        let mut x = Parameters::zeros(&structure);
        fill(x.cameras.as_flattened_mut());
        fill(x.points.as_flattened_mut());
        let n = structure.num_observations();
        let mut rows = vec![[0.0; 2]; n];
        fill(rows.as_flattened_mut());

        let mut partials = vec![[0.0; CAMERA_SIZE]; structure.num_segments()];
        let mut left = Parameters::zeros(&structure);
        let (mut fx, mut ey) = (vec![[0.0; 2]; n], vec![[0.0; 2]; n]);
        let mut check = |jacobian: &Jacobian, x: &Parameters| {
            jacobian.left_e(&loops, &rows, &mut left.points);
            jacobian.left_f(&loops, |o| rows[o], &mut partials, &mut left.cameras);
            jacobian.right_f(&loops, &x.cameras, &mut fx);
            jacobian.right_e(&loops, &x.points, &mut ey);
            let mut product = 0.0;
            for (o, row) in rows.iter().enumerate() {
                let ey = ey[structure.place_of[o] as usize];
                product += row[0] * (fx[o][0] + ey[0]) + row[1] * (fx[o][1] + ey[1]);
            }
            let expected = left.dot(&pool, x);
            assert!((product - expected).abs() < 1e-10, "{product} {expected}");
            product
        };
        let before = check(&jacobian, &x);

        // Scaled to unit columns, and the vector scaled the other way, the product is the same.
        let mut norms = Parameters::zeros(&structure);
        let mut partials = vec![[0.0; CAMERA_SIZE]; structure.num_segments()];
        jacobian.squared_column_norms(&loops, &mut partials, &mut norms);
        let mut inverse = norms.clone();
        for (scale, x) in inverse.flat_mut().zip(x.flat_mut()) {
            for (scale, x) in scale.iter_mut().zip(x) {
                *x *= scale.sqrt();
                *scale = 1.0 / scale.sqrt();
            }
        }
        jacobian.scale_columns(&loops, &inverse);
        assert!((check(&jacobian, &x) - before).abs() < 1e-10);
        jacobian.squared_column_norms(&loops, &mut partials, &mut norms);
        for norm in norms.flat_mut().flatten() {
            assert!((*norm - 1.0).abs() < 1e-12);
        }
    }
}
