import { realpath } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { describe, expect, it, vi } from 'vitest';
import { PACKAGE_ROOT } from '../../src/kernel/package-root.ts';
import { DockerDaemon, EMPTY_IMAGE, daemonUnavailable } from '../support/docker/docker-daemon.ts';
import { CARTPOLE, LATE, Stage } from './stage.ts';

nock.restore();
vi.setConfig({ testTimeout: 240_000 });

const EVALUATION = ['eval', CARTPOLE, '-c', LATE, '--episodes', '8', '-n', '2', '--json'];
const unavailable = await daemonUnavailable();

describe('a template that names Docker', () => {
  it.runIf(unavailable === undefined)('has the same official result as bubblewrap, to the byte, and passes doctor', async () => {
    await using stage = await Stage.open();
    await using daemon = await DockerDaemon.start();
    const plain = await stage.call(EVALUATION);
    const environment = path.join(PACKAGE_ROOT, '.venv');
    const python = path.join(environment, 'bin/python');
    // The interpreter behind the links, with its installation.
    const installation = path.dirname(path.dirname(await realpath(python)));
    const mounts = ['/usr', environment, ...(installation.startsWith('/usr') ? [] : [installation])].map((directory) => ({
      source: directory,
      target: directory,
    }));
    const docker = { socket: daemon.socket, image: EMPTY_IMAGE, pull: 'never', python };
    const local = { provider: 'docker', mounts, docker };
    const config = await stage.write('docker.json', { stateDir: stage.stateDir, templates: { local } });
    const contained = await stage.call([...EVALUATION, '--config', config]);
    expect(JSON.stringify(contained.summary().official)).toBe(JSON.stringify(plain.summary().official));
    expect(contained.summary().run.pool.mechanism).toBe('docker');
    const doctor = await stage.call(['doctor', '--json', '--config', config]);
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(expect.objectContaining({ name: 'Docker', status: 'ok' }));
  });

  it('without a daemon is an infrastructure error with the remedy', async () => {
    await using stage = await Stage.open();
    const local = { provider: 'docker', docker: { socket: stage.path('no.sock'), image: EMPTY_IMAGE } };
    const config = await stage.write('docker.json', { stateDir: stage.stateDir, templates: { local } });
    const { exitCode, stderr } = await stage.call([...EVALUATION, '--config', config]);
    expect(stderr).toMatch(/no Docker daemon answers at .*no\.sock \(ENOENT\): install and start Docker/);
    expect(exitCode).toBe(3);
  });
});
