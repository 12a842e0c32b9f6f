//! Run-length encoding of bytes: a count from 1 to 255, then the byte.

/// As few pairs as there can be.
pub fn encode(_bytes: &[u8]) -> Vec<u8> {
    todo!()
}

/// None for a pair that is cut off or has the count 0.
pub fn decode(_pairs: &[u8]) -> Option<Vec<u8>> {
    todo!()
}
