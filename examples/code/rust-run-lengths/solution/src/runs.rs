//! Run-length encoding of bytes: a count from 1 to 255, then the byte.

/// As few pairs as there can be.
pub fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut pairs = Vec::new();
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let count = rest.iter().take(255).take_while(|&&byte| byte == first).count();
        pairs.extend([count as u8, first]);
        rest = &rest[count..];
    }
    pairs
}

/// None for a pair that is cut off or has the count 0.
pub fn decode(pairs: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for pair in pairs.chunks(2) {
        match *pair {
            [count, byte] if count > 0 => bytes.extend(std::iter::repeat(byte).take(count.into())),
            _ => return None,
        }
    }
    Some(bytes)
}
