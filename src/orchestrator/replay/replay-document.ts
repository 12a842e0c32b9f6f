import { z } from 'zod';
import { judge } from '../../aggregation/folding/scoring.ts';
import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { Replay } from '../run/players.ts';
import { createEpisodePlanner, type SuiteDefinition } from '../suite/suite-definition.ts';
import { outcomeSchema } from '../results/recorded-episodes.ts';
import { digestSchema } from '../results/summary.ts';

/** An episode of an evaluation beside a replay of it. */
export const replaySchema = z
  .strictObject({
    schema: z.literal('muster.replay/1'),
    suite: z.strictObject({ name: z.string(), digest: digestSchema }),
    checkpoint: z.strictObject({ digest: digestSchema }),
    index: z.int().min(0),
    task: z.string(),
    environmentSeed: z.int().min(0),
    policySeed: z.int().min(0),
    recorded: outcomeSchema.describe('outcome in the evaluation'),
    replayed: outcomeSchema.describe('outcome of the replay'),
    isSame: z.boolean().describe('whether return, length and metrics, or the cause of the failure, are the same'),
    seconds: z.number().min(0).describe('wall-clock seconds of the replay'),
    log: z.string().optional().describe('what the environment and the policy printed'),
    rewards: z.array(z.number().nullable()).describe('of each step; null where one was infinite or not a number'),
    pictures: z
      .array(z.strictObject({ step: z.int().min(0), png: z.base64() }))
      .describe('after which step, 0 for the reset; PNG in base64'),
    remarks: z.array(z.string()).describe('why there are no pictures, or no more of them'),
  })
  .describe('one episode, played again');

export type ReplayDocument = z.infer<typeof replaySchema>;

export interface ReplayedEpisode {
  readonly suite: SuiteDefinition;
  readonly checkpoint: { readonly digest: string };
  readonly index: number;
  /** Position in the suite's list of tasks. */
  readonly task: number;
  /** The outcome in the evaluation. */
  readonly recorded: Outcome;
}

export function buildReplayDocument({ suite, checkpoint, index, task, recorded }: ReplayedEpisode, replay: Replay): ReplayDocument {
  const { environmentSeed, policySeed } = createEpisodePlanner(suite)(index);
  const replayed = judge(replay.outcome, suite.bounds);
  return {
    schema: 'muster.replay/1',
    suite: { name: suite.name, digest: suite.digest },
    checkpoint: { digest: checkpoint.digest },
    index,
    task: suite.tasks[task]?.name ?? `task ${task}`,
    environmentSeed,
    policySeed,
    recorded: copyOutcome(recorded),
    replayed: copyOutcome(replayed),
    isSame: formatDecisive(recorded) === formatDecisive(replayed),
    seconds: replay.seconds,
    ...(replay.log === undefined ? {} : { log: replay.log }),
    rewards: [...replay.recording.rewards],
    pictures: replay.recording.pictures.map(({ step, png }) => ({ step, png })),
    remarks: [...replay.recording.remarks],
  };
}

/** Formats the part of an outcome that a replay must repeat. It excludes a failure's text, which may name addresses and times. */
function formatDecisive(outcome: Outcome): string {
  return formatCanonicalJson(outcome.kind === 'failed' ? { cause: outcome.cause } : { ...outcome });
}

/** Returns the outcome as the schemas of documents describe it: metrics are copied, because a schema has no readonly records. */
export function copyOutcome(outcome: Outcome): ReplayDocument['recorded'] {
  return outcome.kind === 'completed' ? { ...outcome, metrics: { ...outcome.metrics } } : { ...outcome };
}
