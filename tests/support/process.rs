//! Child processes: the test binary run again, and forks of it.

use std::os::unix::process::ExitStatusExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::DEADLINE;

/// Set in the environment of a helper's process to the helper's name.
const HELPER: &str = "CONGA_TEST_HELPER";

/// How long a forked child may take.
const CHILD_DEADLINE: Duration = Duration::from_secs(20);

/// Whether this process was started to run the test `name` as a helper. A helper is a test that
/// does nothing in an ordinary run.
pub fn is_helper(name: &str) -> bool {
    std::env::var_os(HELPER).is_some_and(|helper| helper == name)
}

/// Runs the helper `name` of this test binary in a process of its own, with `env` added, and gives
/// its output. Kills it and panics if it is not over by the deadline.
pub fn run_helper(name: &str, env: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env_remove("CONGA_NUM_THREADS")
        .env_remove("CONGA_SPIN_US")
        .env("RUST_BACKTRACE", "0")
        .env(HELPER, name)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    // What a helper prints fits in the pipes.
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > DEADLINE {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{name} with {env:?} hangs\n{}", text_of(&output));
        }
        thread::yield_now();
    }
    child.wait_with_output().unwrap()
}

/// As [`run_helper`], for a helper that must succeed.
pub fn run_helper_well(name: &str, env: &[(&str, &str)]) -> Output {
    let output = run_helper(name, env);
    let text = text_of(&output);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name} with {env:?}: {}\n{text}",
        output.status
    );
    output
}

/// All that a helper wrote.
pub fn text_of(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A forked child.
#[must_use]
pub struct Forked(libc::pid_t);

impl Forked {
    /// Waits for the child to end well. Kills it and panics if it is not over after 20 s.
    pub fn assert_ends_well(self) {
        let status = self.wait();
        assert!(
            status.is_some_and(|status| status.success()),
            "the forked child: {}",
            status.map_or("hangs".to_owned(), |status| status.to_string())
        );
    }

    /// How the child ended, or `None` if it had to be killed.
    pub fn wait(self) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.try_wait(libc::WNOHANG) {
                return Some(status);
            }
            if start.elapsed() > CHILD_DEADLINE {
                // SAFETY: the child has not been waited for, so the number is still its own.
                unsafe { libc::kill(self.0, libc::SIGKILL) };
                self.try_wait(0);
                return None;
            }
            thread::yield_now();
        }
    }

    fn try_wait(&self, options: libc::c_int) -> Option<ExitStatus> {
        let mut status = 0;
        // SAFETY: the status is a live integer.
        let pid = unsafe { libc::waitpid(self.0, &mut status, options) };
        assert!(pid == 0 || pid == self.0, "waitpid failed");
        (pid != 0).then(|| ExitStatus::from_raw(status))
    }
}

/// Forks. The child runs `f`, which must print nothing and take no lock of another thread, and ends
/// with success if `f` returns.
pub fn fork(f: impl FnOnce()) -> Forked {
    // SAFETY: the child goes on with this one thread, runs `f` and ends by `_exit`; what other
    // threads have locked is not touched, by `f`'s promise, but for the allocator, which the C
    // library repairs.
    match unsafe { libc::fork() } {
        0 => {
            // Where nobody is left to kill it: a child of a child that was killed.
            // SAFETY: takes no pointers; the signal ends the process.
            unsafe { libc::alarm(2 * CHILD_DEADLINE.as_secs() as libc::c_uint) };
            let code = catch_unwind(AssertUnwindSafe(f)).map_or(1, |()| 0);
            // SAFETY: ends the child at once, without handlers and destructors.
            unsafe { libc::_exit(code) }
        }
        -1 => panic!("fork failed: {}", std::io::Error::last_os_error()),
        pid => Forked(pid),
    }
}
