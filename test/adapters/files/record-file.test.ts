import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dependent } from '../../../scripts/dependent-process.ts';
import { createRecordFile } from '../../../src/adapters/files/record-file.ts';
import { systemClock } from '../../../src/kernel/clock.ts';

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'muster-test-'))));
afterEach(() => rm(directory, { recursive: true }));

describe('the record of a watch', () => {
  it('is held by one process at a time, and free when that process has ended', async () => {
    const path = join(directory, 'watches/run.json');
    const [first, second, other] = [path, path, join(directory, 'watches/other.json')].map((each) => createRecordFile(each, systemClock));
    {
      await using _held = await first?.hold();
      await expect(second?.hold()).rejects.toMatchObject({ kind: 'input', code: 'watch.held', message: expect.stringContaining(path) });
      await using _another = await other?.hold();
    }
    await using _again = await second?.hold();
    await _again?.[Symbol.asyncDispose]();
    expect(await readdir(join(directory, 'watches'))).toEqual([]);
  });

  it('is free when the process that held it was killed', async () => {
    const path = join(directory, 'watches/run.json');
    const module = new URL('../../../src/adapters/files/record-file.ts', import.meta.url).href;
    const clock = new URL('../../../src/kernel/clock.ts', import.meta.url).href;
    const program = `
      const [{ createRecordFile }, { systemClock }] = await Promise.all([import(${JSON.stringify(module)}), import(${JSON.stringify(clock)})]);
      await createRecordFile(${JSON.stringify(path)}, systemClock).hold();
      process.stdout.write('held');
      setInterval(() => {}, 1000);`;
    const holder = spawn(...dependent(process.execPath, ['--input-type=module', '--eval', program]), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    const next = createRecordFile(path, systemClock);
    await expect(next.hold()).rejects.toMatchObject({ code: 'watch.held' });
    holder.kill('SIGKILL');
    await once(holder, 'close');
    await using _held = await next.hold();
    expect(await readdir(join(directory, 'watches'))).toHaveLength(1);
  });
});
