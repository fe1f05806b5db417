//! The name of the machine, without which a figure in nanoseconds says nothing.

use std::{env, fs, thread};

/// Processor model and number of processors that this process may use, as in `Intel(R) Xeon(R)
/// Processor, 2 processors`.
pub fn describe() -> String {
    let model =
        model_name().unwrap_or_else(|| format!("{} {}", env::consts::OS, env::consts::ARCH));
    match thread::available_parallelism() {
        Ok(processors) if processors.get() == 1 => format!("{model}, 1 processor"),
        Ok(processors) => format!("{model}, {processors} processors"),
        Err(_) => format!("{model}, unknown number of processors"),
    }
}

/// What Linux calls the processor, on the architectures where it does.
fn model_name() -> Option<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").ok()?;
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    })
}
