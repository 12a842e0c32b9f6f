import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';

/** Of environments/timed.py: episodes of one step, after which the sandbox is kept busy, so that each goes to another one. */
export function timedSuite(episodes: number, holdSeconds: number): object {
  return {
    name: 'bench',
    environment: { entry: 'timed:make', kwargs: { hold_seconds: holdSeconds } },
    files: join(PACKAGE_ROOT, 'bench/environments'),
    reward: { bounds: [0, 1] },
    metrics: ['sandbox', 'first_ended'],
    stop: { rule: 'fixed', episodes },
  };
}

const timedSchema = z.object({ sandbox: z.number(), first_ended: z.number() });
const lineSchema = z.object({ outcome: z.object({ kind: z.literal('completed'), metrics: timedSchema }) });

/** @param out where results were written. @throws ZodError when an episode was not completed. */
export async function timedEpisodes(out: string): Promise<readonly z.infer<typeof timedSchema>[]> {
  const lines = (await readFile(join(out, 'episodes.ndjson'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => lineSchema.parse(JSON.parse(line)).outcome.metrics);
}
