import { z } from 'zod';
import type { RunningCandidate } from '../../aggregation/comparison/candidate-comparison.ts';
import type { RunningComparison } from '../../aggregation/comparison/paired-fold.ts';
import type { Progress } from '../../orchestrator/facts/progress.ts';
import { toFigure } from '../../aggregation/intervals/figure.ts';

/** The progress of an evaluation, for people who watch it. Unknown figures are null. */
const shared = {
  outcomes: z.int().describe('episodes that came to an end in this process, counted in the result or not'),
  inFlight: z.int().describe('episodes that are being played'),
  episodesPerSecond: z.number(),
  seconds: z.number().describe('since this process began to play it'),
  secondsLeft: z.number().nullable().describe('until it is likely to be over'),
};

/** They are left out where the figures were stored before these existed. */
const ends = {
  low: z.number().nullable().exactOptional().describe('of the interval, which need not be centred on the estimate'),
  high: z.number().nullable().exactOptional(),
};

const evaluationFiguresSchema = z.strictObject({
  kind: z.literal('evaluation'),
  episodes: z.int().describe('folded into the result'),
  mean: z.number().nullable(),
  halfWidth: z.number().nullable().describe('of the interval, in units of the return'),
  ...ends,
  target: z.number().nullable().describe('half-width at which it is over'),
  ...shared,
});

const candidateFiguresSchema = z.strictObject({
  digest: z.string(),
  pairs: z.int(),
  difference: z.number().nullable().describe('candidate minus baseline, in units of the return'),
  halfWidth: z.number().nullable(),
  ...ends,
  verdict: z.enum(['promote', 'regress', 'equivalent']).nullable(),
});

const comparisonFiguresSchema = z.strictObject({
  kind: z.literal('comparison'),
  episodes: z.int().describe('folded, of all checkpoints together'),
  pairs: z.int(),
  candidates: z.array(candidateFiguresSchema),
  ...shared,
});

export const runningFiguresSchema = z.discriminatedUnion('kind', [evaluationFiguresSchema, comparisonFiguresSchema]);
export type RunningFigures = z.infer<typeof runningFiguresSchema>;

export function toEvaluationFigures(progress: Progress): RunningFigures {
  const { episodes, mean, halfWidth, interval, target } = progress.statistics;
  return {
    kind: 'evaluation',
    episodes,
    mean: mean ?? null,
    halfWidth: toFigure(halfWidth),
    ...toEnds(interval),
    target: target ?? null,
    ...pickSharedFigures(progress),
  };
}

export function toComparisonFigures(progress: Progress<RunningComparison>): RunningFigures {
  const { episodes, pairs, candidates } = progress.statistics;
  return {
    kind: 'comparison',
    episodes,
    pairs,
    candidates: candidates.map(toCandidateFigures),
    ...pickSharedFigures(progress),
  };
}

type Shared = Pick<RunningFigures, keyof typeof shared>;

function pickSharedFigures({ outcomes, inFlight, episodesPerSecond, seconds, secondsLeft }: Omit<Progress<never>, 'statistics'>): Shared {
  return { outcomes, inFlight, episodesPerSecond, seconds, secondsLeft: toFigure(secondsLeft) };
}

function toCandidateFigures({
  name,
  pairs,
  difference,
  halfWidth,
  interval,
  verdict,
}: RunningCandidate): z.infer<typeof candidateFiguresSchema> {
  const { low, high } = toEnds(interval);
  return { digest: name, pairs, difference: difference ?? null, halfWidth: toFigure(halfWidth), low, high, verdict: verdict ?? null };
}

function toEnds(interval: { readonly low: number; readonly high: number } | undefined): {
  readonly low: number | null;
  readonly high: number | null;
} {
  return { low: toFigure(interval?.low), high: toFigure(interval?.high) };
}
