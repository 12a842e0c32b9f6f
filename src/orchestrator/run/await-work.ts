import type { Clock } from '../../kernel/clock.ts';
import type { Duty } from './players.ts';

/**
 * Resolves when there may be work again: an outcome arrived, the fold advanced, an episode has become a straggler, or the signal is
 * aborted.
 */
export async function awaitWork(
  { arm, idle, slot }: Pick<Duty, 'idle' | 'slot'> & { readonly arm: Pick<Duty['arm'], 'nextStragglerAt'> },
  clock: Clock,
  leave: AbortSignal,
): Promise<void> {
  const stragglesAt = arm.nextStragglerAt();
  using _alarm =
    stragglesAt === undefined || stragglesAt === Number.POSITIVE_INFINITY
      ? undefined
      : clock.after(Math.max(1, stragglesAt - clock.now()), () => idle.wake(1));
  // One worker has to watch for stragglers; other runs make better use of the other idle ones.
  using _spare = idle.count > 0 ? slot?.offerSlot() : undefined;
  await idle.wait(leave);
}
