import { userInfo } from 'node:os';
import { TokenOffice } from './access/token-office.ts';
import type { Config } from './config/config.ts';
import { systemClock } from './kernel/clock.ts';
import { openEvaluationStore } from './stores.ts';

/** A token office over the store of a configuration, which is open as long. */
export interface OpenTokenOffice extends AsyncDisposable {
  readonly office: TokenOffice;
  /** What "now" is for it. */
  readonly now: () => Date;
}

/**
 * Whoever may read and write the store is let in: there is no other way to the first token.
 *
 * @throws InputError `store.in-use` when the store is a file that a server has open: it is asked over HTTP then.
 */
export async function openTokenOffice(config: Pick<Config, 'store'>): Promise<OpenTokenOffice> {
  const store = await openEvaluationStore(config, systemClock);
  return {
    office: new TokenOffice(store, systemClock, `command-line:${userInfo().username}`),
    now: () => systemClock.date(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
