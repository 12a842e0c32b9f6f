import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { comparisonSummarySchema } from '../../src/orchestrator/results/comparison-summary.ts';
import { summariesSchema } from '../../src/orchestrator/results/summaries.ts';
import { summarySchema } from '../../src/orchestrator/results/summary.ts';
import { CARTPOLE, LATE, Stage } from './stage.ts';

const MIDDLE = LATE.replace('late', 'middle');
const FEW = ['--episodes', '20', '--json', '-n', '2'];

/** The exact number that the page shows under a name of the document. */
function shown(page: string, source: string): number {
  const tag = [...page.matchAll(/<data [^>]*>/g)].map(([text]) => text).find((text) => text.includes(`data-source="${source}"`));
  return Number(/value="([^"]*)"/.exec(tag ?? '')?.[1]);
}

describe('--report', () => {
  it('of an evaluation shows the figures of its summary', async () => {
    await using stage = await Stage.open();
    const file = stage.path('page.html');
    const result = await stage.call(['eval', CARTPOLE, '-c', MIDDLE, '--report', file, ...FEW]);
    const { official } = summarySchema.parse(JSON.parse(result.stdout));
    const page = await readFile(file, 'utf8');
    expect(shown(page, 'official.mean')).toBe(official.mean);
    expect(shown(page, 'official.interval.low')).toBe(official.interval?.low);
    expect(await readdir(stage.directory)).not.toContain('page.html.partial');
  });

  it('of several evaluations is one page with all of them, ranked as the document ranks them', async () => {
    await using stage = await Stage.open();
    const file = stage.path('page.html');
    const result = await stage.call(['eval', CARTPOLE, '-c', MIDDLE, '-c', LATE, '--report', file, ...FEW]);
    const { ranking } = summariesSchema.parse(JSON.parse(result.stdout));
    expect(ranking.places.map(({ uri, best, worst }) => [uri, best, worst])).toEqual([
      [LATE, 1, 1],
      [MIDDLE, 2, 2],
    ]);
    const page = await readFile(file, 'utf8');
    expect(page.indexOf('late.safetensors')).toBeLessThan(page.indexOf('middle.safetensors'));
  });

  it('of a comparison shows its verdict', async () => {
    await using stage = await Stage.open();
    const file = stage.path('page.html');
    const result = await stage.call(['compare', CARTPOLE, '-b', MIDDLE, '-c', LATE, '--report', file, '--json', '-n', '2']);
    const { official } = comparisonSummarySchema.parse(JSON.parse(result.stdout));
    const page = await readFile(file, 'utf8');
    expect(page).toContain('class="verdict promote"');
    expect(shown(page, 'official.candidates.0.difference')).toBe(official.candidates[0]?.difference);
  });

  it('into a directory that is not there is refused before anything is played', async () => {
    await using stage = await Stage.open();
    const out = stage.path('out');
    const result = await stage.call(['eval', CARTPOLE, '-c', LATE, '--report', stage.path('no/page.html'), '--out', out, ...FEW]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('--report') });
    expect(await readdir(stage.directory)).not.toContain('out');
  });
});

it('several checkpoints are ranked for a person, by the means to quote', async () => {
  await using stage = await Stage.open();
  const played = await stage.call(['eval', CARTPOLE, '-c', MIDDLE, '-c', LATE, '--episodes', '20', '-n', '2', '--json']);
  const document = summariesSchema.parse(JSON.parse(played.stdout));
  for (const [position, summary] of document.summaries.entries()) {
    summary.partial = position === 1;
    summary.official.biasReducedMean = 240 + position;
  }
  const file = await stage.write('ranked.json', document);
  expect((await stage.call(['report', file])).stdout).toMatch(
    /ranking {2}\(with at least 90 % all of these ranks are right\)\n {2}rank 1 {2}241 {2}\[[\d.]+, [\d.]+\] {2}.*late\.safetensors {2}\(partial\)\n {2}rank 2 {2}240 {2}\[[\d.]+, [\d.]+\] {2}.*middle\.safetensors\n/,
  );
});

describe('muster report', () => {
  it('draws and prints what --out kept, as the commands that played it did', async () => {
    await using stage = await Stage.open();
    const [page, out, compared] = [stage.path('page.html'), stage.path('out'), stage.path('compared')];
    const played = await stage.call([
      'eval',
      CARTPOLE,
      '-c',
      MIDDLE,
      '-c',
      LATE,
      '--report',
      page,
      '--out',
      out,
      '--episodes',
      '20',
      '-n',
      '2',
    ]);
    const afterwards = stage.path('afterwards.html');
    expect(await stage.call(['report', out, '--html', afterwards])).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: `muster: wrote ${afterwards}\n`,
    });
    expect(await readFile(afterwards, 'utf8')).toBe(await readFile(page, 'utf8'));
    const printed = await stage.call(['report', out]);
    expect(printed.stdout.slice(printed.stdout.indexOf('ranking'))).toBe(played.stdout.slice(played.stdout.indexOf('ranking')));

    const comparison = await stage.call(['compare', CARTPOLE, '-b', MIDDLE, '-c', LATE, '--out', compared, '-n', '2']);
    expect((await stage.call(['report', compared])).stdout).toBe(comparison.stdout);
  });

  it('refuses a path without a result, and comparisons together with other results', async () => {
    await using stage = await Stage.open();
    const missing = await stage.call(['report', stage.path('nothing')]);
    expect(missing).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('does not exist, or may not be read: expected a directory that'),
    });
    expect((await stage.call(['report', stage.directory])).stderr).toContain('has no summary: expected a directory that');
    const other = await stage.write('other.json', { schema: 'muster.summary/1', official: {} });
    const invalid = await stage.call(['report', other, '--html', stage.path('page.html')]);
    expect(invalid.stderr).toContain(`${other}: `);
    expect(invalid.stderr).toContain('expected a summary of this version of Muster; evaluate again');
    expect(await readdir(stage.directory)).not.toContain('page.html');
    const comparison = await stage.write('comparison.json', { schema: 'muster.comparison/1' });
    expect((await stage.call(['report', comparison, comparison])).stderr).toContain('give it alone');
  });
});

it('evaluations on different suites are not ranked, as their means are of different things', async () => {
  await using stage = await Stage.open();
  const outs = ['1', '2'].map((seed) => stage.path(`seed-${seed}`));
  for (const [index, out] of outs.entries())
    expect((await stage.call(['eval', CARTPOLE, '-c', LATE, '--episodes', '4', '--seed', `${index}`, '--out', out])).exitCode).toBe(0);
  const { stdout } = await stage.call(['report', ...outs]);
  expect(stdout).toContain('not ranked');
  expect(stdout).toContain('2 different suites');
  expect(stdout).not.toMatch(/rank \d/);
});
