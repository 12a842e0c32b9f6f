import { OwnershipLostError, type Ownership, type Ownerships } from '../../evaluation-store/ownership.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';

export interface OwnedOptions {
  readonly ownerships: Pick<Ownerships, 'renew'>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long an ownership lasts; it is renewed three times in that. */
  readonly milliseconds: number;
  readonly onCancel: () => void;
  readonly onLost: () => void;
}

/** Renews an ownership until disposed or lost. A renewal that fails otherwise is tried again: the ownership lasts until another process claims the evaluation. */
export function keepOwned(ownership: Ownership, { ownerships, clock, log, milliseconds, onCancel, onLost }: OwnedOptions): Disposable {
  let isOver = false;
  let timer = scheduleRenewal();
  function scheduleRenewal(): Disposable {
    return clock.after(milliseconds / 3, () => void renew());
  }
  async function renew(): Promise<void> {
    try {
      const { cancelRequested } = await ownerships.renew(ownership, milliseconds);
      if (isOver) return;
      if (cancelRequested) onCancel();
    } catch (error) {
      if (isOver) return;
      if (error instanceof OwnershipLostError) return onLost();
      log.warn({ evaluation: ownership.evaluation, error: getMessage(error) }, 'an ownership could not be renewed');
    }
    timer = scheduleRenewal();
  }
  return {
    [Symbol.dispose]() {
      isOver = true;
      timer[Symbol.dispose]();
    },
  };
}
