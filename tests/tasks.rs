//! Tasks run in order, may add tasks and run loops, and their panics go to the handler.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

use conga::ThreadPool;
use support::{assert_whole, counters, for_each_setting, in_time, panic_with, pool_of, DISPATCHES};

/// One worker runs tasks in the order in which they were added. Catches a queue that is a stack,
/// and a task that overtakes.
#[test]
fn first_in_first_out() {
    in_time("tasks in order", || {
        let pool = pool_of(2);
        let order = Arc::new(Mutex::new(Vec::new()));
        for i in 0..1000 {
            let order = Arc::clone(&order);
            pool.add_task(move || order.lock().unwrap().push(i));
        }
        drop(pool);
        assert!(order.lock().unwrap().iter().copied().eq(0..1000));
    });
}

/// Tasks run on workers, all of them at once where they wait for each other. Catches a task that
/// runs on its caller, and a call that goes to a worker that is called already.
#[test]
fn all_workers_take_tasks() {
    for_each_setting(|_, threads| {
        let pool = pool_of(threads);
        for _ in 0..50 {
            let together = Arc::new(std::sync::Barrier::new(threads));
            let caller = thread::current().id();
            for _ in 0..threads - 1 {
                let together = Arc::clone(&together);
                pool.add_task(move || {
                    assert_ne!(thread::current().id(), caller);
                    together.wait();
                });
            }
            together.wait();
        }
    });
}

/// Tasks add tasks, three deep, also while the pool is being dropped: all run, once. Catches a
/// worker that ends while another one's task adds more.
#[test]
fn tasks_that_add_tasks() {
    fn add(pool: &Arc<ThreadPool>, runs: &Arc<AtomicUsize>, depth: usize) {
        let (next, count) = (Arc::downgrade(pool), Arc::clone(runs));
        pool.add_task(move || {
            count.fetch_add(1, Ordering::Relaxed);
            // Without the pool's last handle a task cannot add any more.
            if let Some(pool) = next.upgrade().filter(|_| depth > 0) {
                (0..4).for_each(|_| add(&pool, &count, depth - 1));
            }
        });
    }
    for_each_setting(|_, threads| {
        let pool = Arc::new(pool_of(threads));
        let runs = Arc::new(AtomicUsize::new(0));
        (0..10).for_each(|_| add(&pool, &runs, 3));
        // Each waits for its turn until all have been added and have run.
        support::yield_until(|| runs.load(Ordering::Relaxed) == 10 * (1 + 4 + 16 + 64));
        (0..10).for_each(|_| add(&pool, &runs, 0));
        support::yield_until(|| Arc::strong_count(&pool) == 1);
        drop(pool);
        assert_eq!(runs.load(Ordering::Relaxed), 860);
        assert_eq!(Arc::strong_count(&runs), 1);
    });
}

/// Tasks run loops of every strategy while the adder runs some, too. Catches a worker that waits
/// for its own loop in a way that keeps another one waiting.
#[test]
fn tasks_that_run_loops() {
    for_each_setting(|dispatch, threads| {
        let pool = Arc::new(pool_of(threads));
        let (tell, told) = mpsc::channel();
        for task in 0..40 {
            // A task that held the pool could drop it.
            let (weak, tell) = (Arc::downgrade(&pool), tell.clone());
            pool.add_task(move || {
                let sum = weak
                    .upgrade()
                    .unwrap()
                    .parallel_for(0..100 + task)
                    .dispatch(DISPATCHES[task % 3])
                    .map_reduce(|range| range.sum::<usize>(), |a, b| a + b);
                tell.send((task, sum)).unwrap();
            });
        }
        drop(tell);
        for _ in 0..40 {
            let runs = counters(300);
            pool.parallel_for(0..300).dispatch(dispatch).for_each(|i| {
                runs[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
        }
        let sums: Vec<_> = told.iter().collect();
        assert_eq!(sums.len(), 40);
        assert!(sums
            .iter()
            .all(|&(task, sum)| sum == (99 + task) * (100 + task) / 2));
        assert_whole(&pool);
    });
}

/// A panic of a task, of a start handler or of an exit handler goes to the panic handler with its
/// payload, and the pool goes on. Catches a worker that ends of it.
#[test]
fn panics_go_to_the_handler() {
    for_each_setting(|_, threads| {
        let payloads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&payloads);
        let pool = ThreadPool::builder()
            .num_threads(threads)
            .start_handler(|worker| panic_with(1000 + worker))
            .exit_handler(|worker| panic_with(2000 + worker))
            .panic_handler(move |payload| {
                seen.lock()
                    .unwrap()
                    .push(*payload.downcast::<usize>().unwrap());
            })
            .build()
            .unwrap();
        let good = Arc::new(AtomicUsize::new(0));
        for i in 0..100_usize {
            let good = Arc::clone(&good);
            pool.add_task(move || {
                if i % 3 == 0 {
                    panic_with(i);
                }
                good.fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_whole(&pool);
        drop(pool);
        assert_eq!(good.load(Ordering::Relaxed), 66);
        let mut payloads = payloads.lock().unwrap().clone();
        payloads.sort_unstable();
        let workers = threads - 1;
        let tasks = (0..100).step_by(3);
        let expected = tasks
            .chain(1000..1000 + workers)
            .chain(2000..2000 + workers);
        assert!(payloads.iter().copied().eq(expected), "{payloads:?}");
    });
}

/// Without workers a task runs before `add_task` returns, on the caller; its panic goes to the
/// handler. Catches a task in a queue that nobody empties.
#[test]
fn without_workers_at_once() {
    in_time("tasks without workers", || {
        let payloads = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&payloads);
        let pool = ThreadPool::builder()
            .num_threads(1)
            .panic_handler(move |payload| {
                seen.fetch_add(*payload.downcast::<usize>().unwrap(), Ordering::Relaxed);
            })
            .build()
            .unwrap();
        let (tell, told) = mpsc::channel();
        pool.add_task(move || tell.send(thread::current().id()).unwrap());
        assert_eq!(told.try_recv().unwrap(), thread::current().id());
        pool.add_task(|| panic_with(7_usize));
        assert_eq!(payloads.load(Ordering::Relaxed), 7);
        assert_whole(&pool);
    });
}

/// What a task owns is freed when it is over, not when the next one comes. Catches a worker that
/// keeps the closure.
#[test]
fn what_a_task_owns_is_freed_with_it() {
    for_each_setting(|_, threads| {
        let pool = pool_of(threads);
        let (held, freed) = mpsc::channel::<()>();
        pool.add_task(move || drop(held.clone()));
        // Comes to an end when the last sender is gone.
        assert_eq!(freed.iter().count(), 0);
    });
}

/// Without a panic handler the process aborts with a message, for a task on a worker or on the
/// caller and for a start handler; so it does when the panic handler panics. Catches a panic that
/// nobody gets to know.
#[cfg(unix)]
#[test]
fn without_a_handler_the_process_aborts() {
    use std::os::unix::process::ExitStatusExt;
    for (case, message) in [
        (
            "worker",
            "a task panicked and the pool has no panic_handler",
        ),
        (
            "caller",
            "a task panicked and the pool has no panic_handler",
        ),
        (
            "start",
            "a start_handler panicked and the pool has no panic_handler",
        ),
        ("handler", "the pool's panic_handler panicked"),
    ] {
        let output = support::process::run_helper("helper_that_aborts", &[("CASE", case)]);
        let text = support::process::text_of(&output);
        assert_eq!(
            output.status.signal(),
            Some(libc::SIGABRT),
            "{case}: {text}"
        );
        assert!(text.contains(message), "{case}: {text}");
        assert!(!text.contains("went on"), "{case}: {text}");
    }
}

/// The process of [`without_a_handler_the_process_aborts`]; does nothing in an ordinary run.
#[cfg(unix)]
#[test]
fn helper_that_aborts() {
    if !support::process::is_helper("helper_that_aborts") {
        return;
    }
    // SAFETY: the limit is a live value; without a core file an abort leaves nothing behind.
    unsafe {
        libc::setrlimit(
            libc::RLIMIT_CORE,
            &libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            },
        )
    };
    let case = std::env::var("CASE").unwrap();
    let builder = ThreadPool::builder().num_threads(if case == "caller" { 1 } else { 2 });
    let pool = match &*case {
        "start" => builder.start_handler(|_| panic_with("bad start")),
        "handler" => builder.panic_handler(|_| panic_with("bad handler")),
        _ => builder,
    };
    let pool = pool.build().unwrap();
    pool.add_task(|| panic_with("bad task"));
    drop(pool);
    println!("went on");
}
