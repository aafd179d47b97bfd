//! Real-time rights of a thread: what is asked of the system, what it granted, and how to get the rest.

use std::fs;
use std::io::Write;

/// What a real-time thread asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtRequest {
    /// SCHED_FIFO priority, 1 to 99.
    pub priority: u8,
    /// The processor to stay on; `None` leaves that to the system.
    pub cpu: Option<usize>,
}

impl Default for RtRequest {
    fn default() -> Self {
        Self {
            priority: 80,
            cpu: None,
        }
    }
}

/// What was granted. Everything runs without it too, less punctually.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtStatus {
    /// "fifo" or "other".
    pub scheduler: &'static str,
    /// The priority in force under "fifo".
    pub priority: Option<u8>,
    /// Whether all memory is locked against paging.
    pub memory_locked: bool,
    /// The processor that the thread is bound to.
    pub cpu: Option<usize>,
    /// Whether idle processors are kept from deep sleep.
    pub kept_awake: bool,
    /// The frequency governor of that processor, or of the first; `None` where the system shows none.
    pub governor: Option<String>,
    /// Whether the kernel is fully preemptible.
    pub preempt_rt: bool,
    /// For each thing that is missing: what, and how to get it.
    pub missing: Vec<String>,
}

impl RtStatus {
    /// Whether the thread has the rights that punctual cycles need.
    pub fn is_real_time(&self) -> bool {
        self.scheduler == "fifo" && self.memory_locked
    }
}

/// Rights that were granted. Dropping them lets the processors sleep again.
#[derive(Debug)]
pub struct RtRights {
    /// What was granted.
    pub status: RtStatus,
    _awake: Option<fs::File>,
}

/// Asks for real-time rights for the calling thread and reports what was granted.
pub fn request(wanted: RtRequest) -> RtRights {
    let mut missing = Vec::new();
    let fifo = set_fifo(wanted.priority);
    if let Err(e) = &fifo {
        missing.push(format!(
            "SCHED_FIFO was refused ({e}): the loop may be delayed by other programs. Allow it with \
             'sudo setcap cap_sys_nice,cap_ipc_lock+ep PATH/TO/pantobench', or add '@realtime - rtprio 95' and \
             '@realtime - memlock unlimited' to /etc/security/limits.d/realtime.conf and join that group."
        ));
        reduce_timer_slack();
    }
    let memory_locked = match lock_memory() {
        Ok(()) => true,
        Err(e) => {
            missing.push(format!(
                "memory is not locked ({e}): a page fault may delay a cycle. Allow it with the same setcap, or \
                 with 'memlock unlimited' in /etc/security/limits.d/realtime.conf."
            ));
            false
        }
    };
    let cpu = wanted.cpu.and_then(|cpu| match bind_to_cpu(cpu) {
        Ok(()) => Some(cpu),
        Err(e) => {
            missing.push(format!(
                "the loop could not be bound to processor {cpu}: {e}."
            ));
            None
        }
    });
    let awake = match keep_processors_awake() {
        Ok(file) => Some(file),
        Err(e) => {
            missing.push(format!(
                "idle processors may sleep deeply (/dev/cpu_dma_latency: {e}): waking them up takes longer. Allow it \
                 with a udev rule: KERNEL==\"cpu_dma_latency\", GROUP=\"realtime\", MODE=\"0660\"."
            ));
            None
        }
    };
    let governor = governor_of(cpu.unwrap_or(0));
    if let Some(g) = governor.as_deref().filter(|g| *g != "performance") {
        missing.push(format!(
            "the frequency governor is '{g}': waking up takes longer. Set it with 'sudo cpupower frequency-set -g performance'."
        ));
    }
    let preempt_rt = kernel_is_preempt_rt();
    if !preempt_rt {
        missing.push(
            "the kernel is not PREEMPT_RT: rare delays of milliseconds are possible. On Debian and Ubuntu install \
             the package linux-image-rt-amd64 or linux-realtime."
                .to_owned(),
        );
    }
    let status = RtStatus {
        scheduler: if fifo.is_ok() { "fifo" } else { "other" },
        priority: fifo.is_ok().then_some(wanted.priority),
        memory_locked,
        cpu,
        kept_awake: awake.is_some(),
        governor,
        preempt_rt,
        missing,
    };
    RtRights {
        status,
        _awake: awake,
    }
}

/// Tells the kernel that a wake-up may take 0 µs, for as long as the file stays open.
fn keep_processors_awake() -> std::io::Result<fs::File> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open("/dev/cpu_dma_latency")?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

fn last_error() -> std::io::Error {
    std::io::Error::last_os_error()
}

fn set_fifo(priority: u8) -> std::io::Result<()> {
    let param = libc::sched_param {
        sched_priority: i32::from(priority.clamp(1, 99)),
    };
    // SAFETY: 0 is the calling thread and `param` is valid for the call.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) } == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

/// Without SCHED_FIFO the kernel lets timers be 50 µs late to save power; 1 ns is the least.
fn reduce_timer_slack() {
    // SAFETY: plain numbers; a refusal changes nothing and is of no consequence.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
}

/// Locks present and future memory. Under a finite limit the call itself may succeed and every later
/// thread then fails to start, so the limit is looked at first.
fn lock_memory() -> std::io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } != 0 {
        return Err(last_error());
    }
    if limit.rlim_cur != libc::RLIM_INFINITY && !has_capability_ipc_lock() {
        return Err(std::io::Error::other(format!(
            "the limit is {} KiB",
            limit.rlim_cur / 1024
        )));
    }
    // SAFETY: flags only.
    if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

fn has_capability_ipc_lock() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok())
        .is_some_and(|m| m >> CAP_IPC_LOCK & 1 == 1)
}

fn bind_to_cpu(cpu: usize) -> std::io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(std::io::Error::other("there is no such processor"));
    }
    // SAFETY: an all-zero set is a valid empty one; `cpu` is within it; 0 is the calling thread.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

fn governor_of(cpu: usize) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}

fn kernel_is_preempt_rt() -> bool {
    let flag = fs::read_to_string("/sys/kernel/realtime").unwrap_or_default();
    let version = fs::read_to_string("/proc/version").unwrap_or_default();
    flag.trim() == "1" || version.contains("PREEMPT_RT")
}

/// Lets the processor treat numbers too small for full precision as zero for the calling thread.
/// A decaying vibration would otherwise slow every cycle down by a factor of ten and more.
pub fn flush_denormals() {
    #[cfg(target_arch = "x86_64")]
    {
        /// Flush-to-zero and denormals-are-zero bits of MXCSR.
        const FTZ_DAZ: u32 = 0x8040;
        let mut csr: u32 = 0;
        // SAFETY: stores and loads the thread's own control register; only the two bits change.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut csr, options(nostack));
            csr |= FTZ_DAZ;
            std::arch::asm!("ldmxcsr [{}]", in(reg) &csr, options(nostack));
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        const FZ: u64 = 1 << 24;
        // SAFETY: reads and writes the thread's own control register; only one bit changes.
        unsafe {
            let mut fpcr: u64;
            std::arch::asm!("mrs {}, fpcr", out(reg) fpcr);
            fpcr |= FZ;
            std::arch::asm!("msr fpcr, {}", in(reg) fpcr);
        }
    }
}

/// Time of the processor that the calling thread has taken, in s.
pub fn thread_cpu_s() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: t is a valid timespec; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_not_granted_is_explained() {
        // In a thread of its own: the rights of the test's thread stay as they are.
        let wanted = RtRequest {
            priority: 10,
            cpu: Some(100_000),
        };
        let status = std::thread::spawn(move || request(wanted).status)
            .join()
            .unwrap();
        assert_eq!(status.cpu, None);
        assert!(
            status.missing.iter().any(|m| m.contains("100000")),
            "{status:?}"
        );
        assert_eq!(
            status.scheduler == "other",
            status.missing.iter().any(|m| m.contains("setcap"))
        );
        assert_eq!(
            !status.memory_locked,
            status
                .missing
                .iter()
                .any(|m| m.contains("memory is not locked"))
        );
        let told = |word: &str| status.missing.iter().any(|m| m.contains(word));
        assert_eq!(!status.kept_awake, told("cpu_dma_latency"));
        assert_eq!(
            !status.preempt_rt,
            status.missing.iter().any(|m| m.contains("PREEMPT_RT"))
        );
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn denormals_are_flushed_in_the_thread_that_asked() {
        let tiny = |x: f64| std::hint::black_box(std::hint::black_box(f64::MIN_POSITIVE) * x);
        let flushed = std::thread::spawn(move || {
            flush_denormals();
            tiny(0.5)
        });
        assert_eq!(flushed.join().unwrap(), 0.0);
        assert!(tiny(0.5) > 0.0);
    }
}
