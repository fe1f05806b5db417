//! Which camera sees which point: the sparsity of the Jacobian, in two orders.

use crate::bal::Problem;
use crate::camera::Pixel;

/// A camera's observations are summed in pieces of this many. It has to be a constant, since it
/// decides in which order numbers are added, and so their last bits. 256 observations take some
/// microseconds: long enough to be worth taking, and short enough that a camera with thousands
/// of observations is shared by all lanes.
const SEGMENT: usize = 256;

/// The observations, each a pair of rows of the Jacobian, with one block in the columns of its
/// camera (F) and one in the columns of its point (E).
///
/// *Observations* are numbered by camera and, within a camera, by point. Their *places* are
/// numbered by point and, within a point, by camera. What is summed by camera lies in the order
/// of observations, what is summed by point in the order of places, so both sums run through
/// the memory from front to back.
pub struct Structure {
    /// By observation.
    pub camera_of: Vec<u32>,
    /// By observation.
    pub point_of: Vec<u32>,
    /// By observation.
    pub pixel_of: Vec<Pixel>,
    /// By observation; a permutation.
    pub place_of: Vec<u32>,
    /// By place: the inverse of `place_of`.
    pub observation_at: Vec<u32>,
    /// By place.
    pub point_at: Vec<u32>,
    /// Point `p` has the places `point_bounds[p]..point_bounds[p + 1]`.
    pub point_bounds: Vec<usize>,
    /// Segment `s` is made of the observations `segment_bounds[s]..segment_bounds[s + 1]`, which
    /// are all of one camera.
    pub segment_bounds: Vec<usize>,
    /// Camera `c` has the segments `camera_segments[c]..camera_segments[c + 1]`.
    pub camera_segments: Vec<usize>,
}

impl Structure {
    pub fn new(problem: &Problem) -> Self {
        let input = &problem.observations;
        let by_point = sort(problem.points.len(), 0..input.len(), |i| input[i].point).1;
        let (camera_bounds, order) = sort(problem.cameras.len(), by_point.into_iter(), |i| {
            input[i].camera
        });
        let (point_bounds, at) = sort(problem.points.len(), 0..order.len(), |o| {
            input[order[o]].point
        });
        let mut place_of = vec![0; order.len()];
        for (place, &o) in at.iter().enumerate() {
            place_of[o] = place as u32;
        }

        let mut segment_bounds = vec![0];
        let mut camera_segments = vec![0];
        for camera in camera_bounds.windows(2) {
            let ends = (camera[0]..camera[1]).skip(SEGMENT).step_by(SEGMENT);
            segment_bounds.extend(ends);
            if camera[0] < camera[1] {
                segment_bounds.push(camera[1]);
            }
            camera_segments.push(segment_bounds.len() - 1);
        }
        Structure {
            camera_of: order.iter().map(|&i| input[i].camera).collect(),
            point_of: order.iter().map(|&i| input[i].point).collect(),
            pixel_of: order.iter().map(|&i| input[i].pixel).collect(),
            place_of,
            observation_at: at.iter().map(|&o| o as u32).collect(),
            point_at: at.iter().map(|&o| input[order[o]].point).collect(),
            point_bounds,
            segment_bounds,
            camera_segments,
        }
    }

    pub fn num_observations(&self) -> usize {
        self.camera_of.len()
    }

    pub fn num_cameras(&self) -> usize {
        self.camera_segments.len() - 1
    }

    pub fn num_points(&self) -> usize {
        self.point_bounds.len() - 1
    }

    pub fn num_segments(&self) -> usize {
        self.segment_bounds.len() - 1
    }

    /// The camera of the observation at `place`.
    pub fn camera_at(&self, place: usize) -> u32 {
        self.camera_of[self.observation_at[place] as usize]
    }
}

/// Sorts `items` by key, keeping the order of equal ones. Keys are below `num_keys`. Returns
/// where each key's items start (and the last ones end), and the items.
fn sort(
    num_keys: usize,
    items: impl Iterator<Item = usize> + Clone,
    key: impl Fn(usize) -> u32,
) -> (Vec<usize>, Vec<usize>) {
    let mut bounds = vec![0; num_keys + 1];
    let mut count = 0;
    for item in items.clone() {
        bounds[key(item) as usize + 1] += 1;
        count += 1;
    }
    for k in 0..num_keys {
        bounds[k + 1] += bounds[k];
    }
    let mut next = bounds.clone();
    let mut sorted = vec![0; count];
    for item in items {
        let slot = &mut next[key(item) as usize];
        sorted[*slot] = item;
        *slot += 1;
    }
    (bounds, sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    /// Catches an order or an index that is not the inverse of its counterpart.
    #[test]
    fn both_orders_are_of_the_same_observations() {
        let problem = synthetic::problem(5, 40);
        let s = Structure::new(&problem);
        assert_eq!(s.num_observations(), problem.observations.len());
        let mut pairs = Vec::new();
        for o in 0..s.num_observations() {
            let place = s.place_of[o] as usize;
            assert_eq!(s.observation_at[place] as usize, o);
            let point = s.point_of[o];
            assert_eq!(s.point_at[place], point);
            assert_eq!(s.camera_at(place), s.camera_of[o]);
            let places = s.point_bounds[point as usize]..s.point_bounds[point as usize + 1];
            assert!(places.contains(&place));
            pairs.push((s.camera_of[o], point, s.pixel_of[o]));
        }
        assert!(pairs
            .windows(2)
            .all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1)));
        for given in &problem.observations {
            assert!(pairs.contains(&(given.camera, given.point, given.pixel)));
        }
    }

    /// Catches a segment that is empty, too long, or of two cameras.
    #[test]
    fn segments_cover_the_observations_of_each_camera() {
        // More points than a segment holds, and one camera that sees none of them.
        let mut problem = synthetic::problem(3, 700);
        problem
            .observations
            .retain(|observation| observation.camera != 1);
        let s = Structure::new(&problem);
        assert_eq!(s.segment_bounds.first(), Some(&0));
        assert_eq!(s.segment_bounds.last(), Some(&s.num_observations()));
        for camera in 0..3 {
            for segment in s.camera_segments[camera]..s.camera_segments[camera + 1] {
                let observations = s.segment_bounds[segment]..s.segment_bounds[segment + 1];
                assert!((1..=SEGMENT).contains(&observations.len()));
                for o in observations {
                    assert_eq!(s.camera_of[o] as usize, camera);
                }
            }
        }
        assert_eq!(s.camera_segments[1], s.camera_segments[2]);
        assert!(s.camera_segments[1] > 1);
    }
}
