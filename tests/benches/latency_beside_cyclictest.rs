//! Wake-up latency of our pacing beside `cyclictest` (Debian package rt-tests), in turn in the same
//! run, with the same period and priority. Prints both and their ratio.

use rt_core::pacing::{Pacer, RealClock};
use rt_core::rt_env::{self, RtRequest};
use rt_core::timing::Histogram;
use std::process::Command;

const PERIOD_US: u64 = 2000;
const PRIORITY: u8 = 80;
const LOOPS: u64 = 2500;
const ROUNDS: u32 = 3;

fn ours() -> f64 {
    let thread = std::thread::spawn(|| {
        let _rights = rt_env::request(RtRequest {
            priority: PRIORITY,
            cpu: None,
        });
        let (mut pacer, mut clock) = (Pacer::new(PERIOD_US * 1000), RealClock);
        let wake = Histogram::default();
        for _ in 0..LOOPS {
            wake.add(pacer.wait(&mut clock).late_nanos);
        }
        wake.percentile(0.99) as f64 * 1e-3
    });
    thread.join().unwrap_or(f64::NAN)
}

/// p99 in µs from cyclictest's histogram (`latency count` per line).
fn theirs() -> Result<f64, String> {
    let (period, loops, priority) = (
        PERIOD_US.to_string(),
        LOOPS.to_string(),
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
        .map(|c| c.0 as f64)
        .ok_or_else(|| format!("cyclictest printed no histogram: {text}"))
}

fn main() {
    println!(
        "p99 of the wake-up latency at {PERIOD_US} µs, priority {PRIORITY}, {LOOPS} cycles a round"
    );
    for round in 1..=ROUNDS {
        match theirs() {
            Ok(theirs) => {
                let ours = ours();
                println!(
                    "round {round}: pantobench {ours:7.1} µs   cyclictest {theirs:7.1} µs   ratio {:.2}",
                    ours / theirs.max(1.0)
                );
            }
            Err(e) => {
                eprintln!("{e}");
                return;
            }
        }
    }
}
