//! Processor time of work that is shared among threads.

/// Processor time that all threads of this program take for some work, in s.
pub fn time_of_all_threads(work: impl FnOnce()) -> f64 {
    let begun = process_cpu_s();
    work();
    process_cpu_s() - begun
}

fn process_cpu_s() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: t is a valid timespec; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}
