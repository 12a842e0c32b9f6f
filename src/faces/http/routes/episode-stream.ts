import type { StoredEpisode } from '../../../evaluation-store/episode-log.ts';
import { copyOutcome } from '../../../orchestrator/replay/replay-document.ts';
import { createEpisodePlanner } from '../../../orchestrator/suite/suite-definition.ts';
import type { EvaluationOrder } from '../../../service/orders/evaluation-order.ts';
import { readOrderedSuite } from '../../../service/orders/ordered-suite.ts';
import type { EpisodeLine } from '../schemas/episode-schemas.ts';
import { omitText } from './withheld-text.ts';

/** Lines that are sent together: few enough for others to get in between, enough for a line to cost little. */
const LINES_AT_A_TIME = 128;

/**
 * Writes the episodes of one arm as NDJSON. The next ones are read when the client has received the last.
 *
 * @param withText whether the reader may see what the programs inside printed.
 */
export async function* streamEpisodeLines(
  episodes: AsyncIterable<StoredEpisode>,
  order: EvaluationOrder,
  { arm, withText }: { readonly arm: number; readonly withText: boolean },
): AsyncGenerator<string> {
  const whole = createLineWriter(order, arm);
  const line = withText ? whole : (episode: StoredEpisode): EpisodeLine => omitText(whole(episode));
  let lines: string[] = [];
  for await (const episode of episodes) {
    lines.push(`${JSON.stringify(line(episode))}\n`);
    if (lines.length < LINES_AT_A_TIME) continue;
    yield lines.join('');
    lines = [];
  }
  if (lines.length > 0) yield lines.join('');
}

/** @returns undefined when the order has no such arm. */
export function getCheckpointOfArm(order: EvaluationOrder, arm: number): string | undefined {
  switch (order.kind) {
    case 'evaluation':
      return arm === 0 ? order.checkpoint.digest : undefined;
    case 'comparison':
      return (arm === 0 ? order.baseline : order.candidates[arm - 1])?.digest;
  }
}

function createLineWriter(order: EvaluationOrder, arm: number): (episode: StoredEpisode) => EpisodeLine {
  const suite = readOrderedSuite(order);
  const plan = createEpisodePlanner(suite);
  const checkpoint = getCheckpointOfArm(order, arm) ?? '';
  return ({ index, task, outcome, seconds, log }) => {
    const { environmentSeed, policySeed } = plan(index);
    return {
      index,
      task: suite.tasks[task]?.name ?? `task ${task}`,
      environmentSeed,
      policySeed,
      checkpoint,
      outcome: copyOutcome(outcome),
      seconds,
      ...(log === undefined ? {} : { log }),
    };
  };
}
