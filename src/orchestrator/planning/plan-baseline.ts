import { z } from 'zod';
import { judge, computeScore } from '../../aggregation/folding/scoring.ts';
import {
  createHistogramReturns,
  matchReturns,
  resampleReturns,
  type SimulatedReturns,
} from '../../aggregation/forecast/simulated-returns.ts';
import { InputError } from '../../kernel/errors.ts';
import { readRecordedOutcomes, type RecordedFiles } from '../results/recorded-baseline.ts';
import { assertPlayedOn, parseRecord, recordedSummarySchema } from '../results/recorded-summary.ts';
import type { AllocationDeclaration, SuiteDefinition } from '../suite/suite-definition.ts';

/** A stored evaluation, with its episodes or its summary alone. Unchecked. */
export type RecordedEvaluation = Pick<RecordedFiles, 'summaryFile' | 'summary'> & Partial<RecordedFiles>;

/** What an earlier evaluation tells about the next one on the same suite. */
export interface PlanBaseline {
  readonly file: string;
  readonly checkpoint: string;
  /** The source of the returns. */
  readonly from: 'episodes' | 'histogram' | 'moments';
  readonly returns: SimulatedReturns;
  /** Mean time of an episode in its sandbox; undefined when it was not measured. */
  readonly episodeSeconds: number | undefined;
  /** Names of the suite's tasks without a recorded episode. */
  readonly unseenTasks: readonly string[];
}

/** More would not improve a forecast. */
const MOST_EPISODES = 100_000;
/** Fewer have no spread. */
const FEWEST_EPISODES = 2;

const summarySchema = recordedSummarySchema.extend({
  official: recordedSummarySchema.shape.official.extend({
    resolved: z.int().min(FEWEST_EPISODES),
    mean: z.number(),
    variance: z.number().min(0),
    min: z.number(),
    max: z.number(),
    histogram: z
      .object({ edges: z.array(z.number()), counts: z.array(z.int().min(0)) })
      .refine(({ edges, counts }) => edges.length === counts.length + 1 && counts.some((count) => count > 0), 'expected a histogram')
      .nullish(),
  }),
  run: z.object({ episodeSeconds: z.object({ mean: z.number().min(0) }).nullish() }).optional(),
});

type RecordedSummary = z.infer<typeof summarySchema>;

/** @throws InputError when the evaluation was of another suite, or its files are not those of `muster eval`. */
export async function planBaseline(recorded: RecordedEvaluation, suite: SuiteDefinition): Promise<PlanBaseline> {
  const summary = parseRecord(summarySchema, recorded.summary, recorded.summaryFile, {
    code: 'plan.baseline',
    remedy: `expected the summary of one evaluation with ${FEWEST_EPISODES} resolved episodes or more: the directory that "muster eval --out" made, or what "muster eval --json" printed`,
  });
  const { official, run } = summary;
  assertPlayedOn(suite, official, recorded.summaryFile, {
    code: 'plan.baseline-suite',
    remedy: 'give an evaluation of this suite as --baseline',
  });
  const common = {
    file: recorded.summaryFile,
    checkpoint: official.checkpoint.digest,
    episodeSeconds: run?.episodeSeconds?.mean,
  };
  const { episodes, episodesFile } = recorded;
  if (episodes === undefined || episodesFile === undefined) return { ...common, ...simulateSummaryReturns(summary), unseenTasks: [] };
  const kept = { episodesFile, episodes: () => takeFirst(episodes(), MOST_EPISODES) };
  return { ...common, ...(await readEpisodeReturns(kept, suite, official.allocation)) };
}

function simulateSummaryReturns({ official }: RecordedSummary): Pick<PlanBaseline, 'from' | 'returns'> {
  const { histogram } = official;
  if (histogram) return { from: 'histogram', returns: createHistogramReturns(histogram.edges, histogram.counts, official) };
  return { from: 'moments', returns: matchReturns({ ...official, count: official.resolved }) };
}

/** Lost episodes have no score; a plan assumes that none will be lost. */
async function readEpisodeReturns(
  files: Pick<RecordedFiles, 'episodesFile' | 'episodes'>,
  suite: SuiteDefinition,
  allocation: AllocationDeclaration,
): Promise<Pick<PlanBaseline, 'from' | 'returns' | 'unseenTasks'>> {
  const outcomes = await readRecordedOutcomes(files, suite, allocation);
  const tasks = suite.tasks.map(({ name, weight }) => ({ name, weight, scores: new Array<number>() }));
  for (const { task, outcome } of outcomes) {
    if (outcome.kind === 'lost') continue;
    tasks[task]?.scores.push(computeScore(judge(outcome, suite.bounds), suite.failureScores, suite.bounds).low);
  }
  const resolved = tasks.reduce((sum, { scores }) => sum + scores.length, 0);
  if (resolved < FEWEST_EPISODES) {
    throw new InputError(
      'plan.baseline',
      `${files.episodesFile}: expected ${FEWEST_EPISODES} resolved episodes or more, got ${resolved}; evaluate with more episodes, or give another baseline`,
    );
  }
  const unseenTasks = tasks.filter(({ scores }) => scores.length === 0).map(({ name }) => name);
  return { from: 'episodes', returns: resampleReturns(tasks), unseenTasks };
}

async function* takeFirst<Item>(items: AsyncIterable<Item>, most: number): AsyncIterable<Item> {
  let count = 0;
  for await (const item of items) {
    yield item;
    count += 1;
    if (count === most) return;
  }
}
