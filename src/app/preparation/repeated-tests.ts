import { z } from 'zod';
import type { Repeats } from '../../agents/preparation/steadiness.ts';

export const figuresSchema = z.record(z.string().max(2048), z.object({ runs: z.int().min(1), failures: z.int().min(0) }));

/**
 * Reads the figures of the plug-in that repeats tests; none where it could not write them. The tests may have forged them: figures can only remove
 * tests.
 */
export function readRepeats(figures: unknown): ReadonlyMap<string, Repeats> {
  const read = figuresSchema.safeParse(figures);
  return new Map(read.success ? Object.entries(read.data) : []);
}
