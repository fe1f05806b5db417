//! Words of a text that is read as a stream, each with the line it stands on.

use std::io::{self, BufRead, Read};
use std::ops::Range;

/// No line may be longer, so that a file without line ends cannot fill the memory.
const MAX_LINE: usize = 1 << 16;

/// Splits a reader into words at ASCII whitespace and counts lines from 1.
pub struct Tokens<R> {
    reader: R,
    line: Vec<u8>,
    word: Range<usize>,
    line_number: u64,
}

impl<R: BufRead> Tokens<R> {
    pub fn new(reader: R) -> Self {
        Tokens {
            reader,
            line: Vec::new(),
            word: 0..0,
            line_number: 0,
        }
    }

    /// The line that was read last: that of the last word, or the one that reading stopped at.
    /// 1 before anything was read.
    pub fn line_number(&self) -> u64 {
        self.line_number.max(1)
    }

    /// The word that [`advance`](Self::advance) stopped at; empty before the first and after
    /// the last.
    pub fn word(&self) -> &[u8] {
        &self.line[self.word.clone()]
    }

    /// Goes on to the next word. `false` at the end of the file.
    pub fn advance(&mut self) -> io::Result<bool> {
        loop {
            let rest = &self.line[self.word.end..];
            if let Some(skip) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
                let word = &rest[skip..];
                let length = word
                    .iter()
                    .position(u8::is_ascii_whitespace)
                    .unwrap_or(word.len());
                let start = self.word.end + skip;
                self.word = start..start + length;
                return Ok(true);
            }
            if !self.next_line()? {
                return Ok(false);
            }
        }
    }

    fn next_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.word = 0..0;
        if self.reader.fill_buf()?.is_empty() {
            return Ok(false);
        }
        self.line_number += 1;
        let mut limited = (&mut self.reader).take(MAX_LINE as u64);
        limited.read_until(b'\n', &mut self.line)?;
        if self.line.len() == MAX_LINE && !self.line.ends_with(b"\n") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the line is longer than {MAX_LINE} bytes"),
            ));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a line count that is off by one after blank lines, or at the end.
    #[test]
    fn words_come_with_their_lines() {
        let mut tokens = Tokens::new(&b"\n one  two\r\n\n\tthree"[..]);
        assert_eq!(tokens.word(), b"");
        for (word, line) in [("one", 2), ("two", 2), ("three", 4)] {
            assert!(tokens.advance().unwrap());
            assert_eq!(tokens.word(), word.as_bytes());
            assert_eq!(tokens.line_number(), line);
        }
        for _ in 0..2 {
            assert!(!tokens.advance().unwrap());
            assert_eq!(tokens.word(), b"");
            assert_eq!(tokens.line_number(), 4);
        }
    }

    /// Catches a reader that takes an endless line into memory.
    #[test]
    fn an_endless_line_is_an_error() {
        let mut tokens = Tokens::new(io::BufReader::new(io::repeat(b'7')));
        let error = tokens.advance().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(tokens.line_number(), 1);
    }
}
