//! `deadline`: a hang fails here, by name, and not by a limit of the whole run.

use std::io::{stderr, Write};
use std::panic::resume_unwind;
use std::process::abort;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Runs `body` on a thread of its own. When it has not come back after `seconds`, says so and ends the
/// process: a thread that hangs can be neither stopped nor joined. Its panic goes on here.
pub fn deadline<R: Send>(seconds: u64, body: impl FnOnce() -> R + Send) -> R {
    let test = thread::current()
        .name()
        .unwrap_or("the main thread")
        .to_owned();
    // Nothing is sent: the sender is dropped when the body is over, by return or by panic.
    let (running, over) = channel::<()>();
    thread::scope(|s| {
        let body = move || {
            let _running = running;
            body()
        };
        let thread = thread::Builder::new()
            .name(test.clone())
            .spawn_scoped(s, body)
            .expect("a thread for a test body");
        if over.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
            // Not by the print macros, whose output the harness keeps for an end that does not come.
            let _ = writeln!(
                stderr(),
                "{test}: hangs, it was not over after {seconds} s; aborting"
            );
            abort();
        }
        thread
            .join()
            .unwrap_or_else(|payload| resume_unwind(payload))
    })
}
