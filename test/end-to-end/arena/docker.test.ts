import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { formatOwnerLabel } from '../../../src/adapters/sandbox/docker/ownership.ts';
import { connect } from '../../../src/app/client/server-client.ts';
import { daemonUnavailable, DockerDaemon } from '../../support/docker/docker-daemon.ts';
import { isFullForm } from '../../support/full-form.ts';
import { GradingFixture, TASK } from '../../support/grading-fixture.ts';
import { busyboxLayer, tarOf, writeOciLayout } from '../../support/image-fixture.ts';
import { MusterServer } from '../muster-server.ts';
import { REPOSITORY, Stage } from '../stage.ts';

// It answers requests over a Unix socket in the daemon's place.
nock.restore();

const TASKS = join(REPOSITORY, 'examples/code');
const unavailable = await daemonUnavailable();

/** A real daemon is started here, and all that is left of the containers is looked for in it. */
describe.skipIf(unavailable !== undefined)('workspaces and grading in Docker', () => {
  // In the short form, the contract of providers kills a Muster and sweeps its containers.
  it.runIf(isFullForm)('play the loop of the example with one more line of configuration, and leave no container', async () => {
    await using daemon = await DockerDaemon.start();
    await using stage = await Stage.open();
    const docker = { DOCKER_HOST: `unix://${daemon.socket}` };
    const config = await stage.write('docker.json', {
      server: { port: 0, access: 'off' },
      arena: { tasks: [TASKS] },
      templates: { local: { provider: 'docker' } },
    });
    const { url, command } = await MusterServer.start(stage, config, { environment: docker, deadlineMs: 120_000 });
    const { stdout } = await promisify(execFile)('python3', [join(REPOSITORY, 'examples/arena/agent.py'), url]);
    expect(stdout).toContain('reward 1');
    expect(stdout).toContain('12 of 12 cases pass');

    const { arena } = connect(url);
    const { episode } = await arena.start('fix-bug-in-sort-function', 'curious');
    const script = 'id -u; ls -d /proc/[0-9]* | wc -l; touch /usr/x /etc/x /muster/x; cat /proc/net/route | wc -l; echo $$';
    const { observation } = await arena.step(episode, 1, { action: 'run', command: script });
    // No file of its own but in the workspace, no network, no process but its own.
    expect(observation.data).toMatchObject({
      stdout: { text: expect.stringMatching(/^1000\n\d\n1\n\d+\n$/) },
      stderr: { text: expect.stringMatching(/(Read-only file system[\s\S]*){3}/) },
    });
    expect(await daemon.client.containers(formatOwnerLabel())).not.toEqual([]);
    command.signal('SIGKILL');
    await command.ended;

    // The next server removes what is left, and goes on with the episode.
    const next = await MusterServer.start(stage, config, { environment: docker, deadlineMs: 120_000 });
    const again = await connect(next.url).arena.step(episode, 2, { action: 'run', command: 'ls' });
    expect(again).toMatchObject({ observation: { data: { stdout: { text: expect.stringContaining('sorting.py') } } } });
    next.command.signal('SIGTERM');
    await next.command.ended;
    expect(await daemon.client.containers(formatOwnerLabel())).toEqual([]);
  });

  it('grade a task in an image that only Muster has, without Python and with another C library', async () => {
    await using daemon = await DockerDaemon.start();
    const settings = { MUSTER_TEMPLATES__LOCAL__PROVIDER: 'docker', MUSTER_TEMPLATES__LOCAL__DOCKER__SOCKET: daemon.socket };
    await using fixture = await GradingFixture.open(settings);
    const image = join(fixture.directory, 'image');
    await mkdir(image);
    await writeOciLayout(image, [await busyboxLayer(), tarOf([{ path: 'app/given.txt', content: 'of the image\n' }])]);
    const task = await fixture.task({
      ...TASK,
      'task.toml': (TASK['task.toml'] ?? '').replace('[environment]', `[environment]\ndocker_image = "${image}"`),
      'muster.toml': `
[execute]
kind = "cases"
command = ["/bin/sh", "run.sh"]
stored = "cases.jsonl"
[golden]
command = ["/usr/bin/double"]
[compare]
mode = "canonical"
form = "tokens"
`,
      'tests/cases.jsonl': '{"stdin": "21\\n"}\n{"stdin": "-3\\n"}\n',
    });
    const right = `grep -q muster-test /etc/os-release && grep -q image given.txt || exit 1
[ -e /usr/bin/python3 ] && exit 1
echo x 2>/dev/null >/etc/written && exit 1
/usr/bin/double
`;
    expect((await fixture.verdict(task, { 'run.sh': right })).verdict).toMatchObject({ reward: 1, problem: null });
    expect((await fixture.verdict(task, { 'run.sh': 'echo 42\n' })).verdict).toMatchObject({ reward: 0, problem: null });
  });
});
