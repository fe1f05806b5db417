//! A light loop makes no system call on its caller, which includes that it waits for no lock and wakes
//! nobody.

#![cfg(target_os = "linux")]

mod support;

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use conga::{Dispatch, ThreadPool};
use support::in_time;
use support::process::fork;

/// Loops in a row without a system call. They take longer than the watch's period.
const LOOPS: usize = 50_000;

/// Children, one of which has to get through. A loop in which the caller loses its processor looks dear,
/// the next one is probed, and that may call somebody: so on a busy machine some do not.
const CHILDREN: usize = 20;

/// A loop that is light on any machine.
fn light_loop(pool: &ThreadPool, x: &mut [f64]) {
    pool.for_each_mut(black_box(x), |_, x| *x += 1.0);
}

/// From here on any system call of this thread but the process's end kills the process, by `SIGSYS`.
fn forbid_system_calls() {
    let number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let verdict = libc::BPF_RET | libc::BPF_K;
    let instruction = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut program = [
        instruction(number, 0, 0, 0),
        instruction(is, 0, 1, libc::SYS_exit_group as u32),
        instruction(verdict, 0, 0, libc::SECCOMP_RET_ALLOW),
        instruction(verdict, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: takes no pointers.
    let no_new = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(no_new, 0);
    let filter = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the program is live and as long as it says.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, filter, &program) };
    assert_eq!(set, 0);
}

/// What ends a child that runs light loops where system calls are forbidden: a signal, or a code that
/// is 0 if all went well.
fn end_of_light_loops(dispatch: Dispatch, threads: usize, disturb: bool) -> Result<i32, i32> {
    let child = fork(|| {
        let builder = ThreadPool::builder();
        let pool = builder.num_threads(threads).dispatch(dispatch).build();
        // It is not dropped, because that waits for the workers.
        let pool = std::mem::ManuallyDrop::new(pool.unwrap());
        let mut x = [0.0; 16];
        // Until the loop is known and somebody is on watch.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(100) {
            light_loop(&pool, &mut x);
        }
        forbid_system_calls();
        for _ in 0..LOOPS {
            light_loop(&pool, &mut x);
        }
        if disturb {
            std::thread::yield_now();
        }
    });
    let status = child.wait().expect("the child is not over in time");
    status
        .code()
        .ok_or_else(|| status.signal().expect("it has ended"))
}

// Catches a system call, a lock that is waited for, or a wake-up, on the path of a loop that calls nobody.
#[test]
fn light_loops_make_no_system_call() {
    // So that forks are counted: a child knows that it is one.
    drop(ThreadPool::new(2));
    for dispatch in [Dispatch::Adaptive, Dispatch::Chained] {
        for threads in [2, 16] {
            let end = move || end_of_light_loops(dispatch, threads, false);
            let mut ends = (0..CHILDREN).map(|_| in_time("a child", end));
            let first = ends.find(|&end| end != Err(libc::SIGSYS));
            assert_eq!(first, Some(Ok(0)), "{dispatch:?}, {threads} threads");
        }
    }
}

// That the test above can fail.
#[test]
fn a_system_call_would_be_noticed() {
    let end = in_time("a child", || {
        end_of_light_loops(Dispatch::Adaptive, 2, true)
    });
    assert_eq!(end, Err(libc::SIGSYS));
}
