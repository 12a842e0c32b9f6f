import { digestBytes } from '../../kernel/canonical-json.ts';
import type { Candidate, Mutation } from './candidate.ts';

const MOST_OF_FUNCTION = 2;

/** Chooses up to this many mutations, spread over the functions; the code alone decides which. */
export function chooseMutations(found: readonly Mutation[], most: number): readonly Extract<Candidate, { readonly kind: 'mutation' }>[] {
  const ranked = found
    .map((mutation) => ({ mutation, rank: digestBytes(`${mutation.path} ${mutation.line} ${mutation.kind} ${mutation.text}`) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  const ofFunction = new Map<string, number>();
  const chosen = ranked.filter(({ mutation }) => {
    const key = `${mutation.path} ${mutation.function === '' ? mutation.line : mutation.function}`;
    const count = ofFunction.get(key) ?? 0;
    ofFunction.set(key, count + 1);
    return count < MOST_OF_FUNCTION;
  });
  return chosen.slice(0, most).map(({ mutation, rank }) => ({ kind: 'mutation', id: `m${rank.slice(7, 19)}`, mutation }));
}
