//! What a drive does alone as a person sees it, and that two programs never speak to one drive.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use drivers::drive_lock::DriveLock;
use std::net::UdpSocket;

#[test]
fn a_scan_shows_what_a_drive_does_alone() {
    let rig = root().join("assets/rigs/ethercat-dsa-380.ron");
    let rig = rig.display().to_string();
    let scan = pantobench(&["rig", "scan", &rig, "--fast", "--json"]);
    assert_eq!(scan.status.code(), Some(0), "{}", stderr(&scan));
    let scan = json(&scan);
    let settings = scan["devices"][0]["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 10, "{settings:?}");
    for setting in settings {
        assert_eq!(setting["agrees"], true, "{setting}");
        assert_eq!(setting["demanded"], setting["read_back"], "{setting}");
    }
    let connection = settings.iter().find(|s| s["object"] == "0x6007").unwrap();
    assert_eq!(connection["read_back"], 1);
    let text = stdout(&pantobench(&["rig", "scan", &rig, "--fast"]));
    for words in ["does alone", "0x605A", "quick stop option", "agrees"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The shipped LinMot rig with a port of its own, in a file; and a socket in the place of its drive.
fn own_rig(scratch: &Scratch) -> (String, UdpSocket) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    let assets = root().join("assets").canonicalize().unwrap();
    let text = std::fs::read_to_string(root().join("assets/rigs/linmot-udp-serial.ron")).unwrap();
    let text = text
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("/tmp/pantobench-amplifier", &scratch.path("amplifier"))
        .replace(
            "local_address: \"127.0.0.1\",",
            &format!("local_address: \"127.0.0.1\", local_port: 0, drive_port: {port},"),
        );
    (scratch.file("rig.ron", &text), socket)
}

#[test]
fn a_second_program_is_refused_with_exit_code_3_before_it_sends_a_byte() {
    let scratch = Scratch::new("drive-lock");
    let (rig, socket) = own_rig(&scratch);
    let session = scratch.file(
        "session.ron",
        &format!(
            r#"Session(title: "second", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
            rig: "{rig}", seconds: 1.0)"#
        ),
    );
    let _first = DriveLock::of_address(socket.local_addr().unwrap()).unwrap();
    for arguments in [&["rig", "scan", &rig][..], &["run", &session]] {
        let second = pantobench(arguments);
        let said = stderr(&second);
        assert_eq!(second.status.code(), Some(3), "{arguments:?}: {said}");
        let named = format!("in use by the process {}", std::process::id());
        assert!(said.contains(&named), "{arguments:?}: {said}");
        let mut buffer = [0; 128];
        assert!(socket.recv_from(&mut buffer).is_err(), "{arguments:?}");
    }
}
