import { open, truncate } from 'node:fs/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { FileStretches } from '../../src/policy-distribution/files/file-stretches.ts';
import { weights } from './safetensors-file.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const BYTES = 3 * 2 ** 20 + 17;
const CONTENT = Buffer.from(weights(BYTES, 1).buffer, 0, BYTES);

afterEach(() => vi.restoreAllMocks());

/** How often a file is read, whichever. */
async function reads({ path }: ScratchDirectory): Promise<MockInstance> {
  await using handle = await open(path);
  const prototype: typeof handle = Object.getPrototypeOf(handle);
  return vi.spyOn(prototype, 'read');
}

async function stretch(file: FileStretches, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  await file.readInto(buffer, at);
  return buffer;
}

describe('a file that is read in stretches', () => {
  it('returns each stretch unchanged, short or long, in any order, and several at a time', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('file', CONTENT);
    const begin = fc.nat(BYTES);
    const places = fc.array(fc.tuple(begin, fc.oneof(fc.nat(2000), fc.nat(BYTES))), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(places, fc.boolean(), async (asked, isTogether) => {
        await using file = await FileStretches.open(path);
        if (!file) throw new Error('it is there');
        const reading = asked.map(([at, most]) => async (): Promise<boolean> => {
          const length = Math.min(most, BYTES - at);
          return (await stretch(file, at, length)).equals(CONTENT.subarray(at, at + length));
        });
        const found: boolean[] = isTogether ? await Promise.all(reading.map((read) => read())) : [];
        if (!isTogether) for (const read of reading) found.push(await read());
        expect(found).toEqual(asked.map(() => true));
      }),
      { numRuns: 60 },
    );
  });

  it('is read a few times for thousands of consecutive pieces', async () => {
    await using scratch = await ScratchDirectory.make();
    await using file = await FileStretches.open(await scratch.put('file', CONTENT));
    if (!file) throw new Error('it is there');
    const read = await reads(scratch);
    for (let at = 0; at + 700 <= BYTES; at += 700) await stretch(file, at, 700);
    expect(read.mock.calls.length).toBeLessThan(12);
  });

  it('reports its end when it was truncated since it was opened', async () => {
    await using scratch = await ScratchDirectory.make();
    const path = await scratch.put('file', CONTENT);
    await using file = await FileStretches.open(path);
    if (!file) throw new Error('it is there');
    await truncate(path, 2 ** 20);
    for (const length of [100, 2 ** 20])
      await expect(stretch(file, 2 ** 20 - 50, length)).rejects.toMatchObject({
        code: 'store.damaged',
        message: expect.stringContaining(`ends at byte ${2 ** 20}; it had ${BYTES} bytes`),
      });
  });
});
