import type { RunningDigest } from '../announced-digest.ts';

/** Castagnoli's polynomial, its bits reversed. */
const POLYNOMIAL = 0x82f63b78;
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

/** Computes CRC-32C (RFC 3720, appendix B.4), which Node does not have. */
export function startCrc32c(): RunningDigest {
  let value = ~0;
  return {
    update(chunk) {
      for (const byte of chunk) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
    },
    base64() {
      const bytes = Buffer.alloc(4);
      bytes.writeInt32BE(~value);
      return bytes.toString('base64');
    },
  };
}
