import { stripVTControlCharacters } from 'node:util';

/** Formats rows as lines, each column as wide as its widest cell. Colours do not count as characters. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => measureWidth(row[column] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - measureWidth(cell))))
      .join('  ')
      .trimEnd(),
  );
}

export interface Fitting {
  /** Characters of a line; Infinity for no limit. */
  readonly width: number;
  /** Columns that are omitted in this order until the others fit. */
  readonly omitted: readonly number[];
  /** The column whose cells are shortened, to at least `least` characters, before others are omitted. Without colours. */
  readonly cut: number;
  readonly least: number;
}

/** Formats columns for a narrow terminal. */
export function fitColumns(rows: readonly (readonly string[])[], { width, omitted, cut, least }: Fitting): readonly string[] {
  for (let left = 0; ; left += 1) {
    const without = new Set(omitted.slice(0, left));
    const keep = (row: readonly string[]): readonly string[] => row.filter((_, column) => !without.has(column));
    const surplus = Math.max(...alignColumns(rows.map(keep)).map(measureWidth)) - width;
    const widest = Math.max(...rows.map((row) => measureWidth(row[cut] ?? '')));
    if (surplus > 0 && widest - surplus < least && left < omitted.length) continue;
    const shorten = (cell: string, column: number): string => (column === cut ? cutText(cell, Math.max(1, widest - surplus)) : cell);
    return alignColumns(rows.map((row) => keep(surplus > 0 ? row.map(shorten) : row)));
  }
}

function cutText(text: string, most: number): string {
  return measureWidth(text) > most ? `${text.slice(0, most - 1)}…` : text;
}

function measureWidth(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
