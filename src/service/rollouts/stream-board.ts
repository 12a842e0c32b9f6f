import { isDeepStrictEqual } from 'node:util';
import type { ListedGroup, RolloutStreams, StoredStream } from '../../agents/rollouts/streams/rollout-streams.ts';
import { toStreamTerms } from '../../agents/rollouts/streams/stream-order.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';

/** A stream's state for people. Reading it leases no group. */
export interface StreamBoard {
  readonly stream: StoredStream;
  /** Number of versions that were reported since the stream began, and the last one. */
  readonly versions: { readonly reported: number; readonly last: number | null };
  readonly capacity: StreamCapacity;
  /** Latest first. */
  readonly groups: readonly BoardGroup[];
}

export interface StreamCapacity {
  /** Trajectories of running groups that have not ended: they act, are graded, or begin as soon as others have acted. */
  readonly trajectories: number;
  /** The largest number of trajectories whose agents act at a time. */
  readonly mostTrajectories: number;
  /** Groups that wait for the trainer. */
  readonly waiting: number;
  /** With this many waiting groups, no group is begun. */
  readonly mostWaiting: number;
  /** Groups that may begin before the trainer announces the next version. */
  readonly untilNextVersion: number;
}

export interface BoardGroup {
  readonly listed: ListedGroup;
  /** How many versions the policy is ahead of the oldest version in the group; null once no trainer can get the group. */
  readonly staleness: number | null;
}

const GROUPS_SHOWN = 60;
/** Other processes may play the stream without announcing it, so the board is read at this interval. */
const LOOK_AGAIN_MS = 1000;

export async function readBoard(streams: RolloutStreams, stream: StoredStream): Promise<StreamBoard> {
  const [last, running, listed] = await Promise.all([
    streams.findLastReported(stream.principal, stream.policy),
    streams.listUnsettled(stream.id),
    streams.listRecent(stream.id, GROUPS_SHOWN),
  ]);
  const reported = Math.max(0, (last?.ordinal ?? 0) - stream.reportedBefore);
  const { concurrency, mostWaiting, maxStaleness, batch } = toStreamTerms(stream.terms);
  const { ready, acknowledged } = stream.counts;
  return {
    stream,
    versions: { reported, last: reported === 0 ? null : (last?.version ?? null) },
    capacity: {
      trajectories: running.reduce((sum, { wanted, ended }) => sum + Math.max(0, wanted - ended.size), 0),
      mostTrajectories: concurrency,
      waiting: ready,
      mostWaiting,
      untilNextVersion: Math.max(0, (maxStaleness + reported + 1) * batch - ready - acknowledged - running.length),
    },
    groups: listed.map((group) => ({ listed: group, staleness: computeStaleness(group, reported) })),
  };
}

function computeStaleness({ state, head, begun }: ListedGroup, reported: number): number | null {
  return state === 'running' || state === 'ready' ? Math.max(0, reported - (head?.oldest ?? begun)) : null;
}

/** Yields the result of `look`, and again after each change, until the stream is over. */
export async function* watchBoard(look: () => Promise<StreamBoard>, clock: Clock, signal: AbortSignal): AsyncGenerator<StreamBoard> {
  let shown: StreamBoard | undefined;
  while (!signal.aborted) {
    const board = await look();
    if (!isDeepStrictEqual(shown, board)) yield (shown = board);
    if (board.stream.state !== 'running') return;
    await sleep(clock, LOOK_AGAIN_MS, signal).catch(() => undefined);
  }
}
