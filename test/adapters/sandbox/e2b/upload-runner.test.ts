import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Sandbox } from 'e2b';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { uploadMounts } from '../../../../src/adapters/sandbox/e2b/upload-mounts.ts';
import { uploadRunner } from '../../../../src/adapters/sandbox/e2b/upload-runner.ts';
import { getMessage } from '../../../../src/kernel/errors.ts';
import { E2bContext, PROJECT } from '../../../support/e2b/e2b-context.ts';
import type { Fault } from '../../../support/e2b/faults.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { SIMULATED_TEMPLATE } from '../../../support/e2b/simulator.ts';
import { HurriedClock } from '../../../support/hurried-clock.ts';

useRealSockets();
const NEVER = new AbortController().signal;
const PLACE = { projectDirectory: PROJECT, python: 'python3' };
/** Turns of the event loop from the first request on: more than it takes to build a form of all files. */
const TURNS = 150;
/** Longer than any of these tests: a sandbox without such a setting lives for 15 s. */
const LIFE_MS = 600_000;

/** Uncaught errors, which would end a server. */
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(() => void process.off('unhandledRejection', note));

async function withSandbox(faults: readonly Fault[], act: (remote: Sandbox, context: E2bContext) => Promise<void>): Promise<void> {
  await using context = await E2bContext.open([], { faults });
  const remote = await Sandbox.create(SIMULATED_TEMPLATE, { ...context.simulator.credentials, timeoutMs: LIFE_MS });
  await act(remote, context);
  expect(uncaught).toEqual([]);
}

test('every file of the runner is in the sandbox unchanged', async () => {
  const directory = path.join(PROJECT, 'runner');
  const files = (await readdir(directory, { recursive: true })).filter((file) => file.endsWith('.py'));
  await withSandbox([], async (remote, context) => {
    await uploadRunner(remote, PLACE, context.clock, NEVER);
    const listed = await remote.commands.run('cd /muster/runner && find . -type f | sort | xargs cat', { user: 'root' });
    const contents = await Promise.all(
      files
        .map((file) => `./${file}`)
        .sort()
        .map((file) => readFile(path.join(directory, file), 'utf8')),
    );
    expect(listed.stdout).toBe(contents.join(''));
    const left = await remote.commands.run('ls /muster/incomplete', { user: 'root' });
    expect(left.stdout).toBe('');
  });
});

test('an upload that is cancelled at its start ends with the reason, and nothing else fails', async () => {
  await withSandbox([], async (remote, context) => {
    const requests = vi.spyOn(remote.files, 'write');
    for (let turns = 0; turns < TURNS; turns += 3) {
      const calling = new AbortController();
      requests.mockClear();
      const upload = uploadRunner(remote, PLACE, context.clock, calling.signal).then(() => 'done', getMessage);
      while (requests.mock.calls.length === 0) await turn();
      for (let i = 0; i < turns; i += 1) await turn();
      calling.abort(new Error('called off'));
      expect(await upload).toMatch(/^(called off|done)$/);
    }
  });
});

test('a connection that breaks before or after the file has come is made again', async () => {
  const faults: readonly Fault[] = [
    { route: 'upload', nth: 1, kind: 'dropped' },
    { route: 'upload', nth: 2, kind: 'answer-dropped' },
  ];
  await withSandbox(faults, async (remote, context) => {
    await uploadRunner(remote, PLACE, new HurriedClock(100), NEVER);
    expect(context.simulator.faults.requests.upload).toBe(3);
  });
});

test('a template without the interpreter is refused at once', async () => {
  await withSandbox([], async (remote, context) => {
    const upload = uploadRunner(remote, { ...PLACE, python: '/no/such/python' }, context.clock, NEVER);
    await expect(upload).rejects.toMatchObject({ code: 'e2b.unpacking', message: expect.stringContaining('/no/such/python') });
    expect(context.simulator.faults.requests.upload).toBe(1);
  });
});

test('a mounted directory is sent again when its connection breaks, and a mount that cannot be sent is named', async () => {
  const source = path.join(PROJECT, 'runner/muster_puller');
  const faults: readonly Fault[] = [
    { route: 'upload', nth: 1, kind: 'dropped' },
    { route: 'upload', nth: 2, kind: 'answer-dropped' },
  ];
  await withSandbox(faults, async (remote, context) => {
    const mounts = [
      { source, target: '/directory' },
      { source: import.meta.filename, target: '/file' },
    ];
    await uploadMounts(remote, mounts, new HurriedClock(100), NEVER);
    expect(context.simulator.faults.requests.upload).toBe(4);
    const brought = await remote.commands.run('cd /muster/brought && cat 0/__init__.py 1; ls /muster/incomplete', { user: 'root' });
    const [first, second] = await Promise.all(
      [path.join(source, '__init__.py'), import.meta.filename].map((file) => readFile(file, 'utf8')),
    );
    expect(brought.stdout.startsWith(`${first}${second}`)).toBe(true);
    const missing = uploadMounts(remote, [{ source: '/no/such', target: '/x' }], context.clock, NEVER);
    await expect(missing).rejects.toMatchObject({
      code: 'sandbox.mounts',
      message: expect.stringContaining('/no/such could not be sent'),
    });
  });
});
