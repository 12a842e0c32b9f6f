import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KnownSuites } from '../../src/app/suites/known-suites.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';

const { signal } = new AbortController();
const SUITE = { name: 'first', environment: 'module:make', reward: { bounds: [0, 1] }, stop: { rule: 'fixed', episodes: 10 } };

async function written(scratch: ScratchDirectory, changes: object = {}): Promise<string> {
  const path = join(scratch.path, 'suite.json');
  await writeFile(`${path}.new`, JSON.stringify({ ...SUITE, ...changes }));
  await rename(`${path}.new`, path);
  return path;
}

describe('a suite file that is read again', () => {
  it('has its present content, however soon it was changed', async () => {
    await using scratch = await ScratchDirectory.make();
    const suites = new KnownSuites();
    for (const name of ['first', 'second', 'third']) {
      const path = await written(scratch, { name });
      expect((await suites.read(path, undefined, signal)).parsed.name).toBe(name);
    }
  });

  it('has the stopping rule that is asked for this time', async () => {
    await using scratch = await ScratchDirectory.make();
    const suites = new KnownSuites();
    const path = await written(scratch);
    for (const episodes of [10, 20, 10])
      expect((await suites.read(path, { rule: 'fixed', episodes }, signal)).parsed.stop).toMatchObject({ episodes });
  });

  it('is read and refused when it is no suite', async () => {
    await using scratch = await ScratchDirectory.make();
    const suites = new KnownSuites();
    await expect(suites.read(join(scratch.path, 'missing.json'), undefined, signal)).rejects.toMatchObject({ code: 'suite.missing' });
    await expect(suites.read(await written(scratch, { name: 7 }), undefined, signal)).rejects.toMatchObject({ code: 'suite.invalid' });
  });
});
