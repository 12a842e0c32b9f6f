import { mkdir, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { gvisorHere } from '../support/gvisor-context.ts';
import { CARTPOLE, LATE, Stage } from './stage.ts';

const EVALUATION = ['eval', CARTPOLE, '-c', LATE, '--episodes', '8', '-n', '2', '--json'];

describe('a template that names gVisor', () => {
  it.runIf(gvisorHere.gvisor.state === 'available')('has the same official result as bubblewrap, to the byte', async () => {
    await using stage = await Stage.open();
    const plain = await stage.call(EVALUATION);
    const local = { provider: 'gvisor' };
    const config = await stage.write('gvisor.json', { stateDir: stage.stateDir, templates: { local } });
    const walled = await stage.call([...EVALUATION, '--config', config]);
    expect(JSON.stringify(walled.summary().official)).toBe(JSON.stringify(plain.summary().official));
    expect(plain.summary().run.pool.mechanism).toBe('bubblewrap, forked');
    expect(walled.summary().run.pool.mechanism).toBe('gvisor');
  });

  it('on a machine without runsc is an infrastructure error with the remedy', async () => {
    await using stage = await Stage.open();
    const local = { provider: 'gvisor' };
    const config = await stage.write('gvisor.json', { stateDir: stage.stateDir, templates: { local } });
    // All that ./muster itself, and this test to start it, look for.
    await mkdir(stage.path('bin'));
    for (const tool of ['dirname', 'readlink', 'setpriv']) await symlink(`/usr/bin/${tool}`, stage.path(`bin/${tool}`));
    const { exitCode, stderr } = await stage.run([...EVALUATION, '--config', config], { environment: { PATH: stage.path('bin') } });
    expect(stderr).toMatch(/template "local" wants gVisor.*runsc is not installed; install gVisor/);
    expect(exitCode).toBe(3);
  });
});
