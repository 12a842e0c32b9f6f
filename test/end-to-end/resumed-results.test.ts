import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { STATISTICS_VERSION } from '../../src/aggregation/statistics-version.ts';
import type { MusterCommand } from './muster-command.ts';
import { ANYTHING, LATE, seedOf, Stage } from './stage.ts';

const EPISODES = 260;
/** The first episode that does not end while its gate is closed. */
const BLOCKED = 200;

describe('an evaluation with --out that was interrupted', () => {
  it('continues when it is asked for again, as often as it is interrupted, and has the same official result', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: EPISODES } } });
    const config = await stage.config();
    const command = (out: string): readonly string[] => [
      'eval',
      suite,
      '-c',
      ANYTHING,
      '-n',
      '1',
      '--json',
      '--config',
      config,
      '--out',
      out,
    ];
    const undisturbed = await stage.call(command(stage.path('undisturbed')));

    const out = stage.path('out');
    const episodesFile = stage.path('out/episodes.ndjson');
    const gate = `playing-${seedOf(BLOCKED)}`;
    await stage.closeGates(gate);
    const untilBlocked = (running: MusterCommand): Promise<void> =>
      running.until('all earlier episodes are kept', async () => (await linesOf(episodesFile)) === BLOCKED);

    const killed = stage.start(command(out));
    await untilBlocked(killed);
    killed.signal('SIGKILL');
    expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
    // A kill may come in the middle of a line.
    await appendFile(episodesFile, '{"index":200,"task":"fau');

    const interrupted = stage.start(command(out));
    await interrupted.until('it goes on', () =>
      interrupted.stderr.includes(`${out}: continues the run that was interrupted there, with the episodes that it kept`),
    );
    await untilBlocked(interrupted);
    interrupted.signal('SIGINT');
    const partial = await interrupted.ended;
    expect(partial.exitCode).toBe(130);
    expect(partial.summary()).toMatchObject({ partial: true, official: { episodes: BLOCKED }, run: { recalled: BLOCKED } });

    await stage.openGates(gate);
    const complete = await stage.call(command(out));
    const summary = complete.summary();
    expect(complete.exitCode).toBe(0);
    expect(JSON.stringify(summary.official)).toBe(JSON.stringify(undisturbed.summary().official));
    expect(summary.run).toMatchObject({ recalled: BLOCKED, outcomes: EPISODES - BLOCKED });
    expect((await readdir(out)).toSorted()).toEqual(['config.json', 'episodes.ndjson', 'summary.json']);
    expect(await recordsOf(episodesFile)).toEqual(await recordsOf(stage.path('undisturbed/episodes.ndjson')));

    const again = await stage.call(command(out));
    expect(again.stderr).toContain('this evaluation is complete; its summary is shown again, and nothing is played');
    expect(again.summary()).toEqual(summary);
  });

  it('keeps its directory to itself: another checkpoint, suite, rule, template or way to compute is refused', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite();
    const out = stage.path('out');
    const evaluate = (...flags: readonly string[]): ReturnType<Stage['call']> =>
      stage.call(['eval', suite, '-n', '1', '--out', out, ...flags]);
    expect((await evaluate('-c', ANYTHING)).exitCode).toBe(0);
    const kept = await readFile(stage.path('out/summary.json'), 'utf8');

    const template = await stage.write('other.json', { templates: { local: { limits: { memoryBytes: '700MiB' } } } });
    const facts = JSON.parse(await readFile(stage.path('out/config.json'), 'utf8'));
    const { statistics, ...before } = facts;
    expect(statistics).toBe(STATISTICS_VERSION);
    await writeFile(stage.path('out/config.json'), JSON.stringify(before));
    const ofBefore = await evaluate('-c', ANYTHING);
    await writeFile(stage.path('out/config.json'), JSON.stringify(facts));
    const refused = [
      [ofBefore, `it holds an evaluation under version 1 of the statistics, and this Muster computes version ${STATISTICS_VERSION}`],
      [await evaluate('-c', LATE), 'it holds an evaluation of another checkpoint, sha256:'],
      [
        await evaluate('-c', ANYTHING, '--episodes', '30'),
        'it holds an evaluation on another suite, or with another stopping rule or budget (what differs: stop)',
      ],
      [await evaluate('-c', ANYTHING, '--config', template), 'it holds an evaluation with another definition of the template "local"'],
    ] as const;
    for (const [result, why] of refused) {
      expect(result.exitCode).toBe(2);
      expect(result.stderr).toContain(`--out ${out} is not empty: ${why}`);
      expect(result.stderr).toContain('name a new directory');
    }
    expect(await readFile(stage.path('out/summary.json'), 'utf8')).toBe(kept);
  });

  it('has one writer: a second process that asks for it is refused', async () => {
    await using stage = await Stage.open();
    const gate = `playing-${seedOf(3)}`;
    const suite = await stage.faultSuite();
    const command = ['eval', suite, '-c', ANYTHING, '-n', '1', '--config', await stage.config(), '--out', stage.path('out')];
    await stage.closeGates(gate);
    const first = stage.start(command);
    await first.until('it plays', async () => (await linesOf(stage.path('out/episodes.ndjson'))) === 3);
    const second = await stage.call(command);
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toContain('another process writes its results there');
    await stage.openGates(gate);
    expect((await first.ended).exitCode).toBe(0);
  });
});

async function linesOf(file: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}

/** Without what time has a part in. */
async function recordsOf(file: string): Promise<readonly unknown[]> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => Object.assign(Object(JSON.parse(line)), { seconds: undefined, usage: undefined }));
}
