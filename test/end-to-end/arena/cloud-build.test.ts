import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { RUNNER_INSIDE } from '../../../src/adapters/sandbox/local/template/python-template.ts';
import { connect } from '../../../src/app/client/server-client.ts';
import { simulatedSettings } from '../../support/cloud-build/cloud-build-context.ts';
import { SimulatedCloudBuild } from '../../support/cloud-build/simulated-cloud-build.ts';
import { explainMissingSteps } from '../../support/cloud-build/step-container.ts';
import { eventually } from '../../support/eventually.ts';
import { isFullForm } from '../../support/full-form.ts';
import { outOfTheWay } from '../../support/kubernetes/dial-back-image.ts';
import { MusterServer } from '../muster-server.ts';
import { REPOSITORY, Stage } from '../stage.ts';

// The simulated service answers over real connections.
nock.restore();

const TASKS = join(REPOSITORY, 'examples/code');
const missing = explainMissingSteps() ?? (isFullForm ? undefined : 'in the full form only; workspace.test.ts has a build in the short one');

describe.skipIf(missing !== undefined)('workspaces and grading in builds of Cloud Build', () => {
  it('play the loop of the example, survive the server’s death, and leave no build', async () => {
    const image = await outOfTheWay(RUNNER_INSIDE);
    await using simulated = await SimulatedCloudBuild.start(image.image.mounts);
    await using stage = await Stage.open();
    const settings = simulatedSettings(
      simulated,
      image,
      image.image.mounts.map(({ target }) => target),
    );
    const config = await stage.write('builds.json', {
      server: { port: 0, access: 'off' },
      arena: { tasks: [TASKS] },
      templates: { local: { provider: 'cloud-build', 'cloud-build': settings } },
    });
    const { url, command } = await MusterServer.start(stage, config, { deadlineMs: 120_000 });
    const { stdout } = await promisify(execFile)('python3', [join(REPOSITORY, 'examples/arena/agent.py'), url]);
    expect(stdout).toContain('reward 1');
    expect(stdout).toContain('12 of 12 cases pass');

    const { arena } = connect(url);
    const { episode } = await arena.start('fix-bug-in-sort-function', 'curious');
    const script = 'touch here; cat /proc/net/route | wc -l; ls /var/run/docker.sock /builder /workspace';
    const { observation } = await arena.step(episode, 1, { action: 'run', command: script });
    // No network, and nothing of what a step has.
    expect(observation.data).toMatchObject({
      stdout: { text: '1\n' },
      stderr: { text: expect.stringMatching(/(No such file or directory[\s\S]*){3}/) },
    });
    expect(simulated.running).not.toEqual([]);
    command.signal('SIGKILL');
    await command.ended;
    // Their connections broke: the builds end by themselves.
    await eventually('no build is left', async () => simulated.running.length === 0);

    const next = await MusterServer.start(stage, config, { deadlineMs: 120_000 });
    const again = await connect(next.url).arena.step(episode, 2, { action: 'run', command: 'ls' });
    expect(again).toMatchObject({ observation: { data: { stdout: { text: expect.stringMatching(/here\n[\s\S]*sorting.py/) } } } });
    next.command.signal('SIGTERM');
    await next.command.ended;
    expect(simulated.running).toEqual([]);
  });
});
