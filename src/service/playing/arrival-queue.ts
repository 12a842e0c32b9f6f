import type { Clock } from '../../kernel/clock.ts';
import { Slots, type HeldShare } from './slots.ts';

/** Shares the sandboxes of each template out between evaluations. Those that were requested first come first. */
export class ArrivalQueue {
  readonly #slots = new Map<string, Slots>();
  readonly #getSize: (template: string) => number;
  readonly #clock: Clock;
  #positions = 0;

  /** @param getSize the most sandboxes of a template. @throws InputError when the configuration has no such template. */
  constructor(getSize: (template: string) => number, clock: Clock) {
    this.#getSize = getSize;
    this.#clock = clock;
  }

  /** Takes the position of a request at its arrival, however long reading its suite takes. */
  takePosition(): number {
    return (this.#positions += 1);
  }

  /** @throws as `getSize` does. */
  join(position: number, template: string): HeldShare {
    const slots = this.#slots.get(template) ?? new Slots(this.#getSize(template), this.#clock);
    this.#slots.set(template, slots);
    return slots.join({ principal: '', priority: -position });
  }
}
