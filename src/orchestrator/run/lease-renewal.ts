import type { Clock } from '../../kernel/clock.ts';
import { LeaseLostError, type Lease } from '../../pool/ports/lease.ts';

/** Keeps a lease from expiring for as long as its holder is alive and has not let go of it. One that is lost is not kept: its holder will notice. */
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
