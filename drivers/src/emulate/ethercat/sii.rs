//! The memory that an emulated device is known by (SII): identity, mailbox, sync managers, FMMUs.

use super::esc::{INPUTS_AT, MAILBOX_IN, MAILBOX_LEN, MAILBOX_OUT, OUTPUTS_AT};

/// Who a device says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Vendor identity.
    pub vendor: u32,
    /// Product code.
    pub product: u32,
    /// Revision.
    pub revision: u32,
}

/// Word in which the product code begins.
pub const PRODUCT: usize = 0x0A;

const CATEGORY_STRINGS: u16 = 10;
const CATEGORY_GENERAL: u16 = 30;
const CATEGORY_FMMU: u16 = 40;
const CATEGORY_SYNC_MANAGER: u16 = 41;
const CATEGORY_END: u16 = 0xFFFF;
const FIRST_CATEGORY: usize = 0x40 * 2;
/// CoE is the only mailbox protocol.
const PROTOCOL_COE: u16 = 0x0004;

/// Length of the memory in bytes.
const SIZE: usize = 1024;

/// The whole memory of a device with a mailbox, outputs and inputs.
pub fn image(identity: Identity, serial: u32, name: &str) -> Vec<u8> {
    let mut image = vec![0; FIRST_CATEGORY];
    let mut word = |at: usize, value: u16| super::wire_u16(&mut image, at * 2, value);
    for (at, value) in [
        (0x08, identity.vendor),
        (PRODUCT, identity.product),
        (0x0C, identity.revision),
        (0x0E, serial),
    ] {
        word(at, value as u16);
        word(at + 1, (value >> 16) as u16);
    }
    word(0x18, MAILBOX_OUT);
    word(0x19, MAILBOX_LEN);
    word(0x1A, MAILBOX_IN);
    word(0x1B, MAILBOX_LEN);
    word(0x1C, PROTOCOL_COE);
    // Size in kbit less one, version 1.
    word(0x3E, (SIZE / 128 - 1) as u16);
    word(0x3F, 1);

    // Names longer than 64 bytes are refused by what reads them.
    let name: Vec<u8> = name.bytes().filter(u8::is_ascii).take(60).collect();
    let mut strings = vec![1, name.len() as u8];
    strings.extend(&name);
    push(&mut image, CATEGORY_STRINGS, strings);
    let mut general = vec![0; 32];
    general[2] = 1;
    general[3] = 1;
    // SDO, PDO assignment and PDO configuration.
    general[5] = 0x01 | 0x04 | 0x08;
    // Both ports are MII.
    general[14] = 0x11;
    push(&mut image, CATEGORY_GENERAL, general);
    push(&mut image, CATEGORY_FMMU, vec![1, 2, 3, 0]);
    let mut managers = Vec::new();
    for (at, len, control, usage) in [
        (MAILBOX_OUT, MAILBOX_LEN, 0x26, 1),
        (MAILBOX_IN, MAILBOX_LEN, 0x22, 2),
        (OUTPUTS_AT, 0, 0x64, 3),
        (INPUTS_AT, 0, 0x20, 4),
    ] {
        managers.extend(at.to_le_bytes());
        managers.extend(u16::to_le_bytes(len));
        managers.extend([control, 0, 1, usage]);
    }
    push(&mut image, CATEGORY_SYNC_MANAGER, managers);
    image.extend(CATEGORY_END.to_le_bytes());
    image.resize(SIZE, 0xFF);
    image
}

fn push(image: &mut Vec<u8>, category: u16, mut content: Vec<u8>) {
    if content.len() % 2 == 1 {
        content.push(0);
    }
    image.extend(category.to_le_bytes());
    image.extend(((content.len() / 2) as u16).to_le_bytes());
    image.extend(content);
}
