import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { comparisonSummarySchema, type ComparisonSummary } from '../../src/orchestrator/results/comparison-summary.ts';
import type { MusterResult } from './muster-command.ts';
import { ANYTHING, CARTPOLE, LATE, seedOf, Stage } from './stage.ts';

const [EARLY, MIDDLE] = ['early', 'middle'].map((moment) => LATE.replace('late', moment));

/** @throws unless stdout is exactly one comparison. */
function comparisonOf({ stdout }: MusterResult): ComparisonSummary {
  return comparisonSummarySchema.parse(JSON.parse(stdout));
}

function compare(...args: readonly (string | undefined)[]): readonly string[] {
  return ['compare', CARTPOLE, ...args.filter((one) => one !== undefined)];
}

describe('muster compare', () => {
  it('exits with 0 when a candidate is better, and prints it', async () => {
    await using stage = await Stage.open();
    const result = await stage.call(compare('-b', MIDDLE, '-c', LATE, '-c', EARLY, '-n', '2'));
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toMatch(/▲ promote .*late\.safetensors after \d+ pairs/);
    expect(result.stdout).toMatch(/▼ regress .*early\.safetensors after \d+ pairs/);
  });

  it('exits with 4 when the candidate is worse, with one document on stdout, and keeps every episode', async () => {
    await using stage = await Stage.open();
    const out = stage.path('out');
    const result = await stage.call(compare('-b', LATE, '-c', EARLY, '--json', '--out', out, '-n', '2'));
    expect(result.exitCode).toBe(4);
    const summary = comparisonOf(result);
    expect(summary.verdict).toBe('regress');
    expect(comparisonSummarySchema.parse(JSON.parse(await readFile(path.join(out, 'summary.json'), 'utf8')))).toEqual(summary);
    const episodes = (await readFile(path.join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
    const official = episodes.map((line): { part: string } => JSON.parse(line)).filter(({ part }) => part === 'official');
    expect(official).toHaveLength(summary.official.episodes);
  });

  it('exits with 5 when the budget is spent before there is a verdict', async () => {
    await using stage = await Stage.open();
    const result = await stage.call(compare('-b', MIDDLE, '-c', LATE, '--budget', '8', '--json', '-n', '1'));
    expect(result.exitCode).toBe(5);
    expect(comparisonOf(result).official).toMatchObject({ pairs: 4, endedBy: 'episodes', candidates: [{ verdict: 'inconclusive' }] });
  });

  it('takes kept results as the baseline, with the same official result as playing it again', async () => {
    await using stage = await Stage.open();
    const kept = stage.path('kept');
    await stage.call(['eval', CARTPOLE, '-c', MIDDLE ?? '', '--episodes', '100', '--out', kept, '-n', '2']);
    const out = stage.path('comparison');
    const recorded = comparisonOf(await stage.call(compare('-b', kept, '-c', LATE, '--json', '-n', '2', '--out', out)));
    const played = comparisonOf(await stage.call(compare('-b', MIDDLE, '-c', LATE, '--json', '-n', '1')));
    expect(recorded.baseline.recorded).toBe(true);
    expect(JSON.stringify(recorded.official)).toBe(JSON.stringify(played.official));
    const replayed = await stage.call(['replay', out, '0']);
    expect(replayed).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/no episode of the baseline .* or --arm 1 for/) });
  });

  it('refuses a baseline of another suite, and names both digests', async () => {
    await using stage = await Stage.open();
    const kept = stage.path('kept');
    await stage.call(['eval', await stage.faultSuite(), '-c', ANYTHING, '--episodes', '4', '--out', kept, '-n', '1']);
    const result = await stage.call(compare('-b', kept, '-c', LATE));
    expect(result.exitCode).toBe(2);
    expect(result.stderr.match(/sha256:[0-9a-f]{64}/g)).toHaveLength(2);
    expect(result.stderr).toContain('evaluate the baseline on this suite');
  });

  it('refuses results without their episodes, with the remedy', async () => {
    await using stage = await Stage.open();
    const kept = stage.path('kept');
    await stage.call(['eval', CARTPOLE, '-c', ANYTHING, '--episodes', '4', '--out', kept, '-n', '1']);
    await rm(path.join(kept, 'episodes.ndjson'));
    const result = await stage.call(compare('-b', kept, '-c', LATE));
    expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(result.stderr).toMatch(/kept\/episodes\.ndjson cannot be read: .*; give the whole directory, or record the evaluation again/);
  });

  it('that is interrupted prints the partial comparison, and continues to the same official result', async () => {
    await using stage = await Stage.open();
    const other = stage.path('other');
    await cp(ANYTHING, other, { recursive: true });
    await writeFile(path.join(other, 'notes.txt'), 'another checkpoint');
    const [config, suite] = [await stage.config(), await stage.faultSuite()];
    const command = (out: string, ...more: readonly string[]): readonly string[] => {
      const given = ['--json', '-n', '1', '--config', config, '--budget', '40', '--out', stage.path(out)];
      return ['compare', suite, '-b', ANYTHING, '-c', other, ...given, ...more];
    };
    const gate = `playing-${seedOf(9)}`;
    await stage.closeGates(gate);
    const started = stage.start(command('out'));
    await started.until('an episode does not end', async () => (await stage.countAt(gate)) === 1);
    started.signalGroup('SIGINT');
    const interrupted = await started.ended;
    expect(interrupted.exitCode).toBe(130);
    const partial = comparisonOf(interrupted);
    expect(partial).toMatchObject({ ended: 'interrupted', partial: true, verdict: 'inconclusive' });

    const refused = await stage.call(command('out', '--margin', '0.1'));
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('it holds a comparison with another margin, budget or confidence; name a new directory');
    await stage.openGates(gate);
    const done = await stage.call(command('out'));
    expect(done.stderr).toContain('continues the run that was interrupted there, with the episodes that it kept');
    const summary = comparisonOf(done);
    const undisturbed = comparisonOf(await stage.call(command('undisturbed')));
    expect(JSON.stringify(summary.official)).toBe(JSON.stringify(undisturbed.official));
    expect(summary.run.recalled).toBeGreaterThan(0);
    expect(summary.run.recalled).toBe(40 - summary.run.outcomes);
    const again = await stage.call(command('out'));
    expect(again.stderr).toContain('this comparison is complete; its summary is shown again, and nothing is played');
    expect([again.exitCode, comparisonOf(again)]).toEqual([done.exitCode, summary]);
  });
});
