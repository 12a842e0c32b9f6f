/** What is looked at by functions that call themselves must not be deeper: no suite comes near it. */
export const MOST_NESTED = 64;

/** Whether lists and mappings stand within one another at more than `MOST_NESTED` levels. @param value from JSON. */
export function isTooNested(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_NESTED) return true;
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each).filter((inner) => typeof inner === 'object') : [],
    );
  }
  return false;
}
