//! Wake-up latency of our pacing beside `cyclictest` (Debian package rt-tests), in turns in the same
//! run, with the same period and priority.
//!
//! `cargo bench -p integration-tests --bench latency_beside_cyclictest`. Without `cyclictest` only our own.

#[path = "../../rt-core/benches/figures/mod.rs"]
mod figures;

use rt_core::pacing::{Pacer, RealClock};
use rt_core::rt_env::{self, RtRequest};
use rt_core::timing::Histogram;
use std::process::{Command, ExitCode};

const PERIOD_US: u64 = 2000;
const PRIORITY: u8 = 80;

/// p99 in s.
fn ours(loops: u64) -> f64 {
    let thread = std::thread::spawn(move || {
        let _rights = rt_env::request(RtRequest {
            priority: PRIORITY,
            cpu: None,
        });
        let (mut pacer, mut clock) = (Pacer::new(PERIOD_US * 1000), RealClock);
        let wake = Histogram::default();
        for _ in 0..loops {
            wake.add(pacer.wait(&mut clock).late_nanos);
        }
        wake.percentile(0.99) as f64 * 1e-9
    });
    thread.join().unwrap_or(f64::NAN)
}

/// p99 in s, at least 1 µs, from cyclictest's histogram (`latency count` per line).
fn theirs(loops: u64) -> Result<f64, String> {
    let (period, loops, priority) = (
        PERIOD_US.to_string(),
        loops.to_string(),
        PRIORITY.to_string(),
    );
    let arguments = [
        "-m", "-q", "-i", &period, "-l", &loops, "-p", &priority, "-t", "1", "-h", "20000",
    ];
    let output = Command::new("cyclictest")
        .args(arguments)
        .output()
        .map_err(|e| {
            format!("cyclictest cannot be run ({e}); install it with 'apt-get install rt-tests'")
        })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let counts: Vec<(u64, u64)> = text
        .lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| {
            let mut fields = l.split_whitespace().map(str::parse::<u64>);
            Some((fields.next()?.ok()?, fields.next()?.ok()?))
        })
        .collect();
    let total: u64 = counts.iter().map(|c| c.1).sum();
    let mut seen = 0;
    let found = counts.iter().find(|c| {
        seen += c.1;
        seen as f64 >= 0.99 * total as f64
    });
    found
        .map(|c| c.0.max(1) as f64 * 1e-6)
        .ok_or_else(|| format!("cyclictest printed no histogram: {text}"))
}

fn main() -> ExitCode {
    figures::run(|figures| {
        let loops = figures.choose(100, 2500);
        figures.say(&format!(
            "p99 of {loops} wake-ups at {PERIOD_US} µs, priority {PRIORITY}"
        ));
        if let Err(why) = theirs(10) {
            figures.left_out(&format!("the ratio to cyclictest: {why}"));
            let [ours] = figures.in_turns(5, || Ok([ours(loops)]))?;
            return figures.time("pantobench", &ours);
        }
        let [ours, theirs] = figures.in_turns(5, || Ok([ours(loops), theirs(loops)?]))?;
        figures.time("pantobench", &ours)?;
        figures.time("cyclictest", &theirs)?;
        figures.ratio("wake-up", "latencies of cyclictest", &ours, &theirs)
    })
}
