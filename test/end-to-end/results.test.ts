import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { summariesSchema } from '../../src/orchestrator/results/summaries.ts';
import { probeCapabilities } from '../../src/adapters/sandbox/bubblewrap/capabilities.ts';
import { summarySchema } from '../../src/orchestrator/results/summary.ts';
import { sampled } from '../support/full-form.ts';
import type { MusterResult } from './muster-command.ts';
import { ANYTHING, CARTPOLE, LATE, REPOSITORY, seedOf, Stage } from './stage.ts';

const TINY_RUNNER = path.join(REPOSITORY, 'test/support/runners');
const TINY_TEMPLATE = {
  command: ['perl', '/tiny/tiny-runner.pl'],
  mounts: [{ source: TINY_RUNNER, target: '/tiny' }],
};

const { limits } = await probeCapabilities({ bwrapPath: 'bwrap', cgroups: 'detect' });
const episodeSchema = z.object({
  index: z.int(),
  part: z.string(),
  outcome: z.object({ return: z.number() }),
  usage: z
    .strictObject({ cpuSeconds: z.number().positive(), peakMemoryBytes: z.int().positive(), processes: z.int().positive() })
    .optional(),
});

function officialOf(result: MusterResult): string {
  expect(result.exitCode).toBe(0);
  return JSON.stringify(result.summary().official);
}

describe('the official result', () => {
  it.each([
    ['a certified width', ['--half-width', '60'], sampled(['4', '16'], (sandboxes) => sandboxes === '4')],
    ['a number of episodes', ['--episodes', '48'], sampled(['4', '16'], (sandboxes) => sandboxes === '4')],
  ])('for %s is the same to the byte on one sandbox and on several', async (_, flags, numbers) => {
    await using stage = await Stage.open();
    const play = async (sandboxes: string): Promise<MusterResult> =>
      stage.call(['eval', CARTPOLE, '-c', LATE, '--json', '--sandboxes', sandboxes, ...flags]);
    const alone = officialOf(await play('1'));
    for (const sandboxes of numbers) expect(officialOf(await play(sandboxes))).toBe(alone);
  });

  it('of a runner in another language is that of its episodes', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('muster.json', { templates: { local: TINY_TEMPLATE } });
    const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: 3000 } } });
    const result = await stage.call(['eval', suite, '-c', ANYTHING, '--json', '--sandboxes', '8', '--config', config]);
    const { official } = result.summary();
    const sum = Array.from({ length: 3000 }, (_, index) => seedOf(index) % 100).reduce((total, value) => total + value, 0);
    expect(official.mean).toBeCloseTo(sum / 100 / 3000, 12);
    expect(official.failures['environment-crash']).toBe(0);
  });
});

describe('the output', () => {
  it('with --json is one document on stdout, and with --out it is kept beside every episode and the configuration', async () => {
    await using stage = await Stage.open();
    const out = stage.path('results/late');
    const result = await stage.call(['eval', CARTPOLE, '-c', LATE, '--episodes', '30', '--json', '--sandboxes', '2', '--out', out]);
    const summary = result.summary();
    expect({ code: result.exitCode, notices: result.notices }).toEqual({ code: 0, notices: '' });
    expect((await readdir(out)).toSorted()).toEqual(['config.json', 'episodes.ndjson', 'summary.json']);
    expect(summarySchema.parse(await json(path.join(out, 'summary.json')))).toEqual(summary);
    const lines = (await readFile(path.join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
    const episodes = lines.map((line) => episodeSchema.parse(JSON.parse(line)));
    expect(episodes.map(({ index, part }) => [index, part])).toEqual(Array.from({ length: 30 }, (_, index) => [index, 'official']));
    const isCounted = limits.memory.by !== 'rlimit';
    expect(episodes.every(({ usage }) => (usage !== undefined) === isCounted)).toBe(true);
    const mean = episodes.reduce((sum, { outcome }) => sum + outcome.return, 0) / 30;
    expect(summary.official.mean).toBeCloseTo(mean, 9);
    expect(await json(path.join(out, 'config.json'))).toMatchObject({
      suite: { digest: summary.official.suite.digest },
      checkpoint: { digest: summary.official.checkpoint.digest },
      config: { pool: { max: 2 } },
    });
  });

  it('of several checkpoints is one list, and each has its own directory', async () => {
    await using stage = await Stage.open();
    const early = LATE.replace('late', 'early');
    const out = stage.path('out');
    const result = await stage.call(['eval', CARTPOLE, '-c', early, '-c', LATE, '--episodes', '10', '--json', '-n', '2', '--out', out]);
    const { summaries } = summariesSchema.parse(JSON.parse(result.stdout));
    expect(summaries.map(({ checkpoint }) => checkpoint.uri)).toEqual([early, LATE]);
    expect((await readdir(out)).toSorted()).toEqual(['1-early.safetensors', '2-late.safetensors']);
  });

  it('keeps the names of the template’s environment variables, and not their values', async () => {
    await using stage = await Stage.open();
    const environment = { MUSTER_TEMPLATES__LOCAL__ENVIRONMENT__API_KEY: 'hush' };
    const args = ['eval', await stage.faultSuite(), '-c', ANYTHING, '-n', '1', '--out', stage.path('out')];
    expect((await stage.call(args, { environment })).exitCode).toBe(0);
    const kept = await readFile(stage.path('out/config.json'), 'utf8');
    expect(JSON.parse(kept)).toMatchObject({ config: { templates: { local: { environment: { API_KEY: '(not kept)' } } } } });
    expect(kept).not.toContain('hush');
  });

  it('for a person who is not at a terminal is plain progress lines on stderr, then the summary on stdout', async () => {
    await using stage = await Stage.open();
    await stage.closeGates('playing');
    const command = stage.start(['eval', await stage.faultSuite(), '-c', ANYTHING, '-n', '1', '--config', await stage.config()]);
    // On a slow machine there are others before it, and after it.
    const waiting =
      /^faults · anything: 0 of 12 episodes .*; mean waiting for the first episode; sandboxes: 1 playing · 0 idle · 0 starting$/m;
    await command.until('a line of progress', () => waiting.test(command.stderr));
    await stage.openGates('playing');
    const { exitCode, stdout, stderr } = await command.ended;
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^(faults · anything: \d+ of 12 episodes .*; mean .*; sandboxes: \d+ playing · \d+ idle · \d+ starting\n)+$/);
    expect(stdout).toMatch(/^faults · anything\n {2}mean return .*\n {2}95 % interval /);
    expect(stdout + stderr).not.toContain('\u001b');
  });
});

describe.each(sampled(['torch'], () => false))('%s', () => {
  const python = path.join(REPOSITORY, '.venv-torch/bin/python');
  const torchMetric = (mean: number): unknown => [expect.objectContaining({ name: 'torch', mean })];

  // .venv-torch is a Python with torch, gymnasium and safetensors that some have beside .venv.
  // In the short form, test/runner/python loads TorchScript and state dicts.
  it.runIf(existsSync(python) || process.env['CI'] !== undefined)('is imported for a checkpoint that needs it, and only then', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('muster.json', { templates: { local: { python } } });
    const suite = await stage.faultSuite({ changes: { metrics: ['torch'] } });
    const play = async (checkpoint: string): Promise<MusterResult> =>
      stage.call(['eval', suite, '-c', checkpoint, '-n', '1', '--json', '--config', config]);
    expect((await play(ANYTHING)).summary().official.metrics).toEqual(torchMetric(0));
    const model = stage.path('linear.pt');
    execFileSync(python, ['-c', `import sys, torch; torch.jit.trace(torch.nn.Linear(1, 2), torch.zeros(1, 1)).save(sys.argv[1])`, model]);
    expect((await play(model)).summary().official.metrics).toEqual(torchMetric(1));
  });
});

async function json(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'));
}
