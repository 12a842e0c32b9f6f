import type { CandidateStatistics, Verdict } from '../../../src/aggregation/comparison/comparison-statistics.ts';
import { findBestVerdict } from '../../../src/orchestrator/results/comparison-summary.ts';
import type { ComparisonSummary } from '../../../src/orchestrator/results/comparison-summary.ts';
import type { Summary } from '../../../src/orchestrator/results/summary.ts';

/** Documents to make pages of. Figures are plausible and agree with each other as far as a page shows. */

type Official = Summary['official'];
export type Task = Official['tasks'][number];

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;

/** Points that narrow towards an interval, as those of a confidence sequence do. */
export function courseTo(points: number, stride: number, mean: number, halfWidth: number): Official['course'] {
  return Array.from({ length: points }, (_, position) => {
    const share = (position + 1) / points;
    const half = halfWidth / Math.sqrt(share);
    const wobble = Math.sin(position * 1.7) * half * 0.2 * (1 - share);
    return { episodes: (position + 1) * stride, mean: mean + wobble, low: mean + wobble - half, high: mean + wobble + half };
  });
}

export function tasksOf(count: number): Task[] {
  return Array.from({ length: count }, (_, position) => ({
    name: `task-${String(position).padStart(3, '0')}`,
    weight: 1 / count,
    episodes: 16 + (position % 5),
    unresolved: 0,
    mean: 0.27 + 0.05 * Math.sin(position * 2.3),
    standardError: 0.004 + 0.002 * Math.cos(position),
    interval: null,
  }));
}

const OFFICIAL: Official = {
  suite: { name: 'inventory', digest: digest('b') },
  checkpoint: { digest: digest('a') },
  stop: { rule: 'certified', halfWidth: 0.01, confidence: 0.95 },
  allocation: 'proportional',
  play: { mode: 'single' },
  budgetEpisodes: 50_000,
  episodes: 2048,
  resolved: 2045,
  unresolved: 3,
  endedBy: 'rule',
  mean: 0.27302,
  biasReducedMean: 0.27298,
  variance: 0.0004,
  standardError: 0.000442,
  min: 0.1666,
  max: 0.3727,
  interval: { low: 0.2637, high: 0.28225, confidence: 0.95, method: 'certified', guarantee: 'at least the stated confidence' },
  targetHalfWidth: 0.01,
  worstCase: { low: 0.2717, high: 0.2741 },
  certainty: { knownVarianceEpisodes: 16, extraEpisodes: 2032 },
  bca: null,
  iqm: {
    value: 0.27311,
    interval: {
      low: 0.2724,
      high: 0.2739,
      confidence: 0.95,
      method: 'stratified-bootstrap',
      guarantee: 'approaches the stated confidence',
    },
    replicates: 2000,
  },
  quantiles: { of: 2045, p05: 0.2401, p25: 0.26583, p50: 0.27324, p75: 0.28007, p95: 0.3051 },
  histogram: {
    edges: Array.from({ length: 21 }, (_, position) => 0.16 + position * 0.011),
    counts: [1, 0, 2, 5, 9, 30, 61, 102, 190, 402, 520, 380, 180, 90, 40, 20, 7, 3, 2, 1],
  },
  success: {
    threshold: 0.25,
    count: 1802,
    rate: 0.88117,
    clopperPearson: null,
    pass: [
      {
        k: 1,
        anyOf: { value: 0.8812, low: 0.8623, high: 0.8991 },
        allOf: { value: 0.8812, low: 0.8623, high: 0.8991 },
      },
      { k: 8, anyOf: { value: 0.99931, low: 0.9981, high: 0.99987 }, allOf: { value: null, low: null, high: null } },
    ],
  },
  failures: {
    timeout: 3,
    'policy-crash': 0,
    'environment-crash': 11,
    'out-of-memory': 0,
    'protocol-violation': 0,
    'invalid-return': 0,
    'out-of-bounds': 1,
  },
  failedShare: 15 / 2045,
  meanLength: 90,
  tasks: tasksOf(3),
  metrics: [
    { name: 'fillRate', count: 2030, missing: 0, mean: 0.9693, standardDeviation: 0.0253, min: 0.8, max: 1 },
    { name: 'meanStock', count: 2000, missing: 30, mean: 118.4, standardDeviation: 22.1, min: 61, max: 214 },
    { name: 'typo', count: 0, missing: 2030, mean: null, standardDeviation: null, min: null, max: null },
  ],
  estimands: {
    thisSuite: { mean: 0.27299, standardError: 0.00044 },
    taskPopulation: {
      mean: 0.27302,
      standardError: 0.0152,
      tasks: 3,
      interval: { low: 0.2076, high: 0.3384, confidence: 0.95, method: 'clustered-t', guarantee: 'approaches the stated confidence' },
    },
  },
  course: courseTo(128, 16, 0.27302, 0.0093),
  warnings: ['There are only 3 tasks: the figures for the task population are a rough guide.'],
};

const RUN: Summary['run'] = {
  startedAt: '2030-01-02T03:04:05.000Z',
  seconds: 65.2,
  firstEpisodeSeconds: 0.4,
  episodesPerSecond: 351.2,
  episodeSeconds: { mean: 0.0151, p50: 0.0148, p95: 0.0312, max: 1.24 },
  sandboxSeconds: 503.1,
  cost: 0.0137,
  outcomes: 2101,
  surplus: 53,
  retried: 4,
  duplicated: 2,
  nonDeterministic: [],
  pool: {
    provider: 'bubblewrap',
    template: 'local',
    mechanism: 'bubblewrap',
    limits: {
      memory: { scope: 'tree', by: 'cgroup-v2' },
      cpu: { scope: 'none', by: 'none' },
      processes: { scope: 'process', by: 'rlimit' },
    },
    sandboxesMax: 8,
    created: 11,
    destroyed: 11,
    died: 3,
    failed: 0,
    swept: 0,
  },
};

const SUMMARY: Summary = {
  schema: 'muster.summary/1',
  official: OFFICIAL,
  ended: 'rule',
  partial: false,
  warnings: ['not enforced on this machine: cpu; see "muster doctor"'],
  checkpoint: { uri: 'runs/2030-01-01/late.safetensors', files: 1, bytes: 19_272, run: 'ppo-7', version: 12 },
  run: RUN,
};

export function evaluation(official: Partial<Official> = {}, beside: Partial<Omit<Summary, 'official'>> = {}): Summary {
  return { ...SUMMARY, ...beside, official: { ...OFFICIAL, ...official } };
}

/** Cut short before its first episode. */
export function nothing(): Summary {
  return evaluation(
    {
      episodes: 0,
      resolved: 0,
      unresolved: 0,
      endedBy: null,
      mean: null,
      biasReducedMean: null,
      variance: null,
      standardError: null,
      min: null,
      max: null,
      interval: null,
      targetHalfWidth: null,
      worstCase: null,
      certainty: null,
      iqm: null,
      quantiles: null,
      histogram: null,
      success: null,
      failures: { ...OFFICIAL.failures, timeout: 0, 'environment-crash': 0, 'out-of-bounds': 0 },
      meanLength: null,
      tasks: [{ name: 'task-000', weight: 1, episodes: 0, unresolved: 0, mean: null, standardError: null, interval: null }],
      metrics: [],
      estimands: { thisSuite: { mean: null, standardError: null }, taskPopulation: null },
      course: [],
      warnings: [],
    },
    {
      ended: 'interrupted',
      partial: true,
      run: { ...RUN, episodesPerSecond: 0, episodeSeconds: null, cost: null, outcomes: 0, surplus: 0, pool: { ...RUN.pool, limits: {} } },
    },
  );
}

/** @param position tells it apart. @param effect mean difference. @param growth of log10 E⁺ over all pairs. */
export function candidate(position: number, verdict: Verdict, effect: number, growth: number): CandidateStatistics {
  const pairs = 480;
  const course = courseTo(120, 4, effect, 0.021).map(({ episodes, mean, low, high }) => ({
    pairs: episodes,
    promote: (growth * episodes) / pairs + 0.2 * Math.sin(episodes / 20),
    regress: (-growth * episodes) / pairs + 0.2 * Math.cos(episodes / 20),
    difference: mean,
    low: low ?? -1,
    high: high ?? 1,
  }));
  const last = course.at(-1) ?? { promote: 0, regress: 0, low: -1, high: 1, difference: 0 };
  return {
    name: digest(String(position)),
    verdict,
    decidedAt: verdict === 'inconclusive' ? null : pairs,
    pairs,
    unresolvedPairs: 1,
    failures: { ...OFFICIAL.failures, timeout: 3, 'environment-crash': 0, 'out-of-bounds': 0 },
    mean: 0.3 + effect,
    baselineMean: 0.3,
    difference: last.difference,
    biasReducedDifference: 0.9 * (last.difference ?? 0),
    standardError: 0.0044,
    interval: { low: last.low, high: last.high, confidence: 0.975, method: 'certified', guarantee: 'at least the stated confidence' },
    evidence: { promote: last.promote, regress: last.regress, needed: 1.9 },
    course,
    discordant: 471,
    smallestEffect: verdict === 'inconclusive' ? 0.0123 : null,
    probabilityOfImprovement: { value: 0.5 + effect, low: 0.48 + effect, high: 0.52 + effect },
    warnings: verdict === 'inconclusive' ? ['13 of 480 pairs are unresolved, more than 2 %.'] : [],
  };
}

export function comparison(
  official: Partial<ComparisonSummary['official']> = {},
  beside: Partial<Omit<ComparisonSummary, 'official'>> = {},
): ComparisonSummary {
  const candidates = official.candidates ?? [candidate(0, 'promote', 0.06, 2), candidate(1, 'regress', -0.05, -2)];
  return {
    schema: 'muster.comparison/1',
    official: {
      suite: { name: 'inventory', digest: digest('b') },
      baseline: { digest: digest('c') },
      budgetEpisodes: 4000,
      pairs: 480,
      episodes: 1440,
      endedBy: 'verdicts',
      confidence: 0.95,
      margin: 0.01,
      warnings: [],
      baselineFailures: { ...OFFICIAL.failures, timeout: 0, 'environment-crash': 2, 'out-of-bounds': 0 },
      ...official,
      candidates,
    },
    verdict: findBestVerdict(candidates.map(({ verdict }) => verdict)),
    ended: 'verdicts',
    partial: false,
    warnings: [],
    baseline: { uri: 'runs/middle.safetensors', files: 1, bytes: 19_272, recorded: false },
    candidates: candidates.map((_, position) => ({ uri: `runs/step-${position}000.safetensors`, files: 1, bytes: 19_272 })),
    run: RUN,
    ...beside,
  };
}
