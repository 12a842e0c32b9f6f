import type { FoundCheckpoint } from './found-checkpoints.ts';

/** Tells which checkpoints are complete: by their marker, or because nothing has changed for a while. */
export class QuietTime {
  readonly #quietMs: number;
  readonly #needsMarker: boolean;
  #seen = new Map<string, { readonly fingerprint: string; readonly sinceMs: number }>();

  /** @param quietMs how long a checkpoint has to stay unchanged, where no marker says that it is complete. */
  constructor(quietMs: number, needsMarker: boolean) {
    this.#quietMs = quietMs;
    this.#needsMarker = needsMarker;
  }

  /** @returns the complete checkpoints. */
  look(found: readonly FoundCheckpoint[], nowMs: number): readonly FoundCheckpoint[] {
    const before = this.#seen;
    this.#seen = new Map(
      found.map(({ name, fingerprint }) => {
        const known = before.get(name);
        return [name, known?.fingerprint === fingerprint ? known : { fingerprint, sinceMs: nowMs }];
      }),
    );
    if (this.#needsMarker) return found.filter(({ isMarked }) => isMarked);
    return found.filter(({ name }) => nowMs - (this.#seen.get(name)?.sinceMs ?? nowMs) >= this.#quietMs);
  }
}
