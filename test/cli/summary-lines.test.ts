import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatSummary } from '../../src/cli/lines/summary-lines.ts';
import type { Ending, Summary } from '../../src/orchestrator/results/summary.ts';

const CHECKPOINT = `sha256:${'a'.repeat(64)}`;
const SUITE = `sha256:${'b'.repeat(64)}`;

const OFFICIAL: Summary['official'] = {
  suite: { name: 'shop', digest: SUITE },
  checkpoint: { digest: CHECKPOINT },
  stop: { rule: 'certified', halfWidth: 0.01, confidence: 0.95 },
  allocation: 'proportional',
  play: { mode: 'single' },
  budgetEpisodes: null,
  episodes: 1234,
  resolved: 1234,
  unresolved: 0,
  endedBy: 'rule',
  mean: 0.27302,
  biasReducedMean: 0.27212,
  variance: 0.0004,
  standardError: 0.00057,
  min: 0.1666,
  max: 0.3727,
  interval: { low: 0.2625, high: 0.28225, confidence: 0.95, method: 'certified', guarantee: 'at least the stated confidence' },
  targetHalfWidth: 0.01,
  quantiles: { of: 1234, p05: 0.2, p25: 0.26583, p50: 0.27324, p75: 0.28007, p95: 0.3 },
  failures: {
    timeout: 0,
    'policy-crash': 0,
    'environment-crash': 0,
    'out-of-memory': 0,
    'protocol-violation': 0,
    'invalid-return': 0,
    'out-of-bounds': 0,
  },
  failedShare: 0,
  meanLength: 90,
  tasks: [{ name: 'shop', weight: 1, episodes: 1234, unresolved: 0, mean: 0.27302, standardError: 0.00057, interval: null }],
  metrics: [],
  worstCase: { low: 0.27302, high: 0.27302 },
  certainty: null,
  bca: null,
  iqm: null,
  histogram: null,
  success: null,
  course: [],
  estimands: { thisSuite: { mean: 0.27302, standardError: 0.00057 }, taskPopulation: null },
  warnings: [],
};

const SUMMARY: Summary = {
  schema: 'muster.summary/1',
  official: OFFICIAL,
  ended: 'rule',
  partial: false,
  warnings: [],
  checkpoint: { uri: 'late.safetensors', files: 1, bytes: 19_272 },
  run: {
    startedAt: '2030-01-02T03:04:05.000Z',
    seconds: 65.2,
    firstEpisodeSeconds: 0.4,
    episodeSeconds: { mean: 0.02, p50: 0.02, p95: 0.03, max: 0.04 },
    sandboxSeconds: 8,
    cost: null,
    episodesPerSecond: 351.2,
    outcomes: 1234,
    surplus: 0,
    retried: 0,
    duplicated: 0,
    nonDeterministic: [],
    pool: {
      provider: 'bubblewrap',
      template: 'local',
      mechanism: 'bubblewrap',
      limits: {},
      sandboxesMax: 8,
      created: 8,
      destroyed: 8,
      died: 0,
      failed: 0,
      swept: 0,
    },
  },
};

const plain = (summary: Summary): string[] =>
  formatSummary(summary, 'shop · late.safetensors').map((line) => stripVTControlCharacters(line));
const withOfficial = (official: Partial<Summary['official']>): string =>
  plain({ ...SUMMARY, official: { ...OFFICIAL, ...official } }).join('\n');
const withRun = (run: Partial<Summary['run']>): string => plain({ ...SUMMARY, run: { ...SUMMARY.run, ...run } }).join('\n');

describe('the summary', () => {
  it('has the answer first, then how sure it is, then what it took', () => {
    expect(plain(SUMMARY)).toEqual([
      'shop · late.safetensors',
      '  mean return            0.2730',
      '  bias-reduced mean      0.2721  quote this one: the returns decided when to stop',
      '  95 % interval          [0.2625, 0.2823]  certified: at least 95 %, whenever it stops',
      '  standard deviation     0.0200',
      '  min · quartiles · max  0.1666 · 0.2658 · 0.2732 · 0.2801 · 0.3727',
      '  episodes               1,234, as many as the stopping rule asked for',
      '  time                   1:05 · 351 episodes/s',
      '  sandboxes              8 made by bubblewrap (at most 8)',
      `  checkpoint             ${CHECKPOINT}`,
      `  suite                  ${SUITE}`,
    ]);
  });

  it('shows only the plain mean if the number of episodes was fixed, or a budget ended it', () => {
    expect(withOfficial({ stop: { rule: 'fixed', episodes: 1234, confidence: 0.95 } })).not.toContain('bias');
    expect(withOfficial({ endedBy: 'episodes' })).not.toContain('bias');
  });

  it('has no interval if none exists, and reports a missing mean', () => {
    const none = { mean: null, variance: null, interval: null, quantiles: null, min: null, max: null, episodes: 0 };
    const text = withOfficial(none);
    expect(text).toContain('none: no episode was resolved');
    expect(text).not.toMatch(/interval|deviation|quartiles/);
  });

  it.each([
    ['adjusted', 'adjusted: about 99.9 %, for episodes fixed in advance'],
    ['clopper-pearson', 'clopper-pearson: at least 99.9 %, for episodes fixed in advance'],
    ['student-t', 'student-t: 99.9 % in the limit of many episodes, fixed in advance'],
  ] as const)('says what an interval of the method %s promises', (method, promise) => {
    const interval = { low: 0.26, high: 0.28, confidence: 0.999, method, guarantee: 'in full' };
    expect(withOfficial({ interval })).toMatch(new RegExp(`99\\.9 % interval .*${promise}$`, 'm'));
  });

  it('counts failed episodes by cause, and leaves out causes that did not occur', () => {
    const text = withOfficial({ failures: { ...OFFICIAL.failures, timeout: 3, 'policy-crash': 1200 } });
    expect(text).toMatch(/failed episodes +1,203 of 1,234 \(97.5 %\): 3 timeout · 1,200 policy-crash$/m);
  });

  it('reports the first errors of failed episodes with where they were raised, each and all within bounds', () => {
    const checkpoint = CHECKPOINT;
    const traceback = ["KeyError: 'summer'", ...Array.from({ length: 40 }, (_, line) => `  File "shop.py", line ${line}, in step`)].join(
      '\n',
    );
    const errors = [traceback, 'ValueError: b', 'ValueError: c', 'ValueError: d'].map((detail, i) => ({
      checkpoint,
      cause: 'environment-crash' as const,
      episodes: i === 0 ? 40 : 1,
      firstIndex: 3 * i,
      detail,
    }));
    const lines = withRun({ errors, otherErrors: 7 }).split('\n');
    const start = lines.findIndex((line) => line.includes('✗'));
    expect(lines.slice(start, start + 2)).toEqual([
      "  ✗ environment-crash in 40 episodes, first in episode 0: KeyError: 'summer'",
      '        File "shop.py", line 0, in step',
    ]);
    expect(lines.slice(start + 12)).toEqual([
      '      …',
      '  ✗ environment-crash in episode 3: ValueError: b',
      '  ✗ environment-crash in episode 6: ValueError: c',
      '  ✗ 8 more failed with other errors',
    ]);
  });

  it('has no mean if all episodes failed, and shows their error in full where it stands nowhere else', () => {
    const failed = { ...OFFICIAL, failures: { ...OFFICIAL.failures, timeout: OFFICIAL.resolved } };
    const errors = [{ checkpoint: CHECKPOINT, cause: 'timeout' as const, episodes: 16, firstIndex: 0, detail: 'too slow\n  in step' }];
    const ended = { ended: 'failures', partial: true, allFailed: true } as const;
    const summary: Summary = { ...SUMMARY, ...ended, official: failed, run: { ...SUMMARY.run, errors } };
    const lines = plain(summary);
    expect(lines.slice(0, 4)).toEqual([
      'shop · late.safetensors  (partial)',
      '  mean return      none',
      '  episodes         1,234, all of them failed',
      '  failed episodes  1,234 of 1,234 (100.0 %): 1,234 timeout',
    ]);
    expect(lines.at(-1)).toBe('  ✗ timeout in 16 episodes, first in episode 0: too slow');
    expect(formatSummary(summary, 'shop', false).slice(-2).map(stripVTControlCharacters)).toEqual([lines.at(-1), '        in step']);
  });

  it('says that unresolved episodes have widened the interval', () => {
    expect(withOfficial({ unresolved: 2, resolved: 1232 })).toMatch(
      /lost episodes +2, with their sandboxes, in every attempt \(they widen the interval\)$/m,
    );
  });

  it('shows the available figures besides the mean', () => {
    const interval = { low: 0.26, high: 0.28, confidence: 0.95, method: 'clustered-t', guarantee: 'in full' } as const;
    const text = withOfficial({
      unresolved: 2,
      iqm: { value: 0.2701, interval: { ...interval, low: 0.2691, high: 0.2713, method: 'stratified-bootstrap' }, replicates: 2000 },
      worstCase: { low: 0.2726, high: 0.2742 },
      certainty: { knownVarianceEpisodes: 617, extraEpisodes: 617 },
      success: {
        threshold: 0.25,
        count: 1100,
        rate: 0.8914,
        clopperPearson: { ...interval, low: 0.87, high: 0.91, method: 'clopper-pearson' },
        pass: [
          { k: 1, anyOf: { value: 0.89, low: null, high: null }, allOf: { value: 0.89, low: null, high: null } },
          { k: 3, anyOf: { value: 0.998, low: 0.99, high: 1 }, allOf: { value: 0.7, low: null, high: null } },
          { k: 64, anyOf: { value: null, low: null, high: null }, allOf: { value: null, low: null, high: null } },
        ],
      },
      estimands: { ...OFFICIAL.estimands, taskPopulation: { mean: 0.27, standardError: 0.01, tasks: 25, interval } },
    });
    expect(text).toMatch(/interquartile mean +0\.27010 \[0\.26910, 0\.27130\]$/m);
    expect(text).toMatch(/success rate +89\.1 % \[87\.0 %, 91\.0 %\] clopper-pearson, 1,100 with a return of 0\.25 or more$/m);
    expect(text).toMatch(/of 3 attempts +any 99\.8 % \[99\.0 %, 100\.0 %\], all 70\.0 %$/m);
    expect(text).toMatch(/of 64 attempts +any unknown: too few episodes of a task/m);
    expect(text).toMatch(/mean at worst · best +0\.27260 · 0\.27420, whatever the lost episodes came to$/m);
    expect(text).toMatch(/mean on tasks like these +0\.2700 \[0\.2600, 0\.2800\], from 25 tasks$/m);
  });

  it('lists tasks when there are several', () => {
    const tasks = [
      { name: 'steady', weight: 0.5, episodes: 700, unresolved: 0, mean: 0.27604, standardError: 0.00056, interval: null },
      { name: 'volatile', weight: 0.5, episodes: 1, unresolved: 0, mean: 0.2, standardError: null, interval: null },
      { name: 'rare', weight: 1e-9, episodes: 0, unresolved: 0, mean: null, standardError: null, interval: null },
    ];
    const text = withOfficial({ tasks });
    expect(text).toMatch(/task steady +0\.27604 ± 0\.00056 \(standard error\), 700 episodes$/m);
    expect(text).toMatch(/task volatile +0\.20, 1 episode$/m);
    expect(text).toMatch(/task rare +no episodes$/m);
  });

  it('shows metrics, and says when one was never or not always reported', () => {
    const reported = { name: 'fillRate', count: 1234, missing: 0, mean: 0.9693, standardDeviation: 0.0253, min: 0.8, max: 1 };
    const text = withOfficial({
      metrics: [
        reported,
        { ...reported, name: 'clicks', count: 1000, missing: 234 },
        { name: 'typo', count: 0, missing: 1234, mean: null, standardDeviation: null, min: null, max: null },
        { name: 'early', count: 0, missing: 0, mean: null, standardDeviation: null, min: null, max: null },
      ],
    });
    expect(text).toMatch(/metric fillRate +0\.969, standard deviation 0\.025$/m);
    expect(text).toMatch(/metric clicks +0\.969, standard deviation 0\.025, missing in 234 episodes$/m);
    expect(text).toMatch(/metric typo +never reported: no episode ended with it in its info$/m);
    expect(text).toMatch(/metric early +none: no episode was completed$/m);
  });

  it.each<[Ending, string]>([
    ['episodes', 'all that the budget of episodes allows'],
    ['seconds', 'ended by the budget of seconds'],
    ['interrupted', 'interrupted'],
    ['failed', 'ended by a failure of the infrastructure'],
  ])('that ended by "%s" is marked as partial and says so', (ended, said) => {
    const [title, ...rest] = plain({ ...SUMMARY, ended, partial: true });
    expect(title).toBe('shop · late.safetensors  (partial)');
    expect(rest.join('\n')).toContain(`1,234, ${said}`);
  });

  it('reports what was played beyond the official episodes, and what went wrong on the way', () => {
    const text = withRun({ surplus: 7, retried: 2, duplicated: 1, pool: { ...SUMMARY.run.pool, created: 11, died: 3 } });
    expect(text).toContain('1:05 · 351 episodes/s · 2 episodes played again after a lost sandbox · 1 slow, played twice');
    expect(text).toContain('11 made by bubblewrap (at most 8), 3 died');
  });

  it('shows no time and no sandboxes when all episodes were known already', () => {
    const known = withRun({ outcomes: 0, recalled: 115, seconds: 0.0003, episodesPerSecond: 0 });
    expect(known).toMatch(/^ {2}played +none: 115 episodes were known already$/m);
    expect(known).not.toMatch(/episodes\/s|sandboxes/);
    expect(withRun({ recalled: 1 })).toContain('1:05 · 351 episodes/s · 1 episode was known already');
  });

  it('shows control characters in names and warnings as escapes', () => {
    const lines = formatSummary({ ...SUMMARY, warnings: ['last words: \u001b]0;owned\u0007\nand more'] }, 'shop · \u009b31mlate');
    expect(lines[0]).toContain('shop · \\u009b31mlate');
    expect(lines.at(-1)).toContain('last words: \\u001b]0;owned\\u0007 and more');
  });

  it('ends with every warning', () => {
    const lines = plain({ ...SUMMARY, official: { ...OFFICIAL, warnings: ['bounds are loose'] }, warnings: ['not deterministic'] });
    expect(lines.slice(-2)).toEqual(['  ! bounds are loose', '  ! not deterministic']);
  });
});
