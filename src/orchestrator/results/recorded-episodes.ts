import { z } from 'zod';
import { parseEpisodeIndex, type EpisodeIndex } from '../../kernel/ids.ts';
import { FAILURE_CAUSES, type Outcome } from '../../kernel/outcome.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';
import { parseRecord, NOT_KEPT } from './recorded-summary.ts';
import { createEpisodePlanner, type AllocationDeclaration, type SuiteDefinition } from '../suite/suite-definition.ts';

/** Lines of `episodes.ndjson`, unchecked. */
export interface EpisodeLines {
  readonly episodesFile: string;
  /** @throws InputError for a file that cannot be read, or a line that is not JSON. */
  episodes(): AsyncIterable<{ readonly line: number; readonly value: unknown }>;
}

export interface RecordedEpisode {
  /** File and line, for messages. */
  readonly where: string;
  readonly index: EpisodeIndex;
  /** Digest of the one that it was played with; undefined where the line does not say. */
  readonly checkpoint: string | undefined;
  /** Position in the suite's list of tasks; undefined when the suite has no task of that name. */
  readonly task: number | undefined;
  readonly outcome: Outcome;
  /** Wall-clock seconds. */
  readonly seconds: number;
  readonly log: string | undefined;
  readonly usage: SandboxUsage | undefined;
  /** Whether the suite plays this task with these seeds at this index. With adaptive allocation any task of the suite may be there. */
  readonly isOfSuite: boolean;
}

export const outcomeSchema = z.discriminatedUnion('kind', [
  // JSON has no infinite numbers, so such a return is null; the episode failed because of it.
  z.object({ kind: z.literal('completed'), return: z.number(), length: z.int(), metrics: z.record(z.string(), z.number()) }),
  z.object({ kind: z.literal('failed'), cause: z.enum(FAILURE_CAUSES), detail: z.string() }),
  z.object({ kind: z.literal('lost'), detail: z.string() }),
]);

const episodeSchema = z.object({
  index: z.int().min(0).transform(parseEpisodeIndex),
  task: z.string(),
  environmentSeed: z.int(),
  policySeed: z.int(),
  checkpoint: z.string().optional(),
  outcome: outcomeSchema,
  seconds: z.number().min(0).default(0),
  log: z.string().optional(),
  usage: z
    .object({
      cpuSeconds: z.number().exactOptional(),
      peakMemoryBytes: z.number().exactOptional(),
      processes: z.int().exactOptional(),
    })
    .optional(),
});

/** Checks each line and says whether it is an episode of this suite. @throws InputError for a line that `--out` did not write. */
export async function* readRecordedEpisodes(
  files: EpisodeLines,
  suite: SuiteDefinition,
  allocation: AllocationDeclaration,
): AsyncIterable<RecordedEpisode> {
  const position = new Map(suite.tasks.map(({ name }, task) => [name, task]));
  const plan = createEpisodePlanner(suite);
  for await (const { line, value } of files.episodes()) {
    const where = `${files.episodesFile}:${line}`;
    const { index, checkpoint, outcome, seconds, log, usage, ...found } = parseRecord(episodeSchema, value, where, NOT_KEPT);
    const planned = plan(index);
    const task = position.get(found.task);
    const isOfSuite =
      task !== undefined &&
      (allocation === 'adaptive' || task === planned.task) &&
      found.environmentSeed === planned.environmentSeed &&
      found.policySeed === planned.policySeed;
    yield { where, index, checkpoint, task, outcome, seconds, log, usage, isOfSuite };
  }
}
