import { existsSync } from 'node:fs';
import { readdir, truncate } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { summariesSchema } from '../../src/orchestrator/results/summaries.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import type { MusterResult } from './muster-command.ts';
import { isFullForm } from '../support/full-form.ts';
import { ANYTHING, Stage } from './stage.ts';

/** @throws unless stdout is exactly one list of summaries. */
function summariesOf({ stdout }: MusterResult): readonly Summary[] {
  return summariesSchema.parse(JSON.parse(stdout)).summaries;
}

describe('several checkpoints', () => {
  it('of which a later one is refused give one document with those before it, and its error', async () => {
    await using stage = await Stage.open();
    const missing = stage.path('missing.safetensors');
    const suite = await stage.faultSuite();
    const result = await stage.call(['eval', suite, '-c', ANYTHING, '-c', missing, '-c', ANYTHING, '--json', '-n', '1']);
    expect(summariesOf(result).map(({ ended, checkpoint }) => [ended, checkpoint.uri])).toEqual([['rule', ANYTHING]]);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`muster: checkpoint: ${missing} does not exist`) });
  });

  // In the short form, the next test interrupts one while it is played.
  it.runIf(isFullForm)('of which a later one is interrupted before it could be played give one document with those before it', async () => {
    await using stage = await Stage.open();
    // It takes no room here, and far longer to be read than the test waits.
    const endless = await stage.write('endless.bin', '');
    await truncate(endless, 40 * 2 ** 30);
    const args = ['eval', await stage.faultSuite(), '-c', ANYTHING, '-c', endless, '--json', '-n', '1', '--out', stage.path('out')];
    const command = stage.start(args);
    const incoming = `${stage.stateDir}/store/incoming`;
    await command.until('the first is over', () => existsSync(stage.path('out/1-anything/summary.json')));
    await command.until('the second is read', async () => (await readdir(incoming)).length > 0);
    command.signalGroup('SIGINT');
    const result = await command.ended;
    expect(summariesOf(result).map(({ ended }) => ended)).toEqual(['rule']);
    expect(result).toMatchObject({ exitCode: 130, stderr: expect.stringContaining(`interrupted before the first episode of ${endless}`) });
  });

  it('of which a later one is interrupted while it is played give one document with those before it', async () => {
    await using stage = await Stage.open();
    const config = await stage.config();
    const suite = await stage.faultSuite();
    await stage.closeGates('playing');
    const command = stage.start([
      'eval',
      suite,
      '-c',
      ANYTHING,
      '-c',
      ANYTHING,
      '--json',
      '-n',
      '1',
      '--config',
      config,
      '--out',
      stage.path('out'),
    ]);
    await command.until('the first plays', async () => (await stage.countAt('playing')) === 1);
    await stage.closeGates('loading');
    await stage.openGates('playing');
    await command.until('the second loads', async () => (await stage.countAt('loading')) === 1);
    // It may do so before its turn has come; it plays only then.
    await stage.closeGates('playing');
    await stage.openGates('loading');
    await command.until('the second plays', async () => (await stage.countAt('playing')) === 1);
    command.signalGroup('SIGINT');
    const result = await command.ended;
    expect(result.exitCode).toBe(130);
    expect(summariesOf(result).map(({ ended, official }) => [ended, official.episodes])).toEqual([
      ['rule', 12],
      ['interrupted', 0],
    ]);
  });

  it('play the same suite, though its file changes meanwhile', async () => {
    await using stage = await Stage.open();
    const config = await stage.config();
    const suite = await stage.faultSuite();
    await stage.closeGates('playing');
    const command = stage.start(['eval', suite, '-c', ANYTHING, '-c', ANYTHING, '--json', '-n', '1', '--config', config]);
    await command.until('the first plays', async () => (await stage.countAt('playing')) === 1);
    await stage.faultSuite({ changes: { seed: 8 } });
    await stage.openGates('playing');
    const [first, second] = summariesOf(await command.ended);
    expect(first?.official.suite.digest).toBeDefined();
    expect(second?.official).toEqual(first?.official);
  });
});
