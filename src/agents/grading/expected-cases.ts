import type { TestCase } from '../tasks/test-case.ts';

/** Inputs and outputs. */
const MOST_BYTES = 64 * 2 ** 20;

export interface ExpectedCase {
  readonly test: TestCase;
  readonly isVisible: boolean;
  readonly expected: Uint8Array;
}

/**
 * Results of generator and golden model, for other verdicts on the same inputs: compared agents, and the trajectories of a group, have the same. The
 * most recently used ones are kept.
 */
export class ComputedCases {
  readonly #most: number;
  /** Computed cases in the order of their last use. */
  readonly #computed = new Map<string, { readonly cases: readonly ExpectedCase[]; readonly bytes: number }>();
  /** Computations that a verdict has begun and not finished. */
  readonly #underWay = new Map<string, Promise<readonly ExpectedCase[]>>();
  #bytes = 0;

  /** @param most bytes that are kept. */
  constructor(most: number = MOST_BYTES) {
    this.#most = most;
  }

  /**
   * Returns what is kept, or what another verdict computes at the moment: the trajectories of a group are often graded at the same time. When the
   * other one fails or is given up, this one computes for itself.
   *
   * @param wait waits for what another verdict computes, if this one still wants it. @throws what `compute` and `wait` do.
   */
  async get(
    key: string,
    compute: () => Promise<readonly ExpectedCase[]>,
    wait: <Value>(other: Promise<Value>) => Promise<Value>,
  ): Promise<readonly ExpectedCase[]> {
    const known = this.#find(key);
    if (known) return known;
    const underWay = this.#underWay.get(key)?.catch(() => undefined);
    const shared = underWay && (await wait(underWay));
    if (shared) return shared;
    const computing = compute();
    this.#underWay.set(key, computing);
    try {
      const cases = await computing;
      this.#keep(key, cases);
      return cases;
    } finally {
      if (this.#underWay.get(key) === computing) this.#underWay.delete(key);
    }
  }

  #find(key: string): readonly ExpectedCase[] | undefined {
    const found = this.#computed.get(key);
    if (!found) return undefined;
    this.#computed.delete(key);
    this.#computed.set(key, found);
    return found.cases;
  }

  #keep(key: string, cases: readonly ExpectedCase[]): void {
    const bytes = cases.reduce((sum, one) => sum + countBytes(one), 0);
    // After a failure, several verdicts compute the same.
    if (this.#computed.has(key) || bytes > this.#most) return;
    this.#computed.set(key, { cases, bytes });
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#computed) {
      if (this.#bytes <= this.#most) return;
      this.#computed.delete(oldest);
      this.#bytes -= freed;
    }
  }
}

function countBytes({ test: { stdin, files, arguments: words }, expected }: ExpectedCase): number {
  const texts = [...Object.entries(files).flat(), ...words];
  return stdin.length + expected.length + texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
