//! Problems in the text format of "Bundle Adjustment in the Large" (BAL).
//!
//! A file is a sequence of numbers separated by white space: how many cameras, points and
//! observations; then `camera point x y` for each observation; then nine numbers for each
//! camera and three for each point. It may be compressed with gzip.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;

use flate2::bufread::MultiGzDecoder;

use crate::camera::{CameraParameters, Pixel, Point, CAMERA_SIZE, POINT_SIZE};
use crate::problem_error::{Field, ProblemError, Reason, Word};
use crate::tokens::Tokens;

const BUILT_IN_NAME: &str = "problem-16-22106-pre.txt";
/// Part of the program, so that it is found from any directory.
const BUILT_IN: &[u8] = include_bytes!("../data/problem-16-22106-pre.txt.gz");

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What a count of the first line makes room for before anything else is read. A count is only
/// believed as far as the file goes on.
const MAX_RESERVED: usize = 1 << 16;

/// A point seen by a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    pub camera: u32,
    pub point: u32,
    pub pixel: Pixel,
}

/// A bundle adjustment problem. At least one camera, one point and one observation; the
/// observations' indices are in range, and all numbers are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub name: String,
    pub cameras: Vec<CameraParameters>,
    pub points: Vec<Point>,
    pub observations: Vec<Observation>,
}

impl Problem {
    /// The problem that comes with this example: 16 cameras, 22,106 points.
    pub fn built_in() -> Result<Self, ProblemError> {
        Self::read(BUILT_IN_NAME.into(), BUILT_IN)
    }

    pub fn open(path: &Path) -> Result<Self, ProblemError> {
        let name = path.display().to_string();
        let open = || {
            if fs::metadata(path)?.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is a directory",
                ));
            }
            File::open(path)
        };
        match open() {
            Ok(file) => Self::read(name, BufReader::with_capacity(1 << 16, file)),
            Err(source) => Err(ProblemError::Open { name, source }),
        }
    }

    /// Reads a problem, plain or compressed. `name` stands for the file in messages.
    pub fn read(name: String, mut reader: impl BufRead) -> Result<Self, ProblemError> {
        let compressed = match reader.fill_buf() {
            Ok(start) => start.starts_with(&GZIP_MAGIC),
            Err(source) => {
                return Err(ProblemError::Read {
                    name,
                    line: 1,
                    source,
                })
            }
        };
        if compressed {
            let reader = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader));
            Parser::new(name, reader).problem()
        } else {
            Parser::new(name, reader).problem()
        }
    }
}

struct Parser<R> {
    name: String,
    tokens: Tokens<R>,
}

impl<R: BufRead> Parser<R> {
    fn new(name: String, reader: R) -> Self {
        let tokens = Tokens::new(reader);
        Parser { name, tokens }
    }

    fn problem(mut self) -> Result<Problem, ProblemError> {
        if !self.advance()? {
            return Err(self.invalid(Reason::Empty));
        }
        let num_cameras = self.count("cameras")?;
        self.expect(Field::Count("points"))?;
        let num_points = self.count("points")?;
        self.expect(Field::Count("observations"))?;
        let num_observations = self.count("observations")?;

        let mut observations = Vec::with_capacity(num_observations.min(MAX_RESERVED));
        for i in 0..num_observations {
            let field = |field| Field::Observation(i, num_observations, field);
            let camera = self.index("cameras", num_cameras, field("camera index"))?;
            let point = self.index("points", num_points, field("point index"))?;
            let x = self.number(field("x"))?;
            let y = self.number(field("y"))?;
            observations.push(Observation {
                camera,
                point,
                pixel: [x, y],
            });
        }
        let cameras = self.blocks::<CAMERA_SIZE>("camera", num_cameras)?;
        let points = self.blocks::<POINT_SIZE>("point", num_points)?;
        if self.advance()? {
            return Err(self.invalid(Reason::GoesOn(self.word())));
        }
        Ok(Problem {
            name: self.name,
            cameras,
            points,
            observations,
        })
    }

    /// The current word as a count.
    fn count(&mut self, what: &'static str) -> Result<usize, ProblemError> {
        let count: u64 = self.parse(Field::Count(what), "a whole number")?;
        if count == 0 {
            return Err(self.invalid(Reason::NothingToSolve(what)));
        }
        // Indices are kept in 32 bits.
        u32::try_from(count)
            .map(|count| count as usize)
            .map_err(|_| self.invalid(Reason::TooMany(what, count)))
    }

    fn index(
        &mut self,
        what: &'static str,
        count: usize,
        field: Field,
    ) -> Result<u32, ProblemError> {
        self.expect(field)?;
        let index: u64 = self.parse(field, "a whole number")?;
        if index >= count as u64 {
            return Err(self.invalid(Reason::OutOfRange(field, index, count, what)));
        }
        // Below a count that fits into 32 bits.
        Ok(index as u32)
    }

    fn blocks<const N: usize>(
        &mut self,
        what: &'static str,
        count: usize,
    ) -> Result<Vec<[f64; N]>, ProblemError> {
        let mut blocks = Vec::with_capacity(count.min(MAX_RESERVED));
        for i in 0..count {
            let mut block = [0.0; N];
            for (k, number) in block.iter_mut().enumerate() {
                *number = self.number(Field::Parameter(what, i, count, k, N))?;
            }
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn number(&mut self, field: Field) -> Result<f64, ProblemError> {
        self.expect(field)?;
        let number: f64 = self.parse(field, "a number")?;
        if !number.is_finite() {
            return Err(self.invalid(Reason::NotFinite(field, self.word())));
        }
        Ok(number)
    }

    /// The current word as a number. `kind` names what is expected there.
    fn parse<T: FromStr>(&self, field: Field, kind: &'static str) -> Result<T, ProblemError> {
        std::str::from_utf8(self.tokens.word())
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.invalid(Reason::NotANumber(field, kind, self.word())))
    }

    /// Goes on to the next word, which must be there.
    fn expect(&mut self, field: Field) -> Result<(), ProblemError> {
        if self.advance()? {
            Ok(())
        } else {
            Err(self.invalid(Reason::Ends(field)))
        }
    }

    fn advance(&mut self) -> Result<bool, ProblemError> {
        self.tokens.advance().map_err(|source| ProblemError::Read {
            name: self.name.clone(),
            line: self.tokens.line_number(),
            source,
        })
    }

    fn word(&self) -> Word {
        Word::new(self.tokens.word())
    }

    fn invalid(&self, reason: Reason) -> ProblemError {
        ProblemError::Invalid {
            name: self.name.clone(),
            line: self.tokens.line_number(),
            reason: Box::new(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use flate2::Compression;

    use super::*;

    /// Two cameras, one point, two observations, on 14 lines.
    const SMALL: &str = "2 1 2\n0 0 1.5 -2e1\n1 0 3 4\n\
        1 2 3\n4 5 6\n7 8 9\n11 12 13\n14 15 16\n17 18 19\n0.1\n0.2\n0.3\n\n";

    fn read(bytes: &[u8]) -> Result<Problem, ProblemError> {
        Problem::read("file".into(), bytes)
    }

    fn compress(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What is said about `SMALL` with its `line` (counted from 1) replaced.
    fn message(line: usize, replacement: &str) -> String {
        let mut lines: Vec<&str> = SMALL.lines().collect();
        lines[line - 1] = replacement;
        read(lines.join("\n").as_bytes()).unwrap_err().to_string()
    }

    /// Catches numbers that land in the wrong place.
    #[test]
    fn reads_a_problem() {
        let problem = read(SMALL.as_bytes()).unwrap();
        assert_eq!(problem.cameras.len(), 2);
        assert_eq!(
            problem.cameras[1],
            [11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]
        );
        assert_eq!(problem.points, [[0.1, 0.2, 0.3]]);
        assert_eq!(problem.observations[0].pixel, [1.5, -20.0]);
        assert_eq!(problem.observations[1].camera, 1);
    }

    /// Catches a built-in file that was damaged or replaced.
    #[test]
    fn reads_the_built_in_problem() {
        let problem = Problem::built_in().unwrap();
        assert_eq!(problem.cameras.len(), 16);
        assert_eq!(problem.points.len(), 22_106);
        assert_eq!(problem.observations.len(), 83_718);
    }

    /// Catches a reader that tells compressed files by name, or stops after the first of
    /// several members.
    #[test]
    fn reads_compressed_files() {
        let plain = read(SMALL.as_bytes()).unwrap();
        assert_eq!(read(&compress(SMALL.as_bytes())).unwrap(), plain);
        let (first, second) = SMALL.as_bytes().split_at(33);
        let members = [compress(first), compress(second)].concat();
        assert_eq!(read(&members).unwrap(), plain);
    }

    /// Catches a file cut short that is taken for a whole one, and a panic on one.
    #[test]
    fn every_shorter_file_is_an_error() {
        let whole = SMALL.trim_end().as_bytes();
        for length in 0..whole.len() - 2 {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        let whole = compress(SMALL.as_bytes());
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
    }

    /// Catches damage to a compressed file that goes unnoticed because the checksum is not
    /// read, and a panic on it.
    #[test]
    fn every_changed_byte_of_a_compressed_file_is_harmless_or_an_error() {
        let plain = read(SMALL.as_bytes()).unwrap();
        let whole = compress(SMALL.as_bytes());
        for i in 0..whole.len() {
            let mut broken = whole.clone();
            broken[i] ^= 0x55;
            if let Ok(problem) = read(&broken) {
                assert_eq!(problem, plain, "byte {i}");
            }
        }
    }

    /// Catches a message without its line, or with that of another line.
    #[test]
    fn messages_name_line_and_reason() {
        for (line, replacement, start) in [
            (1, "0 1 2", "file:1: there are no cameras"),
            (1, "2 1 99999999999", "file:1: 99999999999 observations are more"),
            (1, "2 -1 2", "file:1: the number of points should be a whole number, not '-1'"),
            (1, "2 3", "file:2: there are no observations"),
            (2, "2 0 1 1", "file:2: the camera index of observation 1 of 2 is 2, but"),
            (3, "1 1 1 1", "file:3: the point index of observation 2 of 2 is 1, but"),
            (3, "1 0 1 1e999", "file:3: the y of observation 2 of 2 is '1e999'"),
            (3, "1 0 nan 1", "file:3: the x of observation 2 of 2 is 'nan'"),
            (5, "4 x 6", "file:5: number 5 of 9 of camera 0 (of 2) should be a number, not 'x'"),
            (12, "", "file:12: the file ends where number 3 of 3 of point 0 (of 1)"),
            (12, "0.3 more", "file:12: the file goes on with 'more'"),
            (12, "\u{1}\u{e9}", "file:12: number 3 of 3 of point 0 (of 1) should be a number, not '\\x01\\xc3\\xa9'"),
        ] {
            let message = message(line, replacement);
            assert!(message.starts_with(start), "{message}\nnot {start}");
        }
        let message = read(b"").unwrap_err().to_string();
        assert!(
            message.starts_with("file:1: the file is empty"),
            "{message}"
        );
    }

    /// Catches an allocation by the counts that a file claims: these would take 10^11 bytes.
    #[test]
    fn absurd_counts_allocate_nothing() {
        let message = read(b"4294967295 4294967295 4294967295\n0 0 1 1\n");
        let message = message.unwrap_err().to_string();
        assert!(message.starts_with("file:2: the file ends"), "{message}");
    }

    /// Catches a panic on a path that cannot be read.
    #[test]
    fn directories_and_missing_files_are_errors() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let message = Problem::open(directory).unwrap_err().to_string();
        assert!(message.contains("directory"), "{message}");
        assert!(Problem::open(&directory.join("no such file")).is_err());
    }
}
