//! `pantobench latency`: how late a real-time thread wakes up on this machine, like `cyclictest`.

use super::Failure;
use rt_core::pacing::{Pacer, RealClock};
use rt_core::rt_env::{self, RtRequest, RtStatus};
use rt_core::timing::Histogram;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Arguments of `pantobench latency`.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench latency --period-us 2000 --seconds 10"
)]
pub struct Arguments {
    /// Period of the wake-ups, in µs (50 to 1000000).
    #[arg(long, default_value_t = 2000, value_name = "N")]
    period_us: u64,
    /// How long to measure, in s (0.01 to 86400).
    #[arg(long, default_value_t = 10.0, value_name = "S")]
    seconds: f64,
    /// SCHED_FIFO priority (1 to 99).
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u8).range(1..=99), value_name = "P")]
    priority: u8,
    /// Processor to stay on.
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

struct Measured {
    wake: Histogram,
    cycles: u64,
    misses: u64,
    rt: RtStatus,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if !(50..=1_000_000).contains(&arguments.period_us) {
        return Err(Failure::Input(format!(
            "--period-us {} is refused: it must lie within 50 to 1000000 µs",
            arguments.period_us
        )));
    }
    if !(0.01..=86_400.0).contains(&arguments.seconds) {
        return Err(Failure::Input(format!(
            "--seconds {} is refused: it must lie within 0.01 to 86400 s",
            arguments.seconds
        )));
    }
    let stop = super::run::stop_flag()?;
    let wanted = RtRequest {
        priority: arguments.priority,
        cpu: arguments.cpu,
    };
    let (period_us, seconds) = (arguments.period_us, arguments.seconds);
    let thread = std::thread::Builder::new()
        .name("pantobench-latency".into())
        .spawn(move || measure(period_us, seconds, wanted, &stop))
        .map_err(|e| {
            Failure::Environment(format!("the measuring thread could not be started: {e}"))
        })?;
    let measured = thread
        .join()
        .map_err(|_| Failure::Environment("the measuring thread ended unexpectedly".into()))?;
    if arguments.json {
        print_json(period_us, &measured)
    } else {
        print_text(period_us, &measured)
    }
    Ok(())
}

fn measure(period_us: u64, seconds: f64, wanted: RtRequest, stop: &Arc<AtomicBool>) -> Measured {
    let rights = rt_env::request(wanted);
    let mut pacer = Pacer::new(period_us * 1000);
    let mut clock = RealClock;
    let wake = Histogram::default();
    let ticks = (seconds * 1e6 / period_us as f64).ceil() as u64;
    let (mut cycles, mut misses) = (0, 0);
    loop {
        let tick = pacer.wait(&mut clock);
        wake.add(tick.late_nanos);
        cycles += 1;
        misses += tick.skipped;
        if tick.seq + 1 >= ticks || stop.load(Ordering::Relaxed) {
            return Measured {
                wake,
                cycles,
                misses,
                rt: rights.status.clone(),
            };
        }
    }
}

const US: f64 = 1e-3;

fn print_json(period_us: u64, m: &Measured) {
    let p = |share| m.wake.percentile(share) as f64 * US;
    say!(
        "{}",
        json!({
            "period_us": period_us,
            "cycles": m.cycles,
            "misses": m.misses,
            "wake_us": { "p50": p(0.5), "p99": p(0.99), "p999": p(0.999), "max": m.wake.max() as f64 * US },
            "rt": {
                "scheduler": m.rt.scheduler,
                "priority": m.rt.priority,
                "memory_locked": m.rt.memory_locked,
                "governor": m.rt.governor,
                "preempt_rt": m.rt.preempt_rt,
                "cpu": m.rt.cpu,
                "kept_awake": m.rt.kept_awake,
                "missing": m.rt.missing,
            },
        })
    );
}

fn print_text(period_us: u64, m: &Measured) {
    say!(
        "wake-up latency at {period_us} µs over {} cycles, {} missed",
        m.cycles,
        m.misses
    );
    let p = |share| m.wake.percentile(share) as f64 * US;
    say!(
        "p50 {:.1} µs   p99 {:.1} µs   p99.9 {:.1} µs   max {:.1} µs\n",
        p(0.5),
        p(0.99),
        p(0.999),
        m.wake.max() as f64 * US
    );
    // Powers of two in µs: fine enough to read, few enough to fit.
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for (from, _, count) in m.wake.filled_buckets() {
        let bound = (from / 1000 + 1).next_power_of_two();
        match rows.last_mut() {
            Some((last, n)) if *last == bound => *n += count,
            _ => rows.push((bound, count)),
        }
    }
    let most = rows.iter().map(|r| r.1).max().unwrap_or(1);
    for (bound, count) in rows {
        // A logarithmic bar: one late wake-up among a million must be seen.
        let bar = (40.0 * (count as f64 + 1.0).ln() / (most as f64 + 1.0).ln()).ceil() as usize;
        say!(
            "{:>9} µs {:>10}  {}",
            format!("< {bound}"),
            count,
            "█".repeat(bar)
        );
    }
    say!(
        "\nscheduler {}{}, memory {}, governor {}, kernel {}",
        m.rt.scheduler,
        m.rt.priority.map_or(String::new(), |p| format!(" {p}")),
        if m.rt.memory_locked {
            "locked"
        } else {
            "not locked"
        },
        m.rt.governor.as_deref().unwrap_or("unknown"),
        if m.rt.preempt_rt {
            "PREEMPT_RT"
        } else {
            "not PREEMPT_RT"
        },
    );
    for missing in &m.rt.missing {
        say!("- {missing}");
    }
}
