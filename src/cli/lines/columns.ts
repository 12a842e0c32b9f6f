import { stripVTControlCharacters } from 'node:util';

/** Rows as lines, each column as wide as its widest cell. Colours take no room. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => measureWidth(row[column] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - measureWidth(cell))))
      .join('  ')
      .trimEnd(),
  );
}

function measureWidth(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
