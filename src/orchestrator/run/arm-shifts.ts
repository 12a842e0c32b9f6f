import type { Arm } from '../arm/arm.ts';

/** Who works for which arm of a study. */
export class ArmShifts {
  readonly #arms: readonly Arm[];
  readonly #counts = new Map<Arm, number>();

  /** @throws RangeError without an arm. */
  constructor(arms: readonly Arm[]) {
    if (arms.length === 0) throw new RangeError('a study needs an arm');
    this.#arms = arms;
  }

  /** A sandbox that works for the arm until it is disposed of. */
  begin(arm: Arm): Disposable {
    this.#count(arm, 1);
    return { [Symbol.dispose]: () => this.#count(arm, -1) };
  }

  /** The arm with the most to do for each sandbox that works for it already. */
  findNeediest(): Arm {
    return this.#arms.reduce((best, arm) => (this.#computeNeed(arm) > this.#computeNeed(best) ? arm : best));
  }

  /** Sandboxes that share an arm's episodes, those on their way included. @param workers those at work for any arm. */
  countSandboxes(arm: Arm, workers: number): number {
    const live = this.#arms.length === 1 ? 1 : this.#arms.filter(({ isOver }) => !isOver).length;
    return Math.max(1, this.#countShifts(arm), Math.ceil(workers / Math.max(1, live)));
  }

  #computeNeed(arm: Arm): number {
    return arm.isOver ? -1 : arm.countAvailable(1) / (1 + this.#countShifts(arm));
  }

  #countShifts(arm: Arm): number {
    return this.#counts.get(arm) ?? 0;
  }

  #count(arm: Arm, change: 1 | -1): void {
    this.#counts.set(arm, this.#countShifts(arm) + change);
  }
}
