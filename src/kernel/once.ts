/** Work that runs once for all callers. After a failure, the next caller runs it again. */
export class Once<Value> {
  readonly #work: () => Promise<Value>;
  #done: Promise<Value> | undefined;

  constructor(work: () => Promise<Value>) {
    this.#work = work;
  }

  /** Returns the result of the run that is under way or has succeeded, otherwise of a new one. @throws what the work throws. */
  run(): Promise<Value> {
    this.#done ??= this.#work().catch((error: unknown) => {
      this.#done = undefined;
      throw error;
    });
    return this.#done;
  }

  /** Returns the result of a run that has begun; undefined when none has, and when it fails. Never rejects. */
  async result(): Promise<Value | undefined> {
    return await this.#done?.catch(() => undefined);
  }
}

/** Returns a function that computes once for each object, and keeps the result as long as the object exists. What it throws is not kept. */
export function computeOnce<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const { value } = known.get(key) ?? { value: compute(key) };
    known.set(key, { value });
    return value;
  };
}
