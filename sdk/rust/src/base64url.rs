//! base64url without padding (RFC 4648, section 5), as JSON web tokens have it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(crate) fn encode(data: &[u8]) -> String {
    let mut out = String::with_capacity(data.len() * 4 / 3 + 2);
    for chunk in data.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(chunk.get(i).copied().unwrap_or(0)));
        for i in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize]));
        }
    }
    out
}

/// `None` for anything but the one text that `encode` makes.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for c in text.bytes() {
        let value = ALPHABET.iter().position(|&a| a == c)?;
        bits = (bits << 6 | value as u32) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    (encode(&out) == text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn goes_there_and_back() {
        for (data, text) in
            [(&b""[..], ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xff\xfe\xfd\xfc", "__79_A")]
        {
            assert_eq!(encode(data), text);
            assert_eq!(decode(text).as_deref(), Some(data));
        }
        for wrong in ["Z", "Zg==", "Zh", "Zm9v\n", "Zm9/", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
