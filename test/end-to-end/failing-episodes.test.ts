import { readFile } from 'node:fs/promises';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { isFullForm, sampled } from '../support/full-form.ts';
import { MusterServer } from './muster-server.ts';
import { ANYTHING, Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const ALL = Array.from({ length: 40 }, (_, index) => index);
const MANY = { stop: { rule: 'fixed', episodes: 40 } };

describe('an evaluation in which every episode fails', () => {
  const ways = [
    ['raises', 'environment-crash', /KeyError: 'order \d+'\n[^]*File "faults\.py", line \d+, in raises\n/],
    ['has the old interface', 'environment-crash', /expected 5, got 4[^]*terminated, truncated/],
    ['is not a number', 'invalid-return', /NaN/],
    ['is out of bounds', 'out-of-bounds', /1\.5 lies outside of the declared bounds \[0, 1\]/],
  ] as const;
  it.each(sampled(ways, ([how]) => how === 'is not a number'))(
    'as its environment %s ends soon with exit code 2 and the error, again when it is asked for again',
    async (how, cause, error) => {
      await using stage = await Stage.open();
      const suite = await stage.faultSuite({ how, episodes: ALL, changes: MANY });
      const args = ['eval', suite, '-c', ANYTHING, '-n', '2', '--json', '--out', stage.path('out'), '--report', stage.path('report.html')];
      const first = await stage.call(args);
      expect(first.exitCode).toBe(2);
      expect(first.stderr).toMatch(error);
      expect(first.stderr).toContain(`(${cause})`);
      expect(first.stderr).toContain('failures: scored');
      const summary = first.summary();
      expect(summary).toMatchObject({
        ended: 'failures',
        official: { episodes: 16, failedShare: 1, failures: { [cause]: 16 } },
        run: { errors: [{ cause, episodes: 16, firstIndex: 0, detail: expect.stringMatching(error) }] },
      });
      expect(JSON.parse(await readFile(stage.path('out/summary.json'), 'utf8'))).toEqual(summary);
      expect(await readFile(stage.path('report.html'), 'utf8')).toContain('data-source="official.failedShare">100 %</data>');

      const again = await stage.call(args);
      expect(again.exitCode).toBe(2);
      expect(again.summary().official).toEqual(summary.official);
      expect(again.summary().run.errors).toMatchObject([{ cause, episodes: 16, firstIndex: 0, detail: expect.stringMatching(error) }]);
    },
  );

  it('is played again in the same directory, once the cause outside of suite and checkpoint is corrected', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ how: 'is broken outside', episodes: ALL, changes: MANY });
    const args = ['eval', suite, '-c', ANYTHING, '-n', '1', '--json', '--config', await stage.config(), '--out', stage.path('out')];
    await stage.closeGates('broken');
    const failed = await stage.call(args);
    expect(failed.exitCode).toBe(2);
    expect(failed.stderr).toContain("No module named 'pygame'");

    await stage.openGates('broken');
    const mended = await stage.call(args);
    expect(mended.stderr).toContain('every episode of an earlier run failed there; they are played again');
    expect(mended.exitCode).toBe(0);
    expect(mended.summary()).toMatchObject({ official: { episodes: 40, failedShare: 0 }, run: { outcomes: 40 } });
  });

  it.runIf(isFullForm)('is played again by a server, too', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ how: 'is broken outside', episodes: ALL, changes: MANY });
    const server = await MusterServer.start(stage, await stage.gatedServer(suite));
    const submit = ['submit', 'gated', '-c', ANYTHING, '--watch', '--json', '--server', server.url];
    await stage.closeGates('broken');
    expect((await stage.call(submit)).exitCode).toBe(2);
    await stage.openGates('broken');
    const mended = await stage.call(submit);
    expect(mended.exitCode).toBe(0);
    expect(JSON.parse(mended.stdout)).toMatchObject({ state: 'finished', summary: { official: { episodes: 40, failedShare: 0 } } });
    server.command.signal('SIGTERM');
    expect((await server.command.ended).exitCode).toBe(0);
  });

  it('fails on a server, with that error and the exit code', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ how: 'raises', episodes: ALL, changes: MANY });
    const config = await stage.write('server.json', { server: { port: 0, suites: { failing: suite } }, pool: { max: 2 } });
    const server = await MusterServer.start(stage, config);
    const at = ['--server', server.url];
    const watched = await stage.call(['submit', 'failing', '-c', ANYTHING, '--watch', '--json', ...at]);
    expect(watched.exitCode).toBe(2);
    expect(watched.stderr).toMatch(/evaluation\.all-failed: [^]*KeyError: 'order \d+'/);
    expect(JSON.parse(watched.stdout)).toMatchObject({
      state: 'failed',
      failure: { code: 'evaluation.all-failed', message: expect.stringContaining('KeyError') },
      summary: { ended: 'failures', official: { episodes: 16 }, run: { errors: [{ episodes: 16 }] } },
    });
    server.command.signal('SIGTERM');
    expect((await server.command.ended).exitCode).toBe(0);
  });
});

describe('an evaluation whose environment returns NaN', () => {
  it.each(sampled([undefined, { mode: 'lockstep', width: 2 }], (play) => play !== undefined))(
    'gives its mean with a warning, played as %j',
    async (play) => {
      await using stage = await Stage.open();
      const suite = await stage.faultSuite({ how: 'shows NaN', episodes: [7], changes: { ...MANY, ...(play && { play }) } });
      const { exitCode, stdout } = await stage.call(['eval', suite, '-c', ANYTHING, '-n', '1', '--json']);
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        official: { episodes: 40, failedShare: 0 },
        warnings: expect.arrayContaining([expect.stringContaining('observations that hold NaN')]),
      });
    },
  );
});
