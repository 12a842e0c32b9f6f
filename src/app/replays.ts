import { join, resolve } from 'node:path';
import { isThere } from '../adapters/files/path-contents.ts';
import { openEarlierRun, readEpisodeLines } from '../adapters/files/recorded-evaluation.ts';
import { assertOneResult } from '../adapters/files/recorded-summaries.ts';
import { InputError } from '../kernel/errors.ts';
import { parseEpisodeIndex } from '../kernel/ids.ts';
import { readRecordedOrder, type RecordedOrder } from '../orchestrator/results/recorded-order.ts';
import { readRecordedEpisodes, type RecordedEpisode } from '../orchestrator/results/recorded-episodes.ts';
import { buildReplayDocument, type ReplayDocument } from '../orchestrator/replay/replay-document.ts';
import { replayEpisode } from '../orchestrator/replay/replay-episode.ts';
import { LOCAL_CALLER } from '../service/access/caller.ts';
import { refuseGone } from './checkpoints/gone-content.ts';
import type { Runtime } from './runtime.ts';

/** Plays episodes of stored results again. Part of the composition root. */

export interface ReplayInput {
  /** Directory of `--out`. */
  readonly results: string;
  readonly index: number;
  /** Position of the checkpoint in a comparison: 0 is the baseline. */
  readonly arm?: number | undefined;
}

/**
 * @throws InputError when there is no such result or episode, or its checkpoint or suite is gone, naming it; InfrastructureError when no sandbox
 * could play it; the signal's reason.
 */
export async function replayRecorded(
  runtime: Runtime,
  { results, index, arm = 0 }: ReplayInput,
  signal: AbortSignal,
): Promise<ReplayDocument> {
  const path = resolve(results);
  const kept = await readResults(path);
  const checkpoint = kept.checkpoints[arm];
  if (!checkpoint)
    throw new InputError('replay.arm', `--arm ${arm}: ${results} has ${kept.checkpoints.length} checkpoints, counted from 0 on`);
  const { checkpoints } = runtime;
  const recorded = await findEpisode(path, kept, arm, index);
  const stored = await refuseGone(checkpoints.restore(checkpoint), checkpoint);
  const suiteFiles = kept.suiteFiles && (await refuseGone(checkpoints.restore(kept.suiteFiles), kept.suiteFiles));
  await using _held = await runtime.hold([stored, suiteFiles]);
  const played = { suite: kept.suite, suiteFiles, checkpoint: stored };
  const context = await runtime.buildContext({ ...played, checkpoints: [stored] }, LOCAL_CALLER.principal, signal);
  using _players = context.players;
  const episode = { ...played, index: parseEpisodeIndex(index), task: recorded.task };
  return buildReplayDocument({ ...episode, recorded: recorded.outcome }, await replayEpisode(context, episode, signal));
}

async function readResults(path: string): Promise<RecordedOrder> {
  const found = await openEarlierRun(path);
  if (found) return readRecordedOrder(found.configuration, join(path, 'config.json'));
  await assertOneResult(path);
  throw new InputError(
    'replay.results',
    `${path} ${(await isThere(path)) ? 'is no directory that "muster eval --out" or "muster compare --out" wrote' : 'does not exist'}; give such a directory, or the id of an evaluation of a server`,
  );
}

async function findEpisode(
  path: string,
  { suite, checkpoints }: RecordedOrder,
  arm: number,
  index: number,
): Promise<{ readonly task: number; readonly outcome: RecordedEpisode['outcome'] }> {
  const episodesFile = join(path, 'episodes.ndjson');
  const lines = { episodesFile, episodes: () => readLines(episodesFile, checkpoints.length > 1 ? checkpoints[arm]?.digest : undefined) };
  let last = -1;
  for await (const episode of readRecordedEpisodes(lines, suite, suite.allocation)) {
    last = Math.max(last, episode.index);
    if (episode.index === index && episode.task !== undefined) return { task: episode.task, outcome: episode.outcome };
  }
  throw new InputError('replay.index', `episode ${index}: ${episodesFile} ${describeEpisodes(last, arm)}`);
}

function describeEpisodes(last: number, arm: number): string {
  if (last >= 0) return `has episodes from 0 to ${last}`;
  if (arm > 0) return `has no episode of --arm ${arm}`;
  return 'has no episode of the baseline (--arm 0), which was played before; give the directory that keeps it, or --arm 1 for the first candidate';
}

/** @param checkpoint digest, to skip the episodes of others. */
async function* readLines(path: string, checkpoint: string | undefined): ReturnType<typeof readEpisodeLines> {
  for await (const line of readEpisodeLines(path)) {
    const { value } = line;
    if (
      checkpoint === undefined ||
      (typeof value === 'object' && value !== null && 'checkpoint' in value && value.checkpoint === checkpoint)
    )
      yield line;
  }
}
