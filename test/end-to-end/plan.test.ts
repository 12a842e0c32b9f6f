import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { planSchema, type EvaluationPlan } from '../../src/orchestrator/planning/evaluation-plan.ts';
import type { MusterResult } from './muster-command.ts';
import { ANYTHING, CARTPOLE, LATE, Stage } from './stage.ts';

/** @throws when stdout is not exactly one valid plan. */
function planOf({ exitCode, stdout, stderr }: MusterResult): EvaluationPlan {
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return planSchema.parse(JSON.parse(stdout));
}

describe('muster plan', () => {
  it('without a baseline is for the worst case, and plays and keeps nothing', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { stop: { rule: 'certified', halfWidth: 0.1 } } });
    const result = await stage.call(['plan', suite], { environment: { TMPDIR: stage.directory } });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toMatch(/^faults · certified ± 0\.1 at 95 %\n {2}episodes +1\d\d \(\d+ to \d+\)/);
    expect(result.stdout).toMatch(/time +unknown: give an earlier evaluation as --baseline\n/);
    expect(result.stdout).toMatch(
      /if approximate +\d+\n {2}if asymptotic .*\n {2}if fixed +\d+, were the standard deviation known beforehand\n/,
    );
    expect(await readdir(stage.directory)).toEqual(['suite.yaml']);
  });

  it('with a baseline predicts what the evaluation then takes', async () => {
    await using stage = await Stage.open();
    const [recorded, onTwo] = [stage.path('first'), ['--sandboxes', '2']];
    const first = await stage.call(['eval', CARTPOLE, '-c', LATE, '--episodes', '40', '--out', recorded, '--json', ...onTwo]);
    const narrow = ['--half-width', '60'];
    const plan = planOf(await stage.call(['plan', CARTPOLE, '--baseline', recorded, '--json', ...narrow, ...onTwo]));
    const { forecast, episodeSeconds } = plan;
    expect(plan).toMatchObject({
      baseline: { file: path.join(recorded, 'summary.json'), checkpoint: first.summary().official.checkpoint.digest },
      returns: { from: 'episodes', observed: 40 },
      sandboxes: 2,
    });
    expect(episodeSeconds).toBe(first.summary().run.episodeSeconds?.mean);
    expect(forecast.seconds?.median).toBeCloseTo((forecast.episodes.median * (episodeSeconds ?? 0)) / 2, 9);

    const { official } = (await stage.call(['eval', CARTPOLE, '-c', LATE, '--json', ...narrow, ...onTwo])).summary();
    expect(official.endedBy).toBe('rule');
    expect(official.episodes).toBeGreaterThanOrEqual(forecast.episodes.low);
    expect(official.episodes).toBeLessThanOrEqual(forecast.episodes.high);
    expect(official.episodes).toBeGreaterThanOrEqual(plan.leastEpisodes);
  });

  it('accepts a summary alone, also a printed one, and the price of the template', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: 30 } } });
    const printed = await stage.call(['eval', suite, '-c', ANYTHING, '-n', '2', '--json']);
    const file = await stage.write('printed.json', printed.stdout);
    const environment = { MUSTER_TEMPLATES__LOCAL__COST_PER_SANDBOX_HOUR: '36' };
    const args = ['plan', suite, '--baseline', file, '--half-width', '0.1', '--rule', 'approximate', '--json', '-n', '4'];
    const plan = planOf(await stage.call(args, { environment }));
    const { episodes, sandboxSeconds, cost } = plan.forecast;
    expect(plan).toMatchObject({ returns: { from: 'histogram', observed: 30 }, sandboxes: 4, costPerSandboxHour: 36 });
    expect(plan.forecast.stop).toEqual({ rule: 'approximate', halfWidth: 0.1, confidence: 0.95 });
    expect(sandboxSeconds?.median).toBeCloseTo(episodes.median * (printed.summary().run.episodeSeconds?.mean ?? 0), 9);
    expect(cost?.median).toBeCloseTo((sandboxSeconds?.median ?? 0) / 100, 9);
  });

  it('ends with code 130 on Ctrl-C, in the middle of its simulations', async () => {
    await using stage = await Stage.open();
    const command = stage.start(['plan', CARTPOLE, '--half-width', '1.9', '--json']);
    await command.until('it heeds signals', async () => heedsInterrupts(command.pid));
    command.signalGroup('SIGINT');
    const { exitCode, stdout, stderr } = await command.ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    expect(stderr).toContain('interrupted before there was a plan');
  });
});

describe('muster plan refuses', () => {
  const refusal = (message: RegExp): unknown =>
    expect.objectContaining({ exitCode: 2, stdout: '', stderr: expect.stringMatching(message) });

  it('a baseline of another suite, with both digests', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite();
    await stage.call(['eval', suite, '-c', ANYTHING, '-n', '2', '--out', stage.path('first')]);
    const other = await stage.faultSuite({ changes: { seed: 8 } });
    const refused = refusal(/^muster: .*first\/summary\.json: .* the suite sha256:[0-9a-f]{64}, and this one is sha256:[0-9a-f]{64};/);
    expect(await stage.call(['plan', other, '--baseline', stage.path('first')])).toEqual(refused);
  });

  it('a file that is no summary, by file and field', async () => {
    await using stage = await Stage.open();
    const file = await stage.write('other.json', { schema: 'muster.summary/1' });
    expect(await stage.call(['plan', CARTPOLE, '--baseline', file])).toEqual(refusal(/^muster: .*other\.json: official: is missing\n/));
    expect(await stage.call(['plan', CARTPOLE, '-b', CARTPOLE])).toEqual(refusal(/cartpole\.yaml: expected the JSON document/));
    expect(await stage.call(['plan', CARTPOLE, '-b', stage.path('nowhere')])).toEqual(
      refusal(/nowhere cannot be read: .*expected a summary/),
    );
  });

  it('flags for a stopping rule that contradict each other, and a half-width that the budget cannot reach', async () => {
    await using stage = await Stage.open();
    const contradiction = await stage.call(['plan', CARTPOLE, '--episodes', '10', '--half-width', '1']);
    expect(contradiction).toEqual(refusal(/^muster: --episodes and --half-width exclude each other/));
    expect(await stage.call(['eval', CARTPOLE, '-c', LATE, '--rule', 'fixed'])).toEqual(refusal(/^muster: --rule fixed needs --episodes/));
    const suite = await stage.faultSuite({ changes: { reward: { bounds: [0, 1] }, budget: { episodes: 90 } } });
    expect(await stage.call(['plan', suite, '--half-width', '0.02'])).toEqual(refusal(/budget\.episodes: expected at least 96/));
  });
});

/** Whether the process has handlers of its own: for SIGHUP too, the first bit of the mask, which Node leaves alone. */
async function heedsInterrupts(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return (BigInt(`0x${caught}`) & 1n) !== 0n;
}
