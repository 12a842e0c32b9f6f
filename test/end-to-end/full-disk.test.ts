import { spawnSync } from 'node:child_process';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MusterResult } from './muster-command.ts';
import { sampled } from '../support/full-form.ts';
import { MusterServer } from './muster-server.ts';
import { ANYTHING, REPOSITORY, Stage } from './stage.ts';

/** A mount namespace of one's own, so that the small disk is seen by this Muster alone and goes with it. */
const OWN_MOUNTS = process.getuid?.() === 0 ? ['--mount'] : ['--map-root-user', '--mount'];
const canMount = spawnSync('unshare', [...OWN_MOUNTS, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
/** Arguments: directory, options of the mount, the command. Lists on stderr what the directory holds in the end. */
const ON_SMALL_DISK = 'out=$1; mkdir "$out" && mount -t tmpfs -o "$2" none "$out" && shift 2 && "$@"; code=$?; ls "$out" >&2; exit $code';

async function evaluateOnto(stage: Stage, mountOptions: string, episodes: number): Promise<MusterResult> {
  const out = stage.path('out');
  const local = { command: ['perl', '/tiny/tiny-runner.pl'], mounts: [{ source: `${REPOSITORY}/test/support/runners`, target: '/tiny' }] };
  const config = await stage.write('muster.json', { templates: { local } });
  const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes } } });
  const under = ['unshare', ...OWN_MOUNTS, 'sh', '-c', ON_SMALL_DISK, 'sh', out, mountOptions];
  return stage.run(['eval', suite, '-c', ANYTHING, '--json', '-n', '2', '--out', out, '--config', config], { under });
}

const SMALL_DISKS = ['nr_inodes=1', 'nr_inodes=2', 'nr_inodes=3', 'nr_inodes=4', 'nr_inodes=8', 'size=4k', 'size=100k'] as const;
const IN_SHORT_FORM: ReadonlySet<string> = new Set(['nr_inodes=1', 'nr_inodes=4', 'size=4k']);

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

describe.skipIf(!canMount)('a disk that is full (needs mount namespaces)', () => {
  it('while episodes are written ends the evaluation with a partial answer, and without a summary on the disk', async () => {
    await using stage = await Stage.open();
    const result = await evaluateOnto(stage, 'size=64k', 5000);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain(`${stage.path('out/episodes.ndjson')} could not be written: ENOSPC`);
    expect(result.stderr).toContain('free space there or name another directory');
    expect(result.stderr).toMatch(/\nconfig\.json\nepisodes\.ndjson\n$/);
    expect(result.summary()).toMatchObject({ partial: true, ended: 'failed' });
  });

  it('when the summary is due leaves no partial file, and the answer is still printed', async () => {
    await using stage = await Stage.open();
    // Room for the configuration, two pages, and the episodes, one.
    const result = await evaluateOnto(stage, 'size=12k', 5);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain(`${stage.path('out/summary.json')} could not be written: ENOSPC`);
    expect(result.stderr).toMatch(/\nconfig\.json\nepisodes\.ndjson\n$/);
    expect(result.summary().official.episodes).toBe(5);
  });

  it('while the last episodes are written is reported once, with its cause', async () => {
    await using stage = await Stage.open();
    // No room beside the configuration.
    const result = await evaluateOnto(stage, 'size=8k', 5);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain(`${stage.path('out/episodes.ndjson')} could not be written: ENOSPC`);
    expect(result.stderr).not.toContain('a defect of Muster');
  });

  it.each(sampled(SMALL_DISKS, (each) => IN_SHORT_FORM.has(each)))(
    'at the start of a server (%s) ends it as the machine’s failure, and says what is full',
    async (mountOptions) => {
      await using stage = await Stage.open();
      const config = await stage.write('server.json', { server: { port: 0 } });
      const under = ['unshare', ...OWN_MOUNTS, 'sh', '-c', ON_SMALL_DISK, 'sh', stage.stateDir, mountOptions];
      const result = await stage.run(['serve', '--config', config], { under });
      expect(result.exitCode).toBe(3);
      expect(result.stderr).toMatch(/^muster: .*no space left for .*; free some, or /);
      expect(result.stderr).not.toContain('listening');
    },
  );

  it('while a server runs makes it not ready', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('server.json', { server: { port: 0 } });
    const under = ['unshare', ...OWN_MOUNTS, 'sh', '-c', ON_SMALL_DISK, 'sh', stage.stateDir, 'size=8m'];
    const server = await MusterServer.start(stage, config, { under });
    const answer = await fetch(`${server.url}/readyz`);
    expect({ status: answer.status, body: await answer.json() }).toEqual({
      status: 503,
      body: { ready: false, reasons: [{ code: 'disk.full', detail: expect.stringMatching(/free at .*, expected 32.0 MiB or more/) }] },
    });
    // The server is a child of the shell, which a signal of its own would end alone.
    server.command.signalGroup('SIGTERM');
    const { stderr } = await server.command.ended;
    expect(stderr).toContain('SIGTERM: waiting for what is played');
  });

  it.each([
    ['the note of who writes', 'out', 'nr_inodes=1'],
    ['config.json', 'out/config.json', 'nr_inodes=2'],
    ['episodes.ndjson', 'out/episodes.ndjson', 'nr_inodes=3'],
  ])('before %s is found before an episode is played', async (_what, file, mountOptions) => {
    await using stage = await Stage.open();
    const result = await evaluateOnto(stage, mountOptions, 5000);
    expect({ code: result.exitCode, stdout: result.stdout }).toEqual({ code: 3, stdout: '' });
    expect(result.stderr).toContain(`${stage.path(file)} could not be written: ENOSPC`);
    expect(result.stderr).not.toContain('a defect of Muster');
  });
});
