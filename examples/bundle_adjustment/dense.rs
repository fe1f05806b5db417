//! The reduced camera matrix as a dense matrix, factored by Cholesky's method.

use nalgebra::{Cholesky, DMatrix, DVector};

use crate::camera::CAMERA_SIZE;
use crate::elimination::{middle, Elimination, System, PACKED_CAMERA};
use crate::jacobian::FBlock;
use crate::spd;
use crate::structure::Structure;

const BLOCK: usize = CAMERA_SIZE * CAMERA_SIZE;

/// Pairs of observations whose contributions to one block are summed in one piece: a constant,
/// since it decides the order of additions.
const SEGMENT: usize = 256;

/// More memory than this is refused: a problem with so many cameras is not one for a dense
/// factorisation.
const MAX_BYTES: u128 = 2 << 30;

/// Two places of one point: a contribution to the block of their cameras.
#[derive(Clone, Copy)]
struct Pair {
    row: u32,
    column: u32,
}

/// The reduced camera matrix would need too much memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooLarge {
    pub cameras: usize,
    pub bytes: u128,
}

/// The Schur complement, and who contributes to which of its blocks on and below the diagonal.
pub struct DenseSchur {
    /// Sorted by block.
    pairs: Vec<Pair>,
    /// Segment `s` is made of the pairs `segment_bounds[s]..segment_bounds[s + 1]`, which are
    /// all of one block.
    segment_bounds: Vec<usize>,
    /// Sorted by column, then row. Diagonal blocks are among them only where some camera sees a
    /// point twice.
    blocks: Vec<Block>,
    /// The blocks of column `c` are `column_bounds[c]..column_bounds[c + 1]`.
    column_bounds: Vec<usize>,
    partials: Vec<[f64; BLOCK]>,
    diagonal_blocks: Vec<[f64; PACKED_CAMERA]>,
    right_hand_side: Vec<[f64; CAMERA_SIZE]>,
}

/// A block that is not zero, or what is to be added to one on the diagonal: the negated sum of
/// its segments.
struct Block {
    row: usize,
    segments: std::ops::Range<usize>,
}

impl DenseSchur {
    pub fn new(structure: &Structure) -> Result<Self, TooLarge> {
        check_size(structure)?;
        let mut pairs = Vec::new();
        for bounds in structure.point_bounds.windows(2) {
            for a in bounds[0]..bounds[1] {
                // Within a point places are sorted by camera.
                for b in bounds[0]..=a {
                    let pair = |row: usize, column: usize| Pair {
                        row: row as u32,
                        column: column as u32,
                    };
                    if a != b {
                        pairs.push(pair(a, b));
                        // Two observations of a point by one camera: the block is on the
                        // diagonal and gets the transposed contribution too.
                        if structure.camera_at(a) == structure.camera_at(b) {
                            pairs.push(pair(b, a));
                        }
                    }
                }
            }
        }
        let cameras_of = |pair: &Pair| {
            let camera = |place: u32| structure.camera_at(place as usize) as usize;
            (camera(pair.column), camera(pair.row))
        };
        // Stable, so that the order within a block is that of the points.
        pairs.sort_by_key(cameras_of);

        let mut segment_bounds = vec![0];
        let mut blocks: Vec<Block> = Vec::new();
        let mut column_bounds = vec![0];
        for group in pairs.chunk_by(|a, b| cameras_of(a) == cameras_of(b)) {
            let (column, row) = cameras_of(&group[0]);
            while column_bounds.len() <= column {
                column_bounds.push(blocks.len());
            }
            let first = segment_bounds.len() - 1;
            for segment in group.chunks(SEGMENT) {
                segment_bounds.push(segment_bounds[segment_bounds.len() - 1] + segment.len());
            }
            let segments = first..segment_bounds.len() - 1;
            blocks.push(Block { row, segments });
        }
        let cameras = structure.num_cameras();
        column_bounds.resize(cameras + 1, blocks.len());

        Ok(DenseSchur {
            partials: vec![[0.0; BLOCK]; segment_bounds.len() - 1],
            pairs,
            segment_bounds,
            blocks,
            column_bounds,
            diagonal_blocks: vec![[0.0; PACKED_CAMERA]; cameras],
            right_hand_side: vec![[0.0; CAMERA_SIZE]; cameras],
        })
    }

    /// Solves the reduced camera system for `x`. `None` if it is not positive definite.
    pub fn solve(
        &mut self,
        system: &System,
        elimination: &mut Elimination,
        x: &mut [[f64; CAMERA_SIZE]],
    ) -> Option<()> {
        elimination.right_hand_side(system, &mut self.right_hand_side);
        let matrix = self.form(system, elimination);
        let mut solution = DVector::from_column_slice(self.right_hand_side.as_flattened());
        Cholesky::new(matrix)?.solve_mut(&mut solution);
        x.as_flattened_mut().copy_from_slice(solution.as_slice());
        Some(())
    }

    /// The lower triangle of `S`; what is above the diagonal is unspecified.
    fn form(&mut self, system: &System, elimination: &mut Elimination) -> DMatrix<f64> {
        elimination.diagonal_blocks(system, &mut self.diagonal_blocks);
        self.sum_segments(system, elimination);

        let n = CAMERA_SIZE * self.diagonal_blocks.len();
        let mut matrix = DMatrix::zeros(n, n);
        let this = &*self;
        // Cameras that share points with many others have many blocks.
        let segments_until = |column: usize| {
            let blocks = &this.blocks[..this.column_bounds[column + 1]];
            blocks.last().map_or(0, |block| block.segments.end) as u64
        };
        system
            .loops
            .pool
            .parallel_for(0..self.diagonal_blocks.len())
            .cumulative_cost(segments_until)
            .for_each_chunk_mut(matrix.as_mut_slice(), CAMERA_SIZE * n, |column, chunk| {
                this.write_column(column, chunk, n);
            });
        matrix
    }

    /// `partials[s] = Σ Fᵢᵀ Eᵢ V⁻¹ Eⱼᵀ Fⱼ` over the pairs `(i, j)` of segment `s`.
    fn sum_segments(&mut self, system: &System, elimination: &Elimination) {
        let structure = system.loops.structure;
        let (e, f) = (&system.jacobian.e, &system.jacobian.f);
        let (pairs, bounds) = (&self.pairs, &self.segment_bounds);
        system
            .loops
            .pool
            .parallel_for(0..self.partials.len())
            .cumulative_cost(|segment| bounds[segment + 1] as u64)
            .for_each_mut(&mut self.partials, |segment, partial| {
                let mut sum = [0.0; BLOCK];
                for pair in &pairs[bounds[segment]..bounds[segment + 1]] {
                    let (row, column) = (pair.row as usize, pair.column as usize);
                    let point = structure.point_at[row] as usize;
                    let middle = middle(&e[row], &elimination.inverse_v[point], &e[column]);
                    let f = |place: usize| &f[structure.observation_at[place] as usize];
                    add_product(f(row), &middle, f(column), &mut sum);
                }
                *partial = sum;
            });
    }

    /// Writes the nine columns of a camera, one after the other, `n` elements each.
    fn write_column(&self, column: usize, chunk: &mut [f64], n: usize) {
        let diagonal = spd::unpack::<CAMERA_SIZE>(&self.diagonal_blocks[column]);
        let at = |row: usize, j: usize| j * n + row * CAMERA_SIZE;
        for (j, elements) in diagonal.iter().enumerate() {
            chunk[at(column, j)..][..CAMERA_SIZE].copy_from_slice(elements);
        }
        for block in &self.blocks[self.column_bounds[column]..self.column_bounds[column + 1]] {
            for partial in &self.partials[block.segments.clone()] {
                for (j, elements) in partial.chunks_exact(CAMERA_SIZE).enumerate() {
                    let target = &mut chunk[at(block.row, j)..][..CAMERA_SIZE];
                    for (target, element) in target.iter_mut().zip(elements) {
                        *target -= element;
                    }
                }
            }
        }
    }
}

/// Adds `fᵢᵀ · middle · fⱼ`, column by column.
fn add_product(fi: &FBlock, middle: &[[f64; 2]; 2], fj: &FBlock, sum: &mut [f64; BLOCK]) {
    for (j, column) in sum.chunks_exact_mut(CAMERA_SIZE).enumerate() {
        let u = middle[0][0] * fj[0][j] + middle[0][1] * fj[1][j];
        let v = middle[1][0] * fj[0][j] + middle[1][1] * fj[1][j];
        for ((sum, a), b) in column.iter_mut().zip(&fi[0]).zip(&fi[1]) {
            *sum += a * u + b * v;
        }
    }
}

fn check_size(structure: &Structure) -> Result<(), TooLarge> {
    let cameras = structure.num_cameras();
    let n = (CAMERA_SIZE * cameras) as u128;
    let pairs: u128 = structure
        .point_bounds
        .windows(2)
        .map(|bounds| (bounds[1] - bounds[0]) as u128)
        .map(|places| places * places.saturating_sub(1) / 2)
        .sum();
    // The sort takes half as much again as the pairs.
    let bytes = n * n * 8 + pairs * 3 / 2 * std::mem::size_of::<Pair>() as u128;
    if bytes > MAX_BYTES {
        return Err(TooLarge { cameras, bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    /// Catches an allocation of gigabytes for a problem that is none for this solver.
    #[test]
    fn too_many_cameras_are_refused() {
        let mut problem = synthetic::problem(2, 2);
        problem.cameras.resize(10_000, problem.cameras[0]);
        let cameras = problem.cameras.len();
        let error = DenseSchur::new(&Structure::new(&problem)).err();
        assert_eq!(error.map(|error| error.cameras), Some(cameras));
    }
}
