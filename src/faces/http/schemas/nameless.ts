import { isMapping } from '../../../kernel/documents/path.ts';

/** Removes the names that people gave a question's checkpoints: under other names it is the same question. */
export function omitNames(question: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { checkpoint, baseline, candidates } = question;
  return {
    ...question,
    ...(checkpoint === undefined ? {} : { checkpoint: omitName(checkpoint) }),
    ...(baseline === undefined ? {} : { baseline: omitName(baseline) }),
    ...(Array.isArray(candidates) ? { candidates: candidates.map(omitName) } : {}),
  };
}

function omitName(checkpoint: unknown): unknown {
  if (!isMapping(checkpoint)) return checkpoint;
  const { name: _forPeople, ...rest } = checkpoint;
  return rest;
}
