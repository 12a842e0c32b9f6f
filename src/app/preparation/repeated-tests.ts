import { z } from 'zod';
import type { Repeats } from '../../agents/preparation/steadiness.ts';

/** Of each test. */
export const figuresSchema = z.record(z.string().max(2048), z.object({ runs: z.int().min(1), failures: z.int().min(0) }));

/** What the plug-in that repeats tests wrote down; none where it could not. The tests may have written it: it only ever takes tests away. */
export function readRepeats(figures: unknown): ReadonlyMap<string, Repeats> {
  const read = figuresSchema.safeParse(figures);
  return new Map(read.success ? Object.entries(read.data) : []);
}
