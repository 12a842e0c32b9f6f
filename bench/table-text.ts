import type { Cell, Check, Report, Table } from './benchmark.ts';

export function showReport(name: string, { tables, checks, notes }: Report): string {
  const parts = [`## ${name}`, ...tables.map(showTable), checks.map(showCheck).join('\n'), notes.map((note) => `- ${note}`).join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** A table of Markdown, so that it can be kept as it is. */
function showTable({ title, columns, rows }: Table): string {
  const cells = [columns, ...rows.map((row) => row.map(showCell))];
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const [head = columns, ...body] = cells;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [title, '', line(head), rule, ...body.map(line)].join('\n');
}

function showCheck({ what, target, measured, met }: Check): string {
  return `${met ? 'met   ' : 'MISSED'}  ${what}: ${measured}, target ${target}`;
}

export function showCell(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (Number.isInteger(cell)) return cell.toLocaleString('en');
  const digits = Math.abs(cell) >= 100 ? 0 : Math.abs(cell) >= 10 ? 1 : 2;
  return cell.toLocaleString('en', { maximumFractionDigits: digits });
}
