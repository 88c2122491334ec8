//! The answer that a runtime asks for at its start. With a wrong answer every runtime call fails with error 103.
//!
//! Only the simulated driver needs it, so that NVIDIA's real runtimes run without a GPU, in tests and in the demo. It
//! is not part of tracing: with a real driver, cutap passes question and answer on unchanged.
//!
//! A runtime calls slot 1 of the table d4082055 as `(version, seconds, out[16])`, with its version + 0, 1 and 2.
//! The third answer is HMAC (RFC 2104, 16-byte block) with MD2 (RFC 1319) over data that both sides know, in order:
//! - driver version, runtime version, process, thread;
//! - the addresses of two tables and of the function in the slot, and the seconds;
//! - uuid and PCI address of every device.
//!
//! The other two answers are fixed. Only runtimes before 12 check them.

use crate::driver::device::{count, pci, uuid};
use cutap_machine::config;

const KEY: [u8; 16] = [0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f];

const FIXED: [u8; 16] =
    [0x5c, 0x67, 0xcb, 0x03, 0x1c, 0x18, 0x41, 0x33, 0xe8, 0xd1, 0x4c, 0x1f, 0xaa, 0x83, 0xd3, 0x8e];

/// What the answer says about the two tables.
pub struct Tables {
    /// Addresses of the runtime's table and of the table with the check.
    pub cudart: u64,
    pub check: u64,
    /// Words 0 and 1 of the table with the check: its size in bytes, and the function that answers.
    pub check_size: u64,
    pub function: u64,
}

pub fn answer(version: u32, seconds: u64, tables: &Tables) -> [u8; 16] {
    let mut answer = FIXED;
    match version % 10 {
        0 => {}
        1 => answer[7] = tables.check_size as u8,
        _ => answer = keyed(version, seconds, tables),
    }
    answer
}

fn keyed(version: u32, seconds: u64, tables: &Tables) -> [u8; 16] {
    // SAFETY: it has no preconditions.
    let thread = unsafe { libc::pthread_self() } as u32;
    let mut message = Vec::new();
    for word in [config().driver, version, std::process::id(), thread] {
        message.extend(word.to_le_bytes());
    }
    for word in [tables.cudart, tables.check, tables.function, seconds] {
        message.extend(word.to_le_bytes());
    }
    for ordinal in 0..count() {
        message.extend(uuid(ordinal));
        message.extend(pci(ordinal).into_iter().flat_map(i32::to_le_bytes));
    }
    let keyed = |pad: u8, text: &[u8]| md2(&[&KEY.map(|b| b ^ pad), text].concat());
    keyed(0x5c, &keyed(0x36, &message))
}

fn md2(text: &[u8]) -> [u8; 16] {
    let fill = 16 - text.len() % 16;
    let mut text = text.to_vec();
    text.resize(text.len() + fill, fill as u8);
    let mut sum = [0u8; 16];
    let mut last = 0;
    for block in text.chunks(16) {
        for (byte, sum) in block.iter().zip(&mut sum) {
            *sum ^= S[usize::from(byte ^ last)];
            last = *sum;
        }
    }
    text.extend(sum);
    let mut state = [0u8; 48];
    for block in text.chunks(16) {
        for (i, byte) in block.iter().enumerate() {
            state[16 + i] = *byte;
            state[32 + i] = byte ^ state[i];
        }
        let mut t = 0u8;
        for round in 0..18 {
            for byte in &mut state {
                *byte ^= S[usize::from(t)];
                t = *byte;
            }
            t = t.wrapping_add(round);
        }
    }
    let mut out = [0; 16];
    out.copy_from_slice(&state[..16]);
    out
}

/// RFC 1319's substitution table.
#[rustfmt::skip]
const S: [u8; 256] = [
    41, 46, 67, 201, 162, 216, 124, 1, 61, 54, 84, 161, 236, 240, 6, 19,
    98, 167, 5, 243, 192, 199, 115, 140, 152, 147, 43, 217, 188, 76, 130, 202,
    30, 155, 87, 60, 253, 212, 224, 22, 103, 66, 111, 24, 138, 23, 229, 18,
    190, 78, 196, 214, 218, 158, 222, 73, 160, 251, 245, 142, 187, 47, 238, 122,
    169, 104, 121, 145, 21, 178, 7, 63, 148, 194, 16, 137, 11, 34, 95, 33,
    128, 127, 93, 154, 90, 144, 50, 39, 53, 62, 204, 231, 191, 247, 151, 3,
    255, 25, 48, 179, 72, 165, 181, 209, 215, 94, 146, 42, 172, 86, 170, 198,
    79, 184, 56, 210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4, 241,
    69, 157, 112, 89, 100, 113, 135, 32, 134, 91, 207, 101, 230, 45, 168, 2,
    27, 96, 37, 173, 174, 176, 185, 246, 28, 70, 97, 105, 52, 64, 126, 15,
    85, 71, 163, 35, 221, 81, 175, 58, 195, 92, 249, 206, 186, 197, 234, 38,
    44, 83, 13, 110, 133, 40, 132, 9, 211, 223, 205, 244, 65, 129, 77, 82,
    106, 220, 55, 200, 108, 193, 171, 250, 36, 225, 123, 8, 12, 189, 177, 74,
    120, 136, 149, 139, 227, 99, 232, 109, 233, 203, 213, 254, 59, 0, 29, 57,
    242, 239, 183, 14, 102, 88, 208, 228, 166, 119, 114, 248, 235, 117, 75, 10,
    49, 68, 80, 180, 143, 237, 31, 26, 219, 153, 141, 51, 159, 17, 131, 20,
];

#[cfg(test)]
mod tests {
    #[test]
    fn md2_is_that_of_rfc_1319() {
        let hex = |text: &[u8]| super::md2(text).map(|b| format!("{b:02x}")).concat();
        assert_eq!(hex(b""), "8350e5a3e24c153df2275c9f80692773");
        assert_eq!(hex(b"abc"), "da853b0d3f88d99b30283a69e6ded6bb");
        assert_eq!(hex(b"abcdefghijklmnopqrstuvwxyz"), "4e8ddff3650292ab5a4108c3aa47940b");
    }
}
