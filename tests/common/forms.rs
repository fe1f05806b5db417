//! `FORMS`: everything that a loop's body can be.

use std::convert::Infallible;
use std::ops::Range;

use conga::{ParallelFor, Scratch};

/// What a body does with each index.
type Visit<'a> = &'a (dyn Fn(usize) + Sync);

/// A way to run something for each index of a loop.
pub struct Form {
    pub name: &'static str,
    /// Runs the loop, which goes over the range, with a body that visits each index it gets.
    pub run: fn(ParallelFor<'_>, Range<usize>, Visit<'_>),
}

const fn form(name: &'static str, run: fn(ParallelFor<'_>, Range<usize>, Visit<'_>)) -> Form {
    Form { name, run }
}

/// Every form of a body.
pub const FORMS: [Form; 17] = [
    form("for_each", |l, _, visit| l.for_each(visit)),
    form("for_each_range", |l, _, visit| {
        l.for_each_range(|range| range.for_each(visit))
    }),
    form("for_each_lane", |l, _, visit| {
        l.for_each_lane(|_, i| visit(i))
    }),
    form("for_each_lane_range", |l, _, visit| {
        l.for_each_lane_range(|_, range| range.for_each(visit))
    }),
    form("for_each_with", for_each_with),
    form("for_each_range_with", for_each_range_with),
    form("try_for_each", |l, _, visit| {
        l.try_for_each(|i| {
            visit(i);
            Ok::<_, Infallible>(())
        })
        .unwrap()
    }),
    form("try_for_each_range", |l, _, visit| {
        l.try_for_each_range(|range| {
            range.for_each(visit);
            Ok::<_, Infallible>(())
        })
        .unwrap()
    }),
    form("try_for_each_with", try_for_each_with),
    form("for_each_mut", for_each_mut),
    form("for_each_slice_mut", for_each_slice_mut),
    form("for_each_chunk_mut", for_each_chunk_mut),
    form("for_each_part_mut", for_each_part_mut),
    form("partitions", |l, range, visit| {
        l.partitions(&ragged(range)).for_each(visit)
    }),
    form("partitions, by range", |l, range, visit| {
        l.partitions(&ragged(range))
            .for_each_range(|range| range.for_each(visit))
    }),
    form("cumulative_cost", |l, _, visit| {
        l.cumulative_cost(|i| (i as u64).pow(2)).for_each(visit)
    }),
    form("map_reduce", |l, range, visit| {
        let visited = l.map_reduce(
            |indices| {
                indices.clone().for_each(visit);
                indices.len()
            },
            |a, b| a + b,
        );
        assert_eq!(visited, range.len());
    }),
];

fn for_each_with(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut scratch = Scratch::new(|| 0);
    l.for_each_with(&mut scratch, |visited, i| {
        visit(i);
        *visited += 1;
    });
    assert_eq!(scratch.iter_mut().map(|n| *n).sum::<usize>(), range.len());
}

fn for_each_range_with(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut scratch = Scratch::new(|| 0);
    l.for_each_range_with(&mut scratch, |visited, indices| {
        *visited += indices.len();
        indices.for_each(visit);
    });
    assert_eq!(scratch.iter_mut().map(|n| *n).sum::<usize>(), range.len());
}

fn try_for_each_with(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut scratch = Scratch::new(|| 0);
    l.try_for_each_with(&mut scratch, |visited, i| {
        visit(i);
        *visited += 1;
        Ok::<_, Infallible>(())
    })
    .unwrap();
    assert_eq!(scratch.iter_mut().map(|n| *n).sum::<usize>(), range.len());
}

/// Each element of the range, and no other, is written through the reference that belongs to its index.
fn for_each_mut(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut x: Vec<_> = (0..range.end + 3).collect();
    l.for_each_mut(&mut x, |i, x| {
        visit(i);
        assert_eq!(*x, i);
        *x = usize::MAX;
    });
    for (i, x) in x.into_iter().enumerate() {
        assert_eq!(x, if range.contains(&i) { usize::MAX } else { i });
    }
}

/// Slices that start where they are said to.
fn for_each_slice_mut(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut x: Vec<_> = (0..range.end + 3).collect();
    l.for_each_slice_mut(&mut x, |start, slice| {
        for (i, x) in (start..).zip(slice) {
            visit(i);
            assert_eq!(*x, i);
            *x = usize::MAX;
        }
    });
    for (i, x) in x.into_iter().enumerate() {
        assert_eq!(x, if range.contains(&i) { usize::MAX } else { i });
    }
}

/// Chunks of three elements, the last one of two.
fn for_each_chunk_mut(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut x: Vec<_> = (0..(3 * range.end).saturating_sub(1)).collect();
    let last = range.end.saturating_sub(1);
    l.for_each_chunk_mut(&mut x, 3, |c, chunk| {
        visit(c);
        assert_eq!((chunk[0], chunk.len()), (3 * c, 3 - usize::from(c == last)));
        chunk.fill(usize::MAX);
    });
    for (i, x) in x.into_iter().enumerate() {
        assert_eq!(
            x,
            if range.contains(&(i / 3)) {
                usize::MAX
            } else {
                i
            }
        );
    }
}

/// Parts of none to four elements.
fn for_each_part_mut(l: ParallelFor<'_>, range: Range<usize>, visit: Visit<'_>) {
    let mut bounds = vec![1];
    bounds.extend((0..range.end).scan(1, |end, p| {
        *end += p % 5;
        Some(*end)
    }));
    let mut x: Vec<_> = (0..bounds[range.end] + 2).collect();
    l.for_each_part_mut(&mut x, &bounds, |p, part| {
        visit(p);
        assert_eq!(part.len(), p % 5);
        assert!(part.iter().copied().eq(bounds[p]..bounds[p + 1]));
        part.fill(usize::MAX);
    });
    let written = bounds[range.start.min(range.end)]..bounds[range.end];
    for (i, x) in x.into_iter().enumerate() {
        assert_eq!(x, if written.contains(&i) { usize::MAX } else { i });
    }
}

/// Bounds of parts of nought to a dozen indices.
fn ragged(range: Range<usize>) -> Vec<usize> {
    let mut bounds = vec![range.start];
    let mut size = 0;
    while bounds[bounds.len() - 1] < range.end {
        bounds.push((bounds[bounds.len() - 1] + size).min(range.end));
        size = (size + 5) % 13;
    }
    bounds
}
