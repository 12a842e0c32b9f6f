/** Tensors by name; bf16 ones as their 16 bits each. */
export type Tensors = Readonly<Record<string, Uint16Array | Float32Array>>;

/** A file of safetensors. */
export function safetensorsFile(tensors: Tensors, metadata: Readonly<Record<string, string>> = {}): Buffer {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { length, byteLength, BYTES_PER_ELEMENT }]) => {
    const begin = end;
    end += byteLength;
    return [name, { dtype: BYTES_PER_ELEMENT === 2 ? 'BF16' : 'F32', shape: [length], data_offsets: [begin, end] }];
  });
  const header = Buffer.from(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const data = Object.values(tensors).map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  return Buffer.concat([length, header, ...data]);
}

/** Numbers that are the same each time, and of which no two runs are alike. */
export function scatter(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function weights(count: number, seed: number): Uint16Array {
  const next = scatter(seed);
  return Uint16Array.from({ length: count }, () => next() * 65_536);
}

/** Some of the numbers, at random, are other ones. */
export function trained(before: Uint16Array, share: number, seed: number): Uint16Array {
  const [next, after] = [scatter(seed), before.slice()];
  for (let i = 0; i < share * after.length; i += 1) after[Math.floor(next() * after.length)] = next() * 65_536;
  return after;
}
