import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Thread } from '../../src/kernel/thread.ts';
import { ManualClock } from '../support/manual-clock.ts';

const moduleOf = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

// In a process of its own: what is tried here has V8 end the process where it goes wrong.
it('a thread that is terminated while it evaluates its modules ends afterwards, and its process lives on', async () => {
  const program = fileURLToPath(new URL('early-end/program.ts', import.meta.url));
  await expect(promisify(execFile)(process.execPath, [program])).resolves.toEqual({ stdout: 'ended', stderr: '' });
});

it('a thread whose modules are not evaluated within a minute is terminated all the same', async () => {
  const clock = new ManualClock();
  const thread = new Thread(moduleOf('for (;;);'), { clock });
  const ended = Promise.all([once(thread, 'exit'), thread.terminate()]);
  expect(clock.pending).toBe(1);
  await clock.advance(60_000);
  await ended;
  expect(clock.pending).toBe(0);
});

it.each(['process.exit(0)', 'throw new Error("it throws")'])(
  'a thread that has ended by itself is terminated at once: %s',
  async (code) => {
    const clock = new ManualClock();
    const thread = new Thread(moduleOf(code), { clock });
    await Promise.allSettled([once(thread, 'exit')]);
    await thread.terminate();
    expect(clock.pending).toBe(0);
  },
);
