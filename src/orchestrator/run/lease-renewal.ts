import type { Clock } from '../../kernel/clock.ts';
import { LeaseLostError, type Lease } from '../../pool/ports/lease.ts';

/** Renews a lease while its holder is alive and has not released it. A lost lease is not renewed: its holder notices the loss. */
export function keepRenewed(lease: Lease<unknown>, clock: Clock, everyMilliseconds: number): Disposable {
  let timer = clock.after(everyMilliseconds, renew);
  function renew(): void {
    try {
      lease.renew();
      timer = clock.after(everyMilliseconds, renew);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
