import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Interpolates between two checkpoints of the same network: `share` is the share of the second. Both are safetensors files with float32
 * tensors.
 */
export async function blendCheckpoints(from: string, to: string, share: number, into: string): Promise<void> {
  const [first, second] = await Promise.all([readFile(from), readFile(to)]);
  const [begin, other] = [findTensors(first), findTensors(second)];
  if (first.length - begin !== second.length - other) throw new Error(`${from} and ${to} are of different networks`);
  const blended = Buffer.from(first);
  for (let at = 0; at < first.length - begin; at += 4)
    blended.writeFloatLE((1 - share) * first.readFloatLE(begin + at) + share * second.readFloatLE(other + at), begin + at);
  await writeFile(into, blended);
}

/** Returns the position after the header, whose length precedes it. */
function findTensors(file: Buffer): number {
  return 8 + Number(file.readBigUInt64LE(0));
}

/** Writes the checkpoints of an imagined training: `versions` of them, from the first of the given ones to the last. @returns their paths. */
export async function writeRun(name: string, given: readonly string[], versions: number, directory: string): Promise<readonly string[]> {
  return await Promise.all(
    Array.from({ length: versions }, async (_, version) => {
      const place = (version / (versions - 1)) * (given.length - 1);
      const before = Math.min(Math.floor(place), given.length - 2);
      const into = join(directory, `${name}-${version}.safetensors`);
      await blendCheckpoints(given[before] ?? '', given[before + 1] ?? '', place - before, into);
      return into;
    }),
  );
}
