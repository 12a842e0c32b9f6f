/**
 * Tests that are slow and wide have two forms: `npm test` runs a sample, `npm run test:all` sets MUSTER_TEST_ALL=1 and runs everything. The
 * same checks hold in both.
 */
export const isFullForm = process.env['MUSTER_TEST_ALL'] === '1';

/** A number of runs, sandboxes or bytes. @param variable sets another one, for a form in between. */
export function extent({ short, full, variable }: { readonly short: number; readonly full: number; readonly variable?: string }): number {
  const set = variable === undefined ? undefined : process.env[variable];
  return set === undefined ? (isFullForm ? full : short) : Number(set);
}

/** All, or those that the short form runs. */
export function sampled<Item>(all: readonly Item[], isInShortForm: (item: Item) => boolean): readonly Item[] {
  return isFullForm ? all : all.filter(isInShortForm);
}
