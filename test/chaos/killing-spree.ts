import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import type { Kill } from './chaos-plan.ts';
import type { MusterPlace } from './muster-place.ts';
import { takenOver, type Takeover } from './takeover.ts';

export interface KillingSpreeOptions {
  readonly places: readonly MusterPlace[];
  readonly kills: readonly Kill[];
  /** Of the undisturbed run: what progress is measured by. */
  readonly episodes: number;
  /** URL of the database that the Musters share: then the others take over before the killed one is started again. */
  readonly store: string | undefined;
  readonly say: (text: string) => void;
}

const LOOK_MILLISECONDS = 100;

/** Kills Musters with SIGKILL at the moments of a plan, and starts them again. */
export class KillingSpree {
  readonly done: Record<Kill['during'], number> = { playing: 0, accepting: 0, starting: 0 };
  readonly takeovers: Takeover[] = [];
  readonly #options: KillingSpreeOptions;
  #onSubmission: (() => void) | undefined;

  constructor(options: KillingSpreeOptions) {
    this.#options = options;
  }

  /** A caller sends a request in this moment. */
  submitting(): void {
    this.#onSubmission?.();
  }

  /** @param answered aborted when nothing is left to disturb. @returns what went wrong. */
  async run(answered: AbortSignal): Promise<readonly string[]> {
    const { places, kills, say } = this.#options;
    for (const [at, kill] of kills.entries()) {
      const progress = await this.#untilPlayed(kill.progress, answered);
      if (kill.during === 'accepting') await this.#untilSubmission(answered);
      const victim = places[Math.floor(kill.victim * places.length)];
      if (answered.aborted || victim === undefined)
        return [`kill ${at + 1} of ${kills.length} came too late: everything had been answered`];
      if (kill.during === 'starting') await this.#kill(victim, 0);
      await this.#kill(victim, kill.milliseconds);
      this.done[kill.during] += 1;
      say(`kill ${at + 1} of ${kills.length}: ${victim.name} while ${kill.during}, at ${Math.round(100 * progress)} % of the episodes`);
    }
    return [];
  }

  async #kill(victim: MusterPlace, milliseconds: number): Promise<void> {
    const { store } = this.#options;
    await sleep(systemClock, milliseconds);
    const { owner } = victim;
    await victim.kill();
    if (store !== undefined) this.takeovers.push(...(await takenOver(store, owner)));
    victim.start();
  }

  /** @returns the share of all episodes that have been counted by then. */
  async #untilPlayed(progress: number, answered: AbortSignal): Promise<number> {
    while (!answered.aborted) {
      const played = (await this.#played()) / this.#options.episodes;
      if (played >= progress) return played;
      await sleep(systemClock, LOOK_MILLISECONDS);
    }
    return 1;
  }

  /** Where a server answers. */
  async #played(): Promise<number> {
    let played = 0;
    try {
      for await (const { running } of this.#options.places[0]?.client.list({}, { pageSize: 200 }) ?? []) played += running?.episodes ?? 0;
    } catch (error) {
      if (!(error instanceof InfrastructureError)) throw error;
    }
    return played;
  }

  async #untilSubmission(answered: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSubmission = resolve;
    answered.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#onSubmission = undefined;
  }
}
