import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { describe, expect, it, vi } from 'vitest';
import { connect } from '../../../src/app/client/server-client.ts';
import { explainMissingSteps } from '../../support/cloud-build/step-container.ts';
import { isFullForm } from '../../support/full-form.ts';
import { gvisorHere } from '../../support/gvisor-context.ts';
import { openCluster, openE2b, openHere } from '../../support/workspace-places.ts';
import { MusterServer } from '../muster-server.ts';
import { REPOSITORY, Stage } from '../stage.ts';

// The simulated services answer over real connections.
nock.restore();
vi.setConfig({ testTimeout: 600_000 });

const gvisor = gvisorHere.gvisor.state === 'missing' ? gvisorHere.gvisor.detail : undefined;
const PLACES = [
  {
    name: 'gvisor',
    missing: gvisor,
    open: () => openHere({ provider: 'gvisor' }),
  },
  { name: 'kubernetes', missing: undefined, open: openCluster },
  { name: 'e2b', missing: explainMissingSteps(), open: openE2b },
];

// The workspaces themselves are tried in the short form, too: workspace.test.ts.
describe.each(PLACES)('workspaces and grading with $name', ({ missing, open }) => {
  it.runIf(isFullForm && missing === undefined)('play the loop of the example, and an episode that is forked', async () => {
    await using place = await open();
    await using stage = await Stage.open();
    const config = await stage.write('arena.json', {
      server: { port: 0, access: 'off' },
      arena: { tasks: [join(REPOSITORY, 'examples/code')] },
      templates: { local: place.template },
    });
    const { url, command } = await MusterServer.start(stage, config, {
      deadlineMs: 300_000,
      ...(place.environment && { environment: place.environment }),
    });
    const { stdout } = await promisify(execFile)('python3', [join(REPOSITORY, 'examples/arena/agent.py'), url]);
    expect(stdout).toContain('reward 1');
    expect(stdout).toContain('12 of 12 cases pass');

    const { arena } = connect(url);
    const { episode } = await arena.start('fix-bug-in-sort-function', 'curious');
    const { observation } = await arena.step(episode, 1, {
      action: 'run',
      command: 'touch here; find / -name muster.yaml; cat /proc/net/route',
    });
    expect(observation.data).toMatchObject({ end: { kind: 'exited' } });
    const [fork] = await arena.fork(episode, { at: 1, n: 1 });
    const seen = await arena.step(fork?.episode ?? '', 2, { action: 'run', command: 'find . -name here' });
    expect(seen).toMatchObject({ observation: { data: { stdout: { text: './here\n' } } } });
    command.signal('SIGTERM');
    await command.ended;
  });
});
