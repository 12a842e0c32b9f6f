import pRetry from 'p-retry';
import { InfrastructureError } from '../../kernel/errors.ts';
import { parseEpisodeIndex, type EpisodeIndex } from '../../kernel/ids.ts';
import { getBlockSize } from '../suite/play.ts';
import { createEpisodePlanner } from '../suite/suite-definition.ts';
import type { EvaluateContext } from '../run/evaluate-context.ts';
import type { LoadedContent } from '../run/load-sandbox.ts';
import type { Replay, ReplayOrder } from '../run/players.ts';
import type { Slot } from '../run/slot-share.ts';

export interface ReplayRequest extends LoadedContent {
  readonly index: EpisodeIndex;
  /** Position in the suite's list of tasks, as it was played; with adaptive allocation it does not follow from the index. */
  readonly task: number;
}

/**
 * Plays one episode of an evaluation again, with the same task and seeds, and records it.
 *
 * @throws InputError when checkpoint or suite are refused; InfrastructureError when no sandbox could play it; the signal's reason.
 */
export async function replayEpisode(
  { players, share, config, log }: Pick<EvaluateContext, 'players' | 'share' | 'config' | 'log'>,
  request: ReplayRequest,
  signal: AbortSignal,
): Promise<Replay> {
  const order = buildOrder(request);
  return await pRetry(
    async () => {
      using _slot: Slot | undefined = await share?.take(signal);
      return await players.replay(order, signal);
    },
    {
      retries: config.infrastructureRetries,
      minTimeout: config.retryMilliseconds,
      maxTimeout: 64 * config.retryMilliseconds,
      signal,
      shouldRetry: ({ error }) => error instanceof InfrastructureError,
      onFailedAttempt: ({ error, retriesLeft }) => log.warn({ error: error.message, retriesLeft }, 'an episode could not be replayed yet'),
    },
  );
}

function buildOrder({ suite, suiteFiles, checkpoint, index, task }: ReplayRequest): ReplayOrder {
  const plan = createEpisodePlanner(suite);
  const episode = { ...plan(index), task };
  const size = getBlockSize(suite.play);
  const first = index - (index % size);
  const block = Array.from({ length: size }, (_, position) => {
    const each = parseEpisodeIndex(first + position);
    return each === index ? episode : plan(each);
  });
  return { suite, suiteFiles, checkpoint, episode, block };
}
