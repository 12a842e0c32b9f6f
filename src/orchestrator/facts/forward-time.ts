/** How much of the episodes' time the policy's forward passes took, as runners measured it. */
export class ForwardTime {
  #seconds = 0;
  #forward = 0;

  /** Of one episode. */
  add(seconds: number, forwardSeconds: number): void {
    this.#seconds += seconds;
    this.#forward += forwardSeconds;
  }

  /** Undefined while nothing was measured. */
  get share(): number | undefined {
    return this.#seconds > 0 ? this.#forward / this.#seconds : undefined;
  }
}
