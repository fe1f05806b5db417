//! Why the program ends without a table.

use std::error::Error;
use std::fmt;
use std::io;

use conga::BuildError;

use crate::problem_error::ProblemError;
use crate::summary::SolveError;

#[derive(Debug)]
pub enum RunError {
    Problem(ProblemError),
    /// A pool of so many threads could not be made.
    Pool(usize, BuildError),
    /// The problem of this name could not be solved.
    Solve(String, SolveError),
    Output(io::Error),
}

impl RunError {
    /// Whether whoever read the output has seen enough: no reason for a message.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, RunError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Problem(error) => error.fmt(f),
            RunError::Pool(threads, error) => write!(
                f,
                "cannot make a pool of {threads} threads: {error}; ask for fewer with --threads"
            ),
            RunError::Solve(name, error) => write!(f, "{name}: {error}"),
            RunError::Output(error) => write!(f, "cannot write the results: {error}"),
        }
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RunError::Problem(error) => error.source(),
            RunError::Pool(_, error) => Some(error),
            RunError::Solve(_, error) => Some(error),
            RunError::Output(error) => Some(error),
        }
    }
}

impl From<ProblemError> for RunError {
    fn from(error: ProblemError) -> Self {
        RunError::Problem(error)
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        RunError::Output(error)
    }
}
