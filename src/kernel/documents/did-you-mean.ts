/** Returns `; did you mean "max"?` when one of the names is close enough for a typing error, otherwise nothing. */
export function suggestNames(given: string, names: readonly string[]): string {
  const meant = findNearest(given, names);
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

/** A name that is cut off has at least so many letters. */
const LEAST_BEGINNING = 5;

/**
 * Finds the nearest name, if it is close enough for a typing error; otherwise the only name that begins with the given one.
 *
 * @param length of the word that may have the error.
 */
export function findNearest(given: string, names: readonly string[], length = given.length): string | undefined {
  const allowed = Math.max(1, Math.floor(length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const name of names) {
    const distance = name.toLowerCase() === given.toLowerCase() ? 0 : measureEditDistance(given, name);
    if (distance <= allowed && distance < (best?.distance ?? Infinity)) best = { name, distance };
  }
  if (best || given.length < LEAST_BEGINNING) return best?.name;
  const [only, other] = new Set(names.filter((name) => name.startsWith(given)));
  return other === undefined ? only : undefined;
}

/** Computes the Damerau–Levenshtein distance (optimal string alignment): insertions, deletions, replacements and swaps of neighbouring letters. */
function measureEditDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const distanceAt = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = distanceAt(row - 1, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwap ? distanceAt(row - 2, column - 2) + 1 : Infinity;
      current.push(Math.min(distanceAt(row - 1, column) + 1, distanceAt(row, column - 1) + 1, replaced, swapped));
    }
  }
  return distanceAt(from.length, to.length);
}
