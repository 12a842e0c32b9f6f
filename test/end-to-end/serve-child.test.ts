import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import nock from 'nock';
import { expect, it, vi } from 'vitest';
import { Stage } from './stage.ts';

nock.restore();
vi.setConfig({ testTimeout: 120_000 });

const COMMAND = path.join(import.meta.dirname, '../../muster');

it('a server that a program starts for itself takes the token of its first line alone, and ends with the stream that the program holds', async () => {
  await using stage = await Stage.open();
  const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'], MUSTER_STATE_DIR: stage.stateDir };
  await using server = stopped(spawn(COMMAND, ['serve', '--child'], { env: environment, stdio: ['pipe', 'pipe', 'ignore'] }));
  const [line] = await once(createInterface(server.process.stdout), 'line');
  const { url, token, version } = JSON.parse(line);
  expect({ url, version }).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/), version: '0.1.0' });
  const list = `${url}/v1/evaluations`;
  const wrong = `${token.slice(0, -4)}aaaa`;
  expect((await fetch(list)).status).toBe(401);
  expect((await fetch(list, { headers: { authorization: `Bearer ${wrong}` } })).status).toBe(401);
  expect((await fetch(list, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  const ended = once(server.process, 'exit');
  server.process.stdin.end();
  expect(await ended).toEqual([0, null]);
});

it('a configuration with tokens of other principals is refused', async () => {
  await using stage = await Stage.open();
  const config = await stage.write('tokens.json', { server: { access: 'tokens' } });
  const { exitCode, stderr } = await stage.run(['serve', '--child', '--config', config]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('leave server.access at "off"') });
});

function stopped<Process extends ReturnType<typeof spawn>>(process: Process) {
  return {
    process,
    [Symbol.asyncDispose]: async () => {
      if (process.exitCode !== null || process.signalCode !== null) return;
      const ended = once(process, 'exit');
      process.kill('SIGKILL');
      await ended;
    },
  };
}
