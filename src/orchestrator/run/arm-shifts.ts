import type { Arm } from '../arm/arm.ts';

/** Assigns workers to the arms of a study. */
export class ArmShifts {
  readonly #arms: readonly Arm[];
  readonly #counts = new Map<Arm, number>();

  /** @throws RangeError without an arm. */
  constructor(arms: readonly Arm[]) {
    if (arms.length === 0) throw new RangeError('a study needs an arm');
    this.#arms = arms;
  }

  /** Counts a sandbox for the arm until the result is disposed. */
  begin(arm: Arm): Disposable {
    this.#count(arm, 1);
    return { [Symbol.dispose]: () => this.#count(arm, -1) };
  }

  /** Finds the arm with the most work for each sandbox that already plays for it. */
  findNeediest(): Arm {
    return this.#arms.reduce((best, arm) => (this.#computeNeed(arm) > this.#computeNeed(best) ? arm : best));
  }

  /** Counts the sandboxes that share an arm's episodes, including those that are being created. @param workers at work for any arm. */
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
