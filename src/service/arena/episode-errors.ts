import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { InputError } from '../../kernel/errors.ts';

/** A step has another number than the next one, or another body than the stored step with this number. */
export class StepNumberError extends InputError {
  readonly expected: number;

  constructor(reason: 'conflict' | 'gap', asked: number, expected: number) {
    const what =
      reason === 'gap'
        ? `step ${asked} would leave out steps; expected ${expected}`
        : `step ${asked} was answered for another body; send the same body again, or step ${expected}`;
    super(`step.${reason}`, `step: ${what}`);
    this.expected = expected;
  }
}

/** `episode.over`: it takes no more steps. `episode.open`: it has no reward yet. */
export class EpisodeStateError extends InputError {}

export function createUnknownEpisodeError(id: string): InputError {
  return new InputError('episode.not-found', `there is no episode ${id}`);
}

export function createEpisodeOverError(id: AgentEpisodeId): EpisodeStateError {
  return new EpisodeStateError('episode.over', `episode ${id} takes no more steps; its reward is at /v1/episodes/${id}/reward`);
}

/** More names than these do not help a caller. */
const MOST_NAMED = 5;

/** @param ids of the tasks that there are. */
export function createUnknownTaskError(name: string, ids: readonly string[]): InputError {
  const meant = suggestNames(name, [...ids, ...ids.map((id) => id.split('/').at(-1) ?? id)]);
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : '';
  const held = ids.length === 0 ? 'which hold none' : `which hold ${ids.slice(0, MOST_NAMED).join(', ')}${more}`;
  return new InputError('task.not-found', `task: there is no task "${name}" in the directories of arena.tasks, ${held}${meant}`);
}
