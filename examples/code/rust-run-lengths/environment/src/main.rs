mod runs;

use std::io::{Read, Write};

fn main() {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("input");
    let output = match std::env::args().nth(1).as_deref() {
        Some("decode") => match runs::decode(&input) {
            Some(bytes) => bytes,
            None => b"error".to_vec(),
        },
        _ => runs::encode(&input),
    };
    std::io::stdout().write_all(&output).expect("output");
}
