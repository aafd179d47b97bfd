//! Mutated datagrams and bytes through every parser: nothing may panic, hang or be taken for something that it is not.
//!
//! `PANTOBENCH_MUTATIONS` sets how many of each kind; the default is small enough for every build.

use drivers::linmot::{Reference, Telegram};
use drivers::linudp::protocol::{
    ASKED, LONGEST, Request, Response, read_request, read_response, write_request, write_response,
};
use drivers::serial::amplifier::{Reader, write_frame, write_line};
use drivers::serial::checksum::Checksum;
use drivers::serial::config::{AsciiConfig, AsciiField, BinaryConfig, BinaryField, Format};
use drivers::serial::frame::Window;
use drivers::serial::linrs::{self, LinRsConfig};

fn count() -> u64 {
    let wanted = std::env::var("PANTOBENCH_MUTATIONS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

/// Changes bytes, bits, length and order; sometimes nothing at all.
fn mutate(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(0..4) {
        let at = random.usize(0..bytes.len().max(1));
        match random.u8(0..8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), random.u8(..)),
            2 => bytes.extend((0..random.usize(0..40)).map(|_| random.u8(..))),
            3 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            4 if !bytes.is_empty() => bytes[at] ^= 1 << random.u8(0..8),
            5 if !bytes.is_empty() => {
                bytes[at] = [0, 1, 0x7F, 0x80, 0xFF, b'.', b',', b'\n'][random.usize(0..8)]
            }
            6 => bytes.reverse(),
            _ if !bytes.is_empty() => bytes[at] = random.u8(..),
            _ => {}
        }
    }
}

#[test]
fn datagrams() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut understood = [0_u64; 2];
    for _ in 0..count() / 2 {
        let telegram = Telegram {
            control: random.u16(..),
            reference: random.bool().then(|| Reference {
                count: random.u8(0..16),
                counts: random.i32(..),
            }),
        };
        let mut buffer = [0; LONGEST];
        let len = write_request(&telegram, &mut buffer);
        let mut bytes = buffer[..len].to_vec();
        mutate(&mut random, &mut bytes);
        understood[0] += u64::from(read_request(&bytes).is_ok());

        let request = Request {
            asked: ASKED,
            bits: u32::from(random.u8(0..8)),
            ..Request::default()
        };
        let response = Response {
            status: random.u16(..),
            position: random.i32(..),
            current: random.i16(..),
            ..Response::default()
        };
        let len = write_response(&request, &response, &mut buffer);
        let mut bytes = buffer[..len].to_vec();
        let before = bytes.clone();
        mutate(&mut random, &mut bytes);
        if let Ok(read) = read_response(&bytes) {
            understood[1] += 1;
            assert!(bytes != before || read == response);
        }
    }
    let least = count() / 20;
    assert!(
        understood.iter().all(|n| *n > least),
        "{understood:?}: the mutations leave too little"
    );
}

fn linrs(checksum: Checksum) -> LinRsConfig {
    LinRsConfig {
        id: 0x11,
        checksum,
        checksum_covers_header: false,
        zero_m: 0.0,
        is_reversed: false,
        home_bit: None,
        drive_timeout_s: None,
        n_com: 1,
        enable_s: 1.0,
        home_s: 30.0,
    }
}

#[test]
fn drives_on_a_line() {
    let mut random = fastrand::Rng::with_seed(2);
    let config = linrs(Checksum::Crc16Ccitt);
    let (mut to_rig, mut to_drive) = (Window::default(), Window::default());
    let (mut found, mut wrong, mut requests) = (0_u64, 0_u64, 0_u64);
    for _ in 0..count() / 2 {
        let response = linrs::Response {
            status: random.u16(..),
            position: random.i32(-1_000_000..1_000_000),
            ..linrs::Response::default()
        };
        let mut out = [0; linrs::LONGEST];
        let len = config.write_response(&response, &mut out);
        let mut bytes = out[..len].to_vec();
        mutate(&mut random, &mut bytes);
        for byte in bytes {
            to_rig.push(
                byte,
                |b| config.look_for_response(b),
                |frame| {
                    let read = linrs::read_response(frame).unwrap();
                    found += 1;
                    wrong += u64::from(read.position.abs() > 1_000_000);
                },
            );
        }
        let request = if random.bool() {
            linrs::Request::Control(0x3F)
        } else {
            linrs::Request::Motion {
                header: 0x0305,
                position: response.position,
            }
        };
        let len = config.write_request(&request, &mut out);
        let mut bytes = out[..len].to_vec();
        mutate(&mut random, &mut bytes);
        for byte in bytes {
            to_drive.push(
                byte,
                |b| config.look_for_request(b),
                |f| requests += u64::from(linrs::read_request(f).is_some()),
            );
        }
    }
    assert!(
        found > count() / 20 && requests > count() / 20,
        "{found} {requests}"
    );
    // One damaged telegram in 65536 has the right checksum by chance, and not even all of those show.
    assert!(wrong <= 5 + count() / 20_000, "{wrong} of {found}");
}

#[test]
fn amplifiers() {
    let mut random = fastrand::Rng::with_seed(3);
    let ascii = AsciiConfig {
        terminator: "\r\n".into(),
        separator: ",".into(),
        prefix: String::new(),
        fields: vec![
            AsciiField {
                name: "a".into(),
                index: 0,
                scale: 1.0,
            },
            AsciiField {
                name: "b".into(),
                index: 3,
                scale: -2.0,
            },
        ],
        start: String::new(),
    };
    let binary = BinaryConfig {
        header: vec![0xAA, 0x55],
        length: 12,
        fields: vec![
            BinaryField {
                name: "a".into(),
                offset: 2,
                format: Format::F32Le,
                scale: 1.0,
            },
            BinaryField {
                name: "b".into(),
                offset: 6,
                format: Format::I24Be,
                scale: 0.1,
            },
        ],
        checksum: Checksum::Crc16Modbus,
        checksum_from: 0,
        start: Vec::new(),
    };
    let mut readers = [Reader::ascii(&ascii), Reader::binary(&binary)];
    let mut found = [0_u64; 2];
    for _ in 0..count() / 2 {
        let values = [random.f64() * 1e3, random.f64() * 1e3];
        for (kind, reader) in readers.iter_mut().enumerate() {
            let mut bytes = Vec::new();
            if kind == 0 {
                write_line(&ascii, &values, &mut bytes);
            } else {
                write_frame(&binary, &values, &mut bytes);
            }
            mutate(&mut random, &mut bytes);
            for byte in bytes {
                reader.push(byte, |values| {
                    found[kind] += 1;
                    assert!(values.iter().all(|v| v.is_finite()), "{values:?}");
                });
            }
        }
    }
    assert!(found.iter().all(|n| *n > count() / 20), "{found:?}");
}

/// Bytes that never were anything.
#[test]
fn rubbish() {
    let mut random = fastrand::Rng::with_seed(4);
    let config = linrs(Checksum::None);
    let mut window = Window::default();
    for _ in 0..count() {
        let byte = [0x01, 0x11, 12, 0x02, 0, 0, random.u8(..)][random.usize(0..7)];
        window.push(
            byte,
            |b| config.look_for_response(b),
            |frame| {
                assert!(linrs::read_response(frame).is_some());
            },
        );
        let len = random.usize(0..80);
        let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
        let _ = read_response(&bytes);
        let _ = read_request(&bytes);
    }
}
