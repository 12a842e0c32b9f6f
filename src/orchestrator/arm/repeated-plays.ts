import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';

/** Compares the outcomes of repeated plays with the first. It only affects what is reported about reproducibility. */
export class RepeatedPlays {
  /** First outcomes of episodes that may be played again. */
  readonly #first = new Map<number, Outcome>();
  readonly #differing: EpisodeIndex[] = [];

  /** Indices of which two plays had different outcomes: their results are not reproducible. */
  get differing(): readonly EpisodeIndex[] {
    return this.#differing;
  }

  /** Call it when the episode may be played again. */
  keep(index: EpisodeIndex, outcome: Outcome): void {
    this.#first.set(index, outcome);
  }

  /** Forgets the episodes `from` … `to` − 1, which will not be played again. */
  forget(from: number, to: number): void {
    if (this.#first.size === 0) return;
    for (let index = from; index < to; index += 1) this.#first.delete(index);
  }

  /** Compares a further outcome of an index. */
  compare(index: EpisodeIndex, outcome: Outcome): void {
    const first = this.#first.get(index);
    if (first !== undefined && digestOutcome(first) !== digestOutcome(outcome)) this.#differing.push(index);
  }
}

/** Digests what two plays of an episode must agree on. A failure's detail may name addresses and times, so it is excluded. */
function digestOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'completed':
      return formatCanonicalJson(outcome);
    case 'failed':
      return outcome.cause;
    case 'lost':
      return 'lost';
  }
}
