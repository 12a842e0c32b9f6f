import type { EpisodeLog } from '../../evaluation-store/episode-log.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import { parsePlayableOrder } from '../orders/evaluation-order.ts';
import type { Player } from '../orders/player.ts';
import type { Slots } from './slots.ts';

export interface ReplayOptions {
  readonly store: { readonly episodes: Pick<EpisodeLog, 'page'> };
  readonly player: Pick<Player, 'replay'>;
  readonly slotsOf: (template: string) => Slots;
  readonly clock: Clock;
  readonly turns: Turns;
}

export interface EpisodeAddress {
  /** Position of the checkpoint: 0 in an evaluation, that of the arm in a comparison. */
  readonly arm: number;
  readonly index: number;
}

/** The longest time in which a sandbox has to become free, and the episode to be played. */
const LONGEST_MILLISECONDS = 600_000;
/** A person waits for it: it comes before evaluations of the same principal. */
const PRIORITY = 1_000_000;

/**
 * Plays a stored episode once more, and records it.
 *
 * @throws InputError `episode.not-found`; `replay.gone` when its checkpoint is gone; InfrastructureError when no sandbox could play it in time; the
 * signal's reason.
 */
export async function replayStored(
  evaluation: StoredEvaluation,
  { arm, index }: EpisodeAddress,
  { store, player, slotsOf, clock, turns }: ReplayOptions,
  outer: AbortSignal,
): Promise<ReplayDocument> {
  const order = parsePlayableOrder(evaluation);
  const [recorded] = await store.episodes.page(evaluation.id, arm, index, 1);
  if (recorded?.index !== index)
    throw new InputError('episode.not-found', `${evaluation.id} has no episode ${index}${arm === 0 ? '' : ` of arm ${arm}`} yet`);
  const { principal } = evaluation;
  using shares = new DisposableStack();
  using deadline = new Deadline(clock, LONGEST_MILLISECONDS, createLateError, outer);
  const share = (template: string): ReturnType<Slots['join']> => shares.use(slotsOf(template).join({ principal, priority: PRIORITY }));
  return await player.replay(order, { arm, recorded }, { principal, share, turns, signal: deadline.signal });
}

function createLateError(): InfrastructureError {
  const seconds = LONGEST_MILLISECONDS / 1000;
  return new InfrastructureError(
    'replay.late',
    `no sandbox played the episode within ${seconds} s; try again when the pool has less to do`,
  );
}
