import { cp, mkdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ANYTHING, Stage } from './stage.ts';

const FEW = { changes: { stop: { rule: 'fixed', episodes: 4 } } };

/** Lines of the file that `--log csv:DIR` writes, by the names of its columns. */
async function logged(file: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const [names = '', ...lines] = (await readFile(file, 'utf8')).trim().split(/\r?\n/);
  return lines.map((line) => Object.fromEntries(line.split(',').map((value, place) => [names.split(',')[place] ?? '', value])));
}

describe('muster eval --log', () => {
  it('logs each checkpoint at the step in its name', async () => {
    await using stage = await Stage.open();
    const checkpoints = ['step-200', 'step-100', 'last'].map((name) => stage.path(name));
    for (const checkpoint of checkpoints) await cp(ANYTHING, checkpoint, { recursive: true });
    const named = checkpoints.flatMap((checkpoint) => ['-c', checkpoint]);
    const result = await stage.call(['eval', await stage.faultSuite(FEW), ...named, '--log', `csv:${stage.path('logs')}`, '--json']);
    expect(result).toMatchObject({ exitCode: 0 });
    const { summaries } = JSON.parse(result.stdout);
    const lines = await logged(stage.path('logs/muster.csv'));
    expect(lines.map(({ step }) => step)).toEqual(['200', '100', '3']);
    expect(lines.map(({ mean, episodes }) => [Number(mean), episodes])).toEqual(
      summaries.map(({ official }: { official: { mean: number } }) => [official.mean, '4']),
    );
    expect(lines.map(({ better, regress }) => [better, regress])).toEqual([
      ['1', '0'],
      ['0', '0'],
      ['0', '0'],
    ]);
    expect(await readFile(stage.path('logs/reports/step-100.html'), 'utf8')).toContain(`${summaries[1].official.mean}`);
  });

  it('is refused before anything is played when a sink cannot be opened', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite(FEW);
    const taken = await stage.write('taken', '');
    const result = await stage.call(['eval', suite, '-c', ANYTHING, '--log', `csv:${taken}`]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('--log csv cannot be opened') });
    const misnamed = await stage.call(['eval', suite, '-c', ANYTHING, '--log', 'csvs']);
    expect(misnamed).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('expected one of tensorboard, wandb, mlflow, aim, csv'),
    });
  });
});

describe('muster watch --log', () => {
  it('logs each evaluated checkpoint, and its comparison with the best', async () => {
    await using stage = await Stage.open();
    await mkdir(stage.path('run'));
    for (const name of ['step-10', 'step-20']) await cp(ANYTHING, stage.path(`run/${name}`), { recursive: true });
    const suite = await stage.faultSuite(FEW);
    const flags = ['--suite', suite, '--once', '--every', '0.2', '--stale', 'evaluate', '--log', `csv:${stage.path('logs')}`];
    const result = await stage.call(['watch', stage.path('run'), ...flags]);
    expect(result).toMatchObject({ exitCode: 0 });
    const lines = await logged(stage.path('logs/muster.csv'));
    expect(new Set(lines.map(({ step }) => step))).toEqual(new Set(['10', '20']));
    expect(lines.map(({ better, regress }) => [better, regress])[0]).toEqual(['1', '0']);
  });
});
