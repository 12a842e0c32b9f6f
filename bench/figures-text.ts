import { z } from 'zod';
import { showSpread } from './spread.ts';
import { showCell } from './table-text.ts';

/** Longer than a line of most terminals is not read while a benchmark runs; the tables at its end have everything. */
const MOST = 200;
const spreadSchema = z.strictObject({ median: z.number(), low: z.number(), high: z.number() });

/** What a measurement gave, in one line: "bare 1,234 (1,200–1,300), muster 1,300 (1,250–1,310)". */
export function showFigures(value: unknown): string {
  const text = figuresOf('', value).join(', ');
  return text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
}

function figuresOf(name: string, value: unknown): readonly string[] {
  const named = (text: string): readonly string[] => [name === '' ? text : `${name} ${text}`];
  const spread = spreadSchema.safeParse(value).data;
  if (spread) return named(showSpread(spread, spread.median >= 100 ? 0 : 2));
  if (typeof value === 'number') return named(showCell(value));
  if (typeof value === 'string') return named(value);
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => figuresOf(name, each));
  return Object.entries(value).flatMap(([key, each]) => figuresOf(name === '' ? key : `${name}.${key}`, each));
}
