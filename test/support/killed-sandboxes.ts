import type { GradingSandbox, GradingSandboxes } from '../../src/agents/grading/grading-sandboxes.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { createSeededRandom, type Random } from '../../src/kernel/seeded-random.ts';

/** Kills some of the sandboxes that it hands out: every other victim before it is used, the others a while after. */
export class KilledSandboxes implements GradingSandboxes {
  readonly #sandboxes: GradingSandboxes;
  readonly #clock: Clock;
  readonly #share: number;
  readonly #random: Random;
  #opened = 0;
  #killed = 0;

  /** @param share of them that are killed, in (0, 1]. */
  constructor(sandboxes: GradingSandboxes, clock: Clock, share: number, seed: number) {
    this.#sandboxes = sandboxes;
    this.#clock = clock;
    this.#share = share;
    this.#random = createSeededRandom('killed sandboxes', seed);
  }

  get opened(): number {
    return this.#opened;
  }

  get killed(): number {
    return this.#killed;
  }

  rootFiles(...given: Parameters<GradingSandboxes['rootFiles']>): ReturnType<GradingSandboxes['rootFiles']> {
    return this.#sandboxes.rootFiles(...given);
  }

  /** Made for one verdict, to be killed like the others. */
  openTrusted(...[place, signal]: Parameters<GradingSandboxes['openTrusted']>): Promise<GradingSandbox> {
    return this.open(place, signal);
  }

  async openBoth(...given: Parameters<GradingSandboxes['openBoth']>): ReturnType<GradingSandboxes['openBoth']> {
    const [one, other] = await this.#sandboxes.openBoth(...given);
    return [await this.#struck(one), await this.#struck(other)];
  }

  async open(...[place, signal]: Parameters<GradingSandboxes['open']>): Promise<GradingSandbox> {
    return this.#struck(await this.#sandboxes.open(place, signal));
  }

  async #struck(sandbox: GradingSandbox): Promise<GradingSandbox> {
    this.#opened += 1;
    if (this.#random() >= this.#share) return sandbox;
    this.#killed += 1;
    let ended: Promise<void> | undefined;
    const end = (): Promise<void> => (ended ??= Promise.resolve(sandbox[Symbol.asyncDispose]()));
    const later = this.#clock.after(this.#killed % 2 === 0 ? 300 * this.#random() : 0, () => void end());
    if (this.#killed % 2 === 1) await end();
    return {
      session: sandbox.session,
      signal: sandbox.signal,
      [Symbol.asyncDispose]: async () => {
        later[Symbol.dispose]();
        await end();
      },
    };
  }
}
