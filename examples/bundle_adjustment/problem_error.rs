//! What can be wrong with a problem file.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a problem could not be read. The message opens with the file and, where it has one,
/// the line.
#[derive(Debug)]
pub enum ProblemError {
    Open {
        name: String,
        source: io::Error,
    },
    Read {
        name: String,
        line: u64,
        source: io::Error,
    },
    Invalid {
        name: String,
        line: u64,
        reason: Box<Reason>,
    },
}

/// What is wrong with the text of a problem.
#[derive(Debug)]
pub enum Reason {
    Empty,
    /// The text ends where this field should be.
    Ends(Field),
    /// Field, what it should be, what it is.
    NotANumber(Field, &'static str, Word),
    NotFinite(Field, Word),
    /// Field, its value, how many there are, and of what.
    OutOfRange(Field, u64, usize, &'static str),
    NothingToSolve(&'static str),
    TooMany(&'static str, u64),
    /// The text goes on with this word after its last number.
    GoesOn(Word),
}

/// A place in a problem file.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    Count(&'static str),
    /// Which observation (from 0), of how many, which of its fields.
    Observation(usize, usize, &'static str),
    /// Of what, which one (from 0), of how many, which of its numbers (from 0), of how many.
    Parameter(&'static str, usize, usize, usize, usize),
}

/// A word of the file, shortened and with unprintable bytes escaped.
#[derive(Clone, Debug)]
pub struct Word(String);

impl Word {
    const MAX_LENGTH: usize = 40;

    pub fn new(bytes: &[u8]) -> Self {
        let shown = &bytes[..bytes.len().min(Self::MAX_LENGTH)];
        let more = if shown.len() < bytes.len() { "..." } else { "" };
        Word(format!("'{}{more}'", shown.escape_ascii()))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Field::Count(what) => write!(f, "the number of {what}"),
            Field::Observation(i, count, field) => {
                write!(f, "the {field} of observation {} of {count}", i + 1)
            }
            Field::Parameter(what, i, count, k, size) => {
                write!(f, "number {} of {size} of {what} {i} (of {count})", k + 1)
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Empty => write!(
                f,
                "the file is empty; a BAL problem starts with how many cameras, points and \
                 observations it has"
            ),
            Reason::Ends(field) => write!(
                f,
                "the file ends where {field} should be; it was cut short, or its first line \
                 counts too much"
            ),
            Reason::NotANumber(field, kind, word) => {
                write!(f, "{field} should be {kind}, not {word}")
            }
            Reason::NotFinite(field, word) => {
                write!(f, "{field} is {word}, which is not a finite number")
            }
            Reason::OutOfRange(field, index, count, what) => write!(
                f,
                "{field} is {index}, but there are {count} {what}, counted from 0"
            ),
            Reason::NothingToSolve(what) => write!(
                f,
                "there are no {what}; a problem needs at least one camera, point and observation"
            ),
            Reason::TooMany(what, count) => write!(
                f,
                "{count} {what} are more than this program can count (4294967295)"
            ),
            Reason::GoesOn(word) => write!(
                f,
                "the file goes on with {word} after the last point; its first line counts too \
                 little, or it is not a BAL problem"
            ),
        }
    }
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemError::Open { name, source } => write!(
                f,
                "{name}: cannot open the problem file: {source}; give a BAL file, plain or \
                 compressed with gzip"
            ),
            ProblemError::Read { name, line, source } => write!(
                f,
                "{name}:{line}: cannot read on: {source}; is the file damaged or cut short?"
            ),
            ProblemError::Invalid { name, line, reason } => write!(f, "{name}:{line}: {reason}"),
        }
    }
}

impl Error for ProblemError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ProblemError::Open { source, .. } | ProblemError::Read { source, .. } => Some(source),
            ProblemError::Invalid { .. } => None,
        }
    }
}
