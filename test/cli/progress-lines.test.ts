import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createComparisonView } from '../../src/cli/progress/comparison-progress.ts';
import { formatProgressLine, formatProgressLines } from '../../src/cli/progress/progress-lines.ts';
import type { Progress } from '../../src/orchestrator/facts/progress.ts';
import { NO_LOOK } from '../support/service-fixture.ts';

const TITLE = { suite: 'pendulum', checkpoint: 'late.safetensors' };

const POOL: Progress['pool'] = {
  phase: 'open',
  sandboxes: { creating: 1, warming: 2, idle: 0, leased: 5, destroying: 0 },
  waiting: 3,
  totals: { created: 7, destroyed: 0, failed: 0, died: 0, abandoned: 0, leases: 5, revoked: 0 },
  isolation: undefined,
  swept: 0,
  lastErrors: { creation: undefined, destruction: undefined, sweep: undefined },
};

const RUNNING: Progress = {
  statistics: { episodes: 250, mean: -160.73, halfWidth: 21.4, interval: undefined, target: 10, expectedRemaining: 750 },
  outcomes: 262,
  failed: 0,
  inFlight: 40,
  surplus: 12,
  episodesPerSecond: 430,
  seconds: 1.2,
  secondsLeft: 75,
  pool: POOL,
  look: NO_LOOK,
};

const plain = (progress: Progress): string[] => formatProgressLines(TITLE, progress).map((line) => stripVTControlCharacters(line));

describe('the live display', () => {
  it('shows how far it is, how sure it is and what the pool does', () => {
    expect(plain(RUNNING)).toEqual([
      'pendulum · late.safetensors',
      '███████░░░░░░░░░░░░░░░░░░░░░ 250 of ~1,000 episodes · 430/s · 1:15 left',
      'mean      -161 ± 21 (target ± 10.0)',
      'sandboxes 5 playing · 0 idle · 3 starting · 12 finished, waiting for earlier ones',
    ]);
  });

  it('of a fixed number of episodes promises no target and names the number as certain', () => {
    const fixed = plain({ ...RUNNING, statistics: { ...RUNNING.statistics, target: undefined } });
    expect(fixed[1]).toContain('250 of 1,000 episodes');
    expect(fixed[2]).toBe('mean      -161 ± 21');
  });

  it('shows a target in full while the interval is still far from it', () => {
    const wide = plain({ ...RUNNING, statistics: { ...RUNNING.statistics, mean: 11.2, halfWidth: 20, target: 0.25 } });
    expect(wide[2]).toBe('mean      11 ± 20 (target ± 0.25)');
  });

  it('says what it waits for before the first episode has ended', () => {
    const statistics = { episodes: 0, mean: undefined, halfWidth: undefined, interval: undefined, target: 10, expectedRemaining: 600 };
    const start = { ...RUNNING, statistics, surplus: 0, episodesPerSecond: 0, secondsLeft: undefined };
    expect(plain(start).slice(1)).toEqual([
      '░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 of ~600 episodes · 1.2 s so far',
      'mean      waiting for the first episode',
      'sandboxes 5 playing · 0 idle · 3 starting',
    ]);
  });

  it('fills the bar when nothing remains', () => {
    const done = plain({ ...RUNNING, statistics: { ...RUNNING.statistics, expectedRemaining: 0 } });
    expect(done[1]).toMatch(/^█{28} 250 of/);
  });

  it('reports sandboxes that died', () => {
    const shaken = { ...RUNNING, pool: { ...POOL, totals: { ...POOL.totals, died: 2 } } };
    expect(plain(shaken)[3]).toContain(' · 2 died');
  });

  it('reports failed episodes from the first on, whether or not they count already', () => {
    expect(plain({ ...RUNNING, failed: 2 })[1]).toMatch(/ 250 of ~1,000 episodes · 2 failed · 430\/s/);
  });

  it('reports why no sandbox gets ready, but not while others play', () => {
    const lastErrors = { ...POOL.lastErrors, creation: 'no space left' };
    const busy = { ...RUNNING, pool: { ...POOL, lastErrors } };
    const stuck = { ...RUNNING, pool: { ...POOL, lastErrors, sandboxes: { ...POOL.sandboxes, leased: 0 } } };
    expect(plain(busy)[3]).not.toContain('no space left');
    expect(plain(stuck)[3]).toContain('last failure: no space left');
  });
});

describe('what comes from outside', () => {
  it('stays on its line and cannot control the terminal', () => {
    const creation = 'bwrap: no\n\u001b[2Jspace';
    const stuck = {
      ...RUNNING,
      pool: { ...POOL, lastErrors: { ...POOL.lastErrors, creation }, sandboxes: { ...POOL.sandboxes, leased: 0 } },
    };
    const lines = formatProgressLines({ suite: 'pendulum', checkpoint: '\u009b31mlate' }, stuck);
    expect(lines[0]).toContain('\\u009b31mlate');
    expect(lines[3]).toContain('last failure: bwrap: no \\u001b[2Jspace');
    expect(formatProgressLine({ suite: 'pendulum', checkpoint: 'a\rb' }, stuck)).toMatch(
      /^pendulum · a\\u000db: .*bwrap: no \\u001b\[2Jspace/,
    );
  });
});

describe('the line for a log', () => {
  it('has the same facts on one line, without colours', () => {
    expect(formatProgressLine(TITLE, RUNNING)).toBe(
      'pendulum · late.safetensors: 250 of ~1,000 episodes · 430/s · 1:15 left; mean -161 ± 21 (target ± 10.0); sandboxes: 5 playing · 0 idle · 3 starting · 12 finished, waiting for earlier ones',
    );
  });
});

describe('the line of a comparison', () => {
  it('counts pairs, and of one says pair', () => {
    const view = createComparisonView({ suite: 'suite.yaml', baseline: 'nop', candidates: ['oracle'] });
    const evidence = { promote: 0.5, regress: -1, needed: 1.6 };
    const oracle = { name: 'oracle', difference: 1, halfWidth: 1, interval: undefined, evidence } as const;
    const line = (pairs: number, verdict?: 'promote'): string =>
      view.line({
        ...RUNNING,
        statistics: { pairs, episodes: 2 * pairs, expectedRemaining: 20, candidates: [{ ...oracle, pairs, verdict }] },
      });
    expect(line(1)).toMatch(
      /^suite\.yaml · against nop: 1 pair · 2 of .*; oracle: \+1\.00 ± 1\.00, evidence 31 % of what "promote" needs; /,
    );
    expect(stripVTControlCharacters(line(1, 'promote'))).toContain('promote after 1 pair;');
    expect(stripVTControlCharacters(line(1200, 'promote'))).toMatch(/1,200 pairs · .*promote after 1,200 pairs;/);
  });
});
