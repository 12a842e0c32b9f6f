/** Numbers for workers from 1 on: always the lowest free one, so that there are no more numbers than workers at a time. */
export class Places {
  readonly #taken = new Set<number>();

  take(): Disposable & { readonly number: number } {
    let number = 1;
    while (this.#taken.has(number)) number += 1;
    this.#taken.add(number);
    return { number, [Symbol.dispose]: () => void this.#taken.delete(number) };
  }
}
