/** 10 MB of values and tasks. Figures that need the values describe only the first ones. */
const MOST_KEPT = 1_000_000;
const FIRST_CAPACITY = 1024;

/** Values in index order, each with the position of its task. They can be transferred to another thread. */
export interface TaskedValues {
  readonly values: Float64Array<ArrayBuffer>;
  readonly tasks: Uint16Array<ArrayBuffer>;
}

/** Values in index order, 8 bytes each, with the positions of their tasks, for figures that moments cannot give. */
export class RetainedValues {
  #values = new Float64Array(FIRST_CAPACITY);
  #tasks = new Uint16Array(FIRST_CAPACITY);
  #count = 0;

  /** Shares the arrays; copies nothing. */
  static share({ values, tasks }: TaskedValues): RetainedValues {
    const kept = new RetainedValues();
    [kept.#values, kept.#tasks, kept.#count] = [values, tasks, values.length];
    return kept;
  }

  copy(): TaskedValues {
    return { values: this.#values.slice(0, this.#count), tasks: this.#tasks.slice(0, this.#count) };
  }

  /** @param task position, at most 65,535. */
  add(value: number, task: number): void {
    if (this.#count === MOST_KEPT) return;
    if (this.#count === this.#values.length) this.#grow();
    this.#values[this.#count] = value;
    this.#tasks[this.#count] = task;
    this.#count += 1;
  }

  copyFirst(count: number): Float64Array {
    return this.#values.slice(0, Math.min(count, this.#count));
  }

  /** Counts the added values, up to a million. */
  get count(): number {
    return this.#count;
  }

  /** Returns the values in ascending order. */
  sort(): readonly number[] {
    return Array.from(this.#values.slice(0, this.#count).sort());
  }

  /** Returns one array for each task that has values, in task order. Within a task, values are in index order. */
  groupByTask(): readonly Float64Array[] {
    return this.groupByPosition().filter((values) => values.length > 0);
  }

  /** Returns the values of each task by its position, with an empty array for each task without values before the last one with some. */
  groupByPosition(): readonly Float64Array[] {
    const tasks = this.#tasks.subarray(0, this.#count);
    const sizes = new Uint32Array(tasks.reduce((most, task) => Math.max(most, task + 1), 0));
    for (const task of tasks) sizes[task] = (sizes[task] ?? 0) + 1;
    const groups = Array.from(sizes, (size) => ({ values: new Float64Array(size), filled: 0 }));
    for (let position = 0; position < this.#count; position += 1) {
      const group = groups[tasks[position] ?? 0];
      if (group === undefined) continue;
      group.values[group.filled] = this.#values[position] ?? 0;
      group.filled += 1;
    }
    return groups.map(({ values }) => values);
  }

  #grow(): void {
    const capacity = Math.min(2 * this.#values.length, MOST_KEPT);
    const [values, tasks] = [new Float64Array(capacity), new Uint16Array(capacity)];
    values.set(this.#values);
    tasks.set(this.#tasks);
    [this.#values, this.#tasks] = [values, tasks];
  }
}
