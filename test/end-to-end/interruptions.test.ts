import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { WAYS } from '../attacks/attack-fixture.ts';
import { listProcesses, readProcessFile } from '../support/process-table.ts';
import { eventually } from '../support/eventually.ts';
import { extent, sampled } from '../support/full-form.ts';
import { mazePolicy, mazeSuite } from './maze.ts';
import type { MusterCommand } from './muster-command.ts';
import { ANYTHING, Stage } from './stage.ts';

const SANDBOXES = extent({ short: 6, full: 200 });
/** Episodes from here on never end. */
const FIRST_BLOCKED = 300;

/** Sandboxes that start within milliseconds, and are busy without taking time from those that still start. */
async function start(stage: Stage, sandboxes: number, firstBlocked: number): Promise<MusterCommand> {
  const template = {
    command: ['perl', '/runners/blocking-runner.pl', String(firstBlocked), stage.directory],
    mounts: [{ source: path.join(import.meta.dirname, 'runners'), target: '/runners' }],
  };
  const pool = { creationConcurrency: 8, creationsPerSecond: 1000 };
  const config = await stage.write('blocking.json', { pool, templates: { local: template } });
  const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: 5000 }, episode: { seconds: 3600 } } });
  return stage.start(['eval', suite, '-c', ANYTHING, '--json', '-n', String(sandboxes), '--config', config, '--out', stage.path('out')]);
}

/** Waits until so many runners are in an episode that never ends: they tell by their names in the process table. */
async function untilBusy(stage: Stage, command: MusterCommand, sandboxes: number): Promise<void> {
  const name = `blocked ${stage.directory}`;
  // What is waited for at a time is bounded, and hundreds may take longer than that.
  for (let some = 20; some < sandboxes; some += 20)
    await command.until(`there are ${some}`, async () => (await stage.countSandboxes()) >= some);
  await command.until(`${sandboxes} sandboxes are busy`, async () => {
    // The process table is long to read, so it is only looked at when there are enough sandboxes.
    if ((await stage.countSandboxes()) < sandboxes) return false;
    const processes = listProcesses();
    return processes.filter(({ argv }) => argv[0]?.startsWith(name)).length === sandboxes;
  });
}

async function linesOf(file: string): Promise<number> {
  return (await readFile(file, 'utf8')).split('\n').length - 1;
}

function processesInGroup(group: number): readonly number[] {
  const stats = listProcesses().map(({ pid }) => ({ pid, stat: readProcessFile(pid, 'stat') }));
  // State, parent, group: the fields after the name, which stands in parentheses.
  return stats.filter(({ stat }) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === group).map(({ pid }) => pid);
}

describe(`Muster with ${SANDBOXES} busy sandboxes`, () => {
  it('that is interrupted from the terminal gives a partial, labelled summary and leaves nothing', async () => {
    await using stage = await Stage.open();
    const command = await start(stage, SANDBOXES, FIRST_BLOCKED);
    await untilBusy(stage, command, SANDBOXES);
    // A runner may have reported its last episodes and begun the next before Muster has read the reports.
    await command.until('all others are counted', async () => (await linesOf(stage.path('out/episodes.ndjson'))) === FIRST_BLOCKED);
    // What a terminal sends on Ctrl-C reaches Muster alone: it is for Muster to end its sandboxes.
    expect(processesInGroup(command.pid)).toEqual([command.pid]);
    command.signalGroup('SIGINT');
    const result = await command.ended;
    expect(result.exitCode).toBe(130);
    expect(await stage.traces()).toEqual([]);
    const summary = result.summary();
    expect(summary).toMatchObject({ partial: true, ended: 'interrupted' });
    expect(summary.warnings).toContainEqual(expect.stringContaining('interrupted'));
    expect(summary.official).toMatchObject({ episodes: FIRST_BLOCKED, mean: 0.5 });
    expect(summary.run.pool).toMatchObject({ died: 0, created: SANDBOXES });
    expect(result.stderr).toContain('SIGINT: finishing with what there is');
    expect(result.stderr).not.toContain('"level"');
    expect(JSON.parse(await readFile(stage.path('out/summary.json'), 'utf8'))).toEqual(summary);
  });

  it('that is killed takes its sandboxes with it, and the next start removes what they leave behind', async () => {
    await using stage = await Stage.open();
    const command = await start(stage, SANDBOXES, FIRST_BLOCKED);
    await untilBusy(stage, command, SANDBOXES);
    command.signal('SIGKILL');
    expect(await command.ended).toMatchObject({ signal: 'SIGKILL', stdout: '' });
    await eventually('every process of its sandboxes is gone', () => stage.sandboxProcesses().length === 0);
    expect(await stage.traces()).not.toEqual([]);
    expect(await readdir(stage.path('out'))).not.toContain('summary.json');
    const next = await stage.run(['eval', await stage.faultSuite(), '-c', ANYTHING, '--json', '-n', '1']);
    expect(next.summary().run.pool.swept).toBe(SANDBOXES);
    expect(await stage.traces()).toEqual([]);
  });
});

describe.each(sampled(WAYS, (way) => way === 'forked'))('Muster with policies apart, %s', (way) => {
  it('that is killed takes both programs of each sandbox with it', async () => {
    await using stage = await Stage.open();
    const name = `waits ${stage.directory}`;
    const policy = await mazePolicy(
      stage,
      'waiting',
      `
import subprocess
def act(self, observation):
    subprocess.run(['${name}', '1000000'], executable='/bin/sleep')
Policy.act = act
`,
    );
    const suite = await stage.write('maze.json', await mazeSuite(stage, 2, { episode: { seconds: 3600 } }));
    const config = await stage.write('apart.json', { templates: { local: { policy: 'apart', start: way } } });
    const command = stage.start(['eval', suite, '-c', policy, '--json', '-n', '2', '--config', config]);
    const waiting = (): number => listProcesses().filter(({ argv }) => argv[0] === name).length;
    await command.until('all policies are asked', async () => waiting() === 2);
    command.signal('SIGKILL');
    await command.ended;
    await eventually('every process of its sandboxes is gone', () => stage.sandboxProcesses().length + waiting() === 0);
    const next = await stage.run(['eval', await stage.faultSuite(), '-c', ANYTHING, '--json', '-n', '1']);
    expect(next.summary().run.pool.swept).toBe(2);
    expect(await stage.traces()).toEqual([]);
  });
});

describe('Muster', () => {
  it('that is interrupted before its first episode says that there is no answer', async () => {
    await using stage = await Stage.open();
    await stage.closeGates('loading');
    const suite = await stage.faultSuite();
    const command = stage.start(['eval', suite, '-c', ANYTHING, '--json', '-n', '2', '--config', await stage.config()]);
    await command.until('a runner loads', async () => (await stage.countAt('loading')) > 0);
    command.signalGroup('SIGINT');
    const result = await command.ended;
    expect(result.exitCode).toBe(130);
    expect(result.summary()).toMatchObject({ partial: true, ended: 'interrupted', official: { episodes: 0, mean: null, interval: null } });
  });

  it('that is interrupted before its command is loaded says that nothing was played', async () => {
    await using stage = await Stage.open();
    // The command listens for errors of stderr first of all.
    const hook = "process.stderr.once('newListener', () => setImmediate(() => process.kill(process.pid, 'SIGINT')));";
    const environment = { NODE_OPTIONS: `--import=${await stage.write('interrupt.mjs', hook)}` };
    expect(await stage.run(['eval', await stage.faultSuite(), '-c', ANYTHING], { environment })).toMatchObject({
      exitCode: 130,
      stdout: '',
      stderr: expect.stringMatching(/interrupted before (anything was played|the first episode of)/),
    });
  });

  it('that is interrupted twice ends at once, and its sandboxes with it', async () => {
    await using stage = await Stage.open();
    const command = await start(stage, 2, 0);
    await untilBusy(stage, command, 2);
    // Stopped meanwhile, it receives both at once: between two deliveries it could have ended already.
    for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) command.signal(signal);
    expect((await command.ended).exitCode).toBe(130);
    await eventually('every process of its sandboxes is gone', () => stage.sandboxProcesses().length === 0);
    expect((await stage.run(['eval', await stage.faultSuite(), '-c', ANYTHING, '-n', '1'])).exitCode).toBe(0);
  });

  it('beside another one on the same state directory leaves the other’s sandboxes alone', async () => {
    await using stage = await Stage.open();
    await stage.closeGates('playing');
    const args = ['eval', await stage.faultSuite(), '-c', ANYTHING, '--json', '-n', '2'];
    const gated = stage.start([...args, '--config', await stage.config()]);
    await gated.until('the first Muster plays', async () => (await stage.countAt('playing')) === 2);
    const other = (await stage.run(args)).summary();
    expect(await stage.countAt('playing')).toBe(2);
    await stage.openGates('playing');
    const first = (await gated.ended).summary();
    expect(other.run.pool).toMatchObject({ swept: 0, died: 0 });
    expect(first.run.pool).toMatchObject({ swept: 0, died: 0 });
    expect(first.run.retried).toBe(0);
    expect(JSON.stringify(first.official)).toBe(JSON.stringify(other.official));
    expect(await readdir(path.join(stage.stateDir, 'sandboxes'))).toEqual([]);
  });
});
