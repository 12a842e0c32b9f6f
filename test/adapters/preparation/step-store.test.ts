import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { StepStore } from '../../../src/adapters/preparation/step-store.ts';

it('a finished step is not repeated, unless its inputs differ, it failed, or its result is not final', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-steps-'));
  try {
    const taken: number[] = [];
    const take = (input: number, isFinal?: (made: number) => boolean): Promise<number> =>
      new StepStore(directory).remember(
        'run',
        { input },
        z.number(),
        async () => {
          taken.push(input);
          return input;
        },
        isFinal,
      );
    await take(1);
    expect(await take(1)).toBe(1);
    await take(2);
    expect(taken).toEqual([1, 2]);
    await take(3, () => false);
    await take(3, () => true);
    await take(3);
    expect(taken).toEqual([1, 2, 3, 3]);
    const failing = new StepStore(directory).remember('run', { input: 4 }, z.number(), () => Promise.reject(new RangeError('a defect')));
    await expect(failing).rejects.toThrow('a defect');
    expect(await take(4)).toBe(4);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
