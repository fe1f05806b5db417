//! Handlers, names, stacks, and settings that make no sense.

use std::hint::black_box;
use std::sync::{mpsc, Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use conga::{BuildError, Dispatch, ThreadPool};

use crate::support::{assert_whole, in_time, meet, pool_of};

/// Handlers run once on each worker, with its number and on its thread, before and after all else;
/// names are as asked for. Catches a number that is given twice, and a handler that is left out on
/// a late worker.
#[test]
fn handlers_and_names() {
    in_time("handlers", || {
        type Calls = Arc<Mutex<Vec<(usize, thread::ThreadId, Option<String>)>>>;
        fn record(calls: &Calls) -> impl Fn(usize) + Send + Sync + 'static {
            let calls = Arc::clone(calls);
            move |worker| {
                let here = thread::current();
                let name = here.name().map(str::to_owned);
                calls.lock().unwrap().push((worker, here.id(), name));
            }
        }
        let (started, ended) = (Calls::default(), Calls::default());
        let pool = ThreadPool::builder()
            .num_threads(3)
            .thread_name(|worker| format!("worker {worker} of the test"))
            .start_handler(record(&started))
            .exit_handler(record(&ended))
            .build()
            .unwrap();
        meet(&pool, Dispatch::Chained, 3);
        assert_eq!(pool.ensure_threads(6), 6);
        meet(&pool, Dispatch::Chained, 6);
        let bodies = Mutex::new(Vec::new());
        let all = Barrier::new(6);
        pool.parallel_for(0..6)
            .dispatch(Dispatch::Chained)
            .for_each_lane(|lane, _| {
                all.wait();
                if lane != 0 {
                    bodies.lock().unwrap().push(thread::current().id());
                }
            });
        drop(pool);
        let sorted = |calls: &Calls| {
            let mut calls = calls.lock().unwrap().clone();
            calls.sort_by_key(|call| call.0);
            calls
        };
        let (started, ended) = (sorted(&started), sorted(&ended));
        assert_eq!(started, ended);
        assert_eq!(started.len(), 5);
        for (number, (worker, thread, name)) in started.iter().enumerate() {
            assert_eq!(*worker, number);
            assert_eq!(
                name.as_deref(),
                Some(&*format!("worker {number} of the test"))
            );
            assert!(bodies.lock().unwrap().contains(thread));
        }
        // A name that the system cannot have is cut to one that it can.
        let pool = ThreadPool::builder()
            .num_threads(2)
            .thread_name(|_| "a\0b".to_owned())
            .build()
            .unwrap();
        assert_eq!(pool.num_threads(), 2);
        let (tell, told) = mpsc::channel();
        pool.add_task(move || {
            tell.send(thread::current().name().map(str::to_owned))
                .unwrap();
        });
        assert_eq!(told.recv().unwrap().as_deref(), Some("ab"));
        // By default they are named as well.
        let pool = pool_of(2);
        let (tell, told) = mpsc::channel();
        pool.add_task(move || {
            tell.send(thread::current().name().map(str::to_owned))
                .unwrap();
        });
        assert_eq!(told.recv().unwrap().as_deref(), Some("conga-0"));
    });
}

/// A body that needs 16 MiB of stack runs on a worker that was given 64. Catches a size that does
/// not arrive at the thread.
#[test]
fn stack_size() {
    #[inline(never)]
    fn use_stack(kib: usize) -> u64 {
        let mut frame = [kib as u8; 16 << 10];
        black_box(&mut frame);
        let rest = if kib > 16 { use_stack(kib - 16) } else { 0 };
        rest + u64::from(frame[kib % frame.len()])
    }
    in_time("16 MiB of stack", || {
        let pool = ThreadPool::builder()
            .num_threads(2)
            .stack_size(64 << 20)
            .build()
            .unwrap();
        assert_eq!(pool.num_threads(), 2);
        let (tell, told) = mpsc::channel();
        pool.add_task(move || tell.send(use_stack(16 << 10)).unwrap());
        assert_ne!(told.recv().unwrap(), 0);
    });
}

/// Configurations that make no sense are refused, with what was asked and what can be done; those
/// at the limits are not. Catches a check that is one off, and messages without numbers.
#[test]
fn what_a_builder_refuses() {
    let error = ThreadPool::new(65_537).unwrap_err();
    assert_eq!(error, BuildError::TooManyThreads { asked: 65_537 });
    let text = error.to_string();
    assert!(
        text.contains("65537") && text.contains("65536") && text.contains("ask for"),
        "{text}"
    );

    let asked = Duration::from_nanos(200_001);
    let error = ThreadPool::builder().spin(asked).build().unwrap_err();
    assert_eq!(error, BuildError::SpinTooLong { asked });
    let text = error.to_string();
    assert!(
        text.contains("200.001µs") && text.contains("200µs") && text.contains("ask for"),
        "{text}"
    );

    let error = ThreadPool::builder().stack_size(0).build().unwrap_err();
    assert_eq!(error, BuildError::NoStack);
    let text = error.to_string();
    assert!(
        text.contains("0 bytes") && text.contains("ask for"),
        "{text}"
    );
    let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    assert!(error.source().is_none());

    for spin in [Duration::ZERO, Duration::from_micros(200)] {
        let builder = ThreadPool::builder().num_threads(2).spin(spin).pin(true);
        let pool = builder.dispatch(Dispatch::Chained).build().unwrap();
        assert_eq!(pool.dispatch(), Dispatch::Chained);
        in_time("a pool at the limits", move || assert_whole(&pool));
    }
    let zero = ThreadPool::new(0).unwrap();
    assert!((1..=num_cpus::get()).contains(&zero.num_threads()));
}
