import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import type { ReadAt } from '../../src/policy-distribution/formats/read-at.ts';
import { UntrustedFiles } from '../../src/policy-distribution/inspection/untrusted-files.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { safetensorsFile } from './safetensors-file.ts';

afterEach(() => vi.restoreAllMocks());

function inMemory(bytes: Uint8Array): { readonly order: { path: string; address: string; size: number }; readonly readAt: ReadAt } {
  const order = { path: 'policy.safetensors', address: 'gs://bucket/policy.safetensors', size: bytes.length };
  return { order, readAt: async (position, length) => bytes.subarray(position, position + length) };
}

/** The names alone are 4 MB. */
const large = safetensorsFile(
  Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`${at} ${'layer'.repeat(400)}`, new Float32Array([at])])),
);
const small = safetensorsFile({ w: new Float32Array([1, 2]) });

/** Turns of the event loop until it is settled. */
async function turnsOf(reading: Promise<unknown>): Promise<number> {
  let turns = 0;
  const settled = new AbortController();
  const settle = (): void => settled.abort();
  reading.then(settle, settle);
  for (; !settled.signal.aborted; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  return turns;
}

describe('an untrusted file', () => {
  it('is read in a thread if more than a megabyte of it is needed, while the event loop continues', async () => {
    const files = new UntrustedFiles(systemClock);
    const { order, readAt } = inMemory(large);
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const reading = files.read('layout', order, readAt);
    // Each stretch that the thread asks for is a turn.
    expect(await turnsOf(reading)).toBeGreaterThan(large.length / 2 ** 18);
    expect(posted).toHaveBeenCalled();
    const layout = await reading;
    expect(layout).toHaveLength(2001);
    expect(layout.at(-1)).toMatchObject({ begin: large.length - 4, size: 4, wordBytes: 4 });
  });

  it('is read without a thread if a little of it is enough', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const { order, readAt } = inMemory(small);
    expect(await new UntrustedFiles(systemClock).read('layout', order, readAt)).toHaveLength(2);
    expect(posted).not.toHaveBeenCalled();
  });

  it('is refused by a thread as without one, and errors of its source pass through', async () => {
    const files = new UntrustedFiles(systemClock);
    const { order, readAt } = inMemory(large.subarray(0, -1));
    await expect(files.read('check', order, readAt)).rejects.toMatchObject({
      name: 'InputError',
      code: 'checkpoint.safetensors',
      message: expect.stringContaining('gs://bucket/policy.safetensors'),
    });
    const gone = new Error('the disk is gone');
    const failing: ReadAt = async (position, length) => {
      if (position > 2 ** 21) throw gone;
      return readAt(position, length);
    };
    await expect(files.read('check', order, failing)).rejects.toBe(gone);
  });

  it('is given up with its thread when reading takes too long, and the next file is read', async () => {
    const clock = new ManualClock();
    const files = new UntrustedFiles(clock);
    const { order, readAt } = inMemory(large);
    const ended = vi.spyOn(Worker.prototype, 'terminate');
    // The thread hears of no bytes.
    vi.spyOn(Worker.prototype, 'postMessage').mockImplementationOnce(() => void clock.advance(60_000));
    await expect(files.read('check', order, readAt)).rejects.toMatchObject({
      name: 'InputError',
      code: 'checkpoint.bounds',
      message: expect.stringContaining('gs://bucket/policy.safetensors'),
    });
    expect(ended).toHaveBeenCalledTimes(1);
    await files.read('check', order, readAt);
    expect(clock.pending).toBe(0);
  });

  it('has all the time that its source takes', async () => {
    const clock = new ManualClock();
    const { order, readAt } = inMemory(large);
    const slow: ReadAt = async (position, length) => {
      await clock.advance(3_600_000);
      return readAt(position, length);
    };
    await expect(new UntrustedFiles(clock).read('check', order, slow)).resolves.toBeUndefined();
  });
});
