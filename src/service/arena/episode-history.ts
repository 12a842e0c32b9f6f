import { EpisodeFiles, type FileAtStep } from '../../agents/arena/episode-files.ts';
import { readSteps, getTree } from '../../agents/arena/shared-steps.ts';
import type { FileContents, StepDelta } from '../../agents/arena/step-files.ts';
import type { StoredAgentEpisode, StoredStep, Trajectories } from '../../agents/arena/trajectories.ts';
import { compareWorkspaces, type WorkspaceDiff } from '../../agents/arena/workspace-diff.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import { InputError } from '../../kernel/errors.ts';
import { listDeltas } from './episode-course.ts';
import { EpisodeStateError } from './episode-errors.ts';

export interface HistoryParts {
  readonly trajectories: Trajectories;
  readonly contents: FileContents;
  /** Returns the task's files as they were when the episode began; undefined when the task has changed since. */
  readonly broughtFiles: (episode: StoredAgentEpisode) => Promise<readonly WorkspaceFile[] | undefined>;
}

/** Returns the number of an existing step. @param at undefined for the last one. @throws InputError `step.unknown` */
export function requireStep({ id, steps }: StoredAgentEpisode, field: string, at: number | undefined): number {
  const step = at ?? steps;
  if (step <= steps) return step;
  throw new InputError(
    'step.unknown',
    `${field}: the last step of episode ${id} is ${steps}; expected a number from 0 to ${steps}, got ${step}`,
  );
}

/**
 * Returns the changes of the first steps. @param steps as many, or more.
 *
 * @throws EpisodeStateError `episode.files` when the files after the last of them are not known.
 */
export function requireDeltas({ id }: StoredAgentEpisode, steps: readonly StoredStep[], step: number): readonly StepDelta[] {
  const deltas = listDeltas(steps.slice(0, step));
  if (deltas !== undefined) return deltas;
  throw new EpisodeStateError(
    'episode.files',
    `episode ${id}: the files after step ${step} were not stored: a notice in the answers up to it says why; choose another step`,
  );
}

/** The files of an episode after its steps. Each throws EpisodeStateError `episode.files` when they cannot be known any more. */
export class EpisodeHistory {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /** @param at step, 0 for the beginning; the last one when left out. */
  async listFiles(episode: StoredAgentEpisode, at: number | undefined): Promise<readonly FileAtStep[]> {
    const step = requireStep(episode, 'query.at', at);
    return [...(await this.#collectFiles(episode, step)).at(step).values()];
  }

  /** @throws InputError `file.not-found` */
  async content(episode: StoredAgentEpisode, path: string, at: number | undefined): Promise<Buffer> {
    const step = requireStep(episode, 'query.at', at);
    const found = (await this.#collectFiles(episode, step)).at(step).get(path);
    if (found?.kind !== 'file') {
      const what = found === undefined ? 'is not there' : found.kind === 'link' ? `is a link to ${found.target}` : 'is a directory';
      throw new InputError('file.not-found', `${path} ${what} after step ${step}; expected a file`);
    }
    const content = await found.content();
    if (content !== undefined) return content;
    throw new EpisodeStateError('episode.files', `episode ${episode.id}: the content of ${path} after step ${step} is no longer stored`);
  }

  async diff(episode: StoredAgentEpisode, from: number | undefined, at: number | undefined): Promise<WorkspaceDiff> {
    const [before, after] = [requireStep(episode, 'query.from', from ?? 0), requireStep(episode, 'query.at', at)];
    const files = await this.#collectFiles(episode, before, after);
    return await compareWorkspaces(files.at(before), files.at(after));
  }

  /** @param asked the steps after which files are wanted. */
  async #collectFiles(episode: StoredAgentEpisode, ...asked: readonly number[]): Promise<EpisodeFiles> {
    const { trajectories, contents, broughtFiles } = this.#parts;
    const brought = await broughtFiles(episode);
    if (brought === undefined)
      throw new EpisodeStateError('episode.files', `episode ${episode.id}: its task has changed since it began, and its files with it`);
    const steps = await readSteps(trajectories, episode, 0, Math.max(...asked));
    const [deltas = []] = asked.map((step) => requireDeltas(episode, steps, step)).toSorted((one, other) => other.length - one.length);
    return new EpisodeFiles(brought, deltas, contents, getTree(episode));
  }
}
