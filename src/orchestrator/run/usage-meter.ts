import type { Clock } from '../../kernel/clock.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Sandbox, SandboxCapabilities } from '../../pool/ports/sandbox.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';

/**
 * Milliseconds between two measurements of a sandbox for each playing sandbox: a hundred measurements a second over all of them, which cost
 * the main thread a few per cent at most, however short episodes are.
 */
const PAUSE_PER_SANDBOX = 10;
/** Least time between two measurements of one sandbox, in milliseconds. */
const LEAST_PAUSE = 100;

type Metered = Pick<Sandbox, 'id'> & { readonly capabilities?: Pick<SandboxCapabilities, 'usage'> };

/** A sandbox plays many short evaluations within one such pause, so each uses the meter of the previous one. */
const meters = new WeakMap<Metered, UsageMeter>();

/** What one sandbox has used so far, as of the last measurement. */
export class UsageMeter {
  readonly #sandbox: Metered;
  #latest: SandboxUsage | undefined;
  #lookedAt = -Infinity;

  private constructor(sandbox: Metered) {
    this.#sandbox = sandbox;
  }

  /** Returns the sandbox's only meter. */
  static get(sandbox: Metered): UsageMeter {
    const known = meters.get(sandbox);
    if (known) return known;
    const meter = new UsageMeter(sandbox);
    meters.set(sandbox, meter);
    return meter;
  }

  /**
   * @param sandboxes that play. @param isOver the sandbox's program has ended or is about to: the present figures are final. @returns
   * undefined where usage is not measured.
   */
  async read(sandboxes: number, isOver: boolean, { clock, log }: MeterContext): Promise<SandboxUsage | undefined> {
    const now = clock.now();
    if (!isOver && now - this.#lookedAt < Math.max(LEAST_PAUSE, PAUSE_PER_SANDBOX * sandboxes)) return this.#latest;
    this.#lookedAt = now;
    try {
      const usage = await this.#sandbox.capabilities?.usage?.();
      if (usage && Object.keys(usage).length > 0) this.#latest = usage;
    } catch (error) {
      log.warn({ sandbox: this.#sandbox.id, reason: getMessage(error) }, 'the usage of a sandbox could not be read');
    }
    return this.#latest;
  }
}

export interface MeterContext {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}
