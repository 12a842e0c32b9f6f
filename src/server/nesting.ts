/** What is looked at by functions that call themselves must not be deeper: no suite comes near it. */
export const MOST_NESTED = 64;

/**
 * Whether lists and mappings stand within one another at more than `MOST_NESTED` levels. Only what JSON is read as is looked into: the body of an
 * upload is a stream, which leads to itself again.
 */
export function isTooNested(value: unknown): boolean {
  let levels = 1;
  for (let inner = insides(value); inner.length > 0; inner = inner.flatMap(insides)) {
    levels += 1;
    if (levels > MOST_NESTED) return true;
  }
  return false;
}

/** The lists and mappings in a list or mapping. */
function insides(value: unknown): readonly object[] {
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return [];
  return Object.values(value).filter((inner) => typeof inner === 'object' && inner !== null);
}
