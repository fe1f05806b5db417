//! What a pool does when the system refuses it threads, under a real limit.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;

use conga::{Dispatch, ThreadPool};

use crate::common::panic_message;
use crate::support::process::{is_helper, run_helper_well, text_of};
use crate::support::{assert_whole, counters, meet, yield_until, DISPATCHES};

/// With room for no, one or a few threads more, pools of eight are built, tell how many lanes they
/// have, give right results and grow when there is room again. Catches an abort, an error, and a
/// count of workers that never started.
#[test]
fn fewer_lanes_where_threads_are_refused() {
    for room in ["0", "1", "3"] {
        let output = run_helper_well("refused::helper_without_threads", &[("ROOM", room)]);
        if let Some(line) = text_of(&output).lines().find(|l| l.starts_with("left out")) {
            println!("{line}");
        }
    }
}

/// Tells how many threads this user has, of all processes, by trying: the lowest limit under which
/// one more can be started, less one.
fn threads_of_this_user(most: libc::rlim_t) -> Option<libc::rlim_t> {
    (1..=most).find_map(|limit| {
        set_limit(limit).then_some(())?;
        let thread = thread::Builder::new().spawn(|| {}).ok()?;
        thread.join().unwrap();
        Some(limit - 1)
    })
}

/// Sets how many threads the user of this process may have.
fn set_limit(threads: libc::rlim_t) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is a live value.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    limit.rlim_cur = threads.min(limit.rlim_max);
    // SAFETY: as above.
    known == 0 && unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &limit) } == 0
}

/// Makes this process that of an unprivileged user, whom limits concern.
fn become_nobody() -> bool {
    // A user of whom there are no other processes, as likely as not.
    let id = 61_000 + std::process::id() % 4000;
    // SAFETY: takes no pointers.
    let privileged = unsafe { libc::geteuid() } == 0;
    // SAFETY: takes no pointers.
    let group = !privileged || unsafe { libc::setgid(id) } == 0;
    // SAFETY: takes no pointers.
    group && (!privileged || unsafe { libc::setuid(id) } == 0)
}

/// The process of [`fewer_lanes_where_threads_are_refused`]; does nothing in an ordinary run.
#[test]
fn helper_without_threads() {
    if !is_helper("refused::helper_without_threads") {
        return;
    }
    let room: libc::rlim_t = std::env::var("ROOM").unwrap().parse().unwrap();
    if !become_nobody() {
        println!("\nleft out: this user can be no other");
        return;
    }
    let asker = start_asker();
    let Some(used) = threads_of_this_user(10_000) else {
        println!("\nleft out: the limit of threads does not hold for this user");
        return;
    };
    assert!(set_limit(used + room));
    if thread::Builder::new().spawn(|| {}).is_ok() && room == 0 {
        println!("\nleft out: other processes of this user come and go");
        return;
    }

    // The most that may be asked for.
    assert!(ThreadPool::new(65_536).unwrap().num_threads() as u64 <= 1 + room);
    for round in 0..20 {
        let pool = ThreadPool::new(8).unwrap();
        // Threads of the round before may be listed for a moment after they have been joined.
        let lanes = pool.num_threads();
        assert!(
            lanes as u64 <= 1 + room,
            "{lanes} lanes with room for {room}"
        );
        let stats = pool.stats();
        assert_eq!(
            (stats.threads_started + 1, stats.threads_refused),
            (lanes as u64, 1)
        );
        assert_whole(&pool);
        assert_eq!(pool.ensure_threads(8), pool.num_threads());
        assert!(pool.stats().threads_refused >= 2);
        assert_whole(&pool);
        assert_eq!(pool.stats().threads_started + 1, pool.num_threads() as u64);
        if round == 0 && pool.num_workers() == 0 {
            nobody_takes_tasks(&pool);
        }
        if round == 18 {
            use_while_refused(pool, &asker);
        } else if round == 19 {
            assert!(set_limit(used + 100));
            assert_eq!(pool.ensure_threads(8), 8);
            assert_whole(&pool);
            meet(&pool, Dispatch::Chained, 8);
        }
    }
}

/// A task for which there is no worker, and cannot be, panics where it is given, and says why. Catches one
/// that waits for ever, and one that is lost.
fn nobody_takes_tasks(pool: &ThreadPool) {
    let calls: [&dyn Fn(); 4] = [
        &|| pool.install(|| ()),
        &|| pool.spawn(|| ()),
        &|| drop(pool.broadcast(|_| ())),
        &|| pool.in_place_scope(|s| s.spawn(|_| ())),
    ];
    for call in calls {
        let said = panic_message(call);
        assert!(said.contains("the system refuses a thread"), "{said}");
    }
}

/// Loops run and tasks are added while another thread asks for workers in vain: all loops are right
/// and all tasks run, though there may be a worker for a moment that never starts.
fn use_while_refused(pool: ThreadPool, asker: &Asker) {
    let pool = Arc::new(pool);
    let over = Arc::new(AtomicBool::new(false));
    asker.send((Arc::clone(&pool), Arc::clone(&over))).unwrap();
    let tasks = Arc::new(AtomicUsize::new(0));
    for round in 0..3000 {
        let ran = Arc::clone(&tasks);
        pool.add_task(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        });
        let runs = counters(64);
        pool.parallel_for(0..64)
            .num_threads(8)
            .dispatch(DISPATCHES[round % 3])
            .for_each(|i| {
                runs[i].fetch_add(1, Ordering::Relaxed);
            });
        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
    }
    over.store(true, Ordering::Relaxed);
    yield_until(|| tasks.load(Ordering::Relaxed) == 3000);
    yield_until(|| Arc::strong_count(&pool) == 1);
}

/// Takes pools, and asks for workers in each until told that it is over.
type Asker = mpsc::Sender<(Arc<ThreadPool>, Arc<AtomicBool>)>;

/// Started while there is room for it.
fn start_asker() -> Asker {
    let (asker, asked) = mpsc::channel::<(Arc<ThreadPool>, Arc<AtomicBool>)>();
    thread::spawn(move || {
        for (pool, over) in asked {
            while !over.load(Ordering::Relaxed) {
                pool.ensure_threads(8);
            }
        }
    });
    asker
}
