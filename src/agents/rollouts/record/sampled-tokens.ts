/** A model server's tokens of one turn, never tokens that a tokenizer made from the text again. */
export interface SampledTurn {
  /** All tokens of the model's prompt. */
  readonly promptIds: readonly number[];
  readonly completionIds: readonly number[];
  /** Natural logarithms, one for each token of the completion. It is undefined when the server gave none. */
  readonly logprobs: readonly number[] | undefined;
  /** Version of the policy that sampled it; undefined when it is not known. */
  readonly version: number | undefined;
}

/** A sequence of tokens exactly as the model has seen and sampled it. The lists have one length. */
export interface Segment {
  readonly ids: readonly number[];
  /** 1 for a token that the model sampled here, 0 for what it was given. */
  readonly lossMask: readonly (0 | 1)[];
  /** 0 where the mask is 0. It is null when the server gave none for a sampled token of the segment. */
  readonly logprobs: readonly number[] | null;
  /** Version of the policy for each token: −1 where the mask is 0 or the version is unknown. */
  readonly versions: readonly number[];
}

/** The position of a turn's tokens. Its prompt is `ids[0 … prompt)` of the segment, its completion the next `completion` ids. */
export interface TurnTokens {
  readonly segment: number;
  readonly prompt: number;
  readonly completion: number;
}

interface GrowingSegment {
  readonly ids: number[];
  readonly lossMask: (0 | 1)[];
  readonly logprobs: number[];
  readonly versions: number[];
  hasLogprobs: boolean;
}

export const UNKNOWN_VERSION = -1;

/**
 * Joins turns to segments as they come. A turn whose prompt does not begin with the exact tokens of the turn before, prompt and completion, begins a
 * new segment: a template has dropped or rewritten something, and no model has sampled the joined sequence.
 */
export class TokenRecord {
  readonly #segments: GrowingSegment[] = [];

  add({ promptIds, completionIds, logprobs, version }: SampledTurn): TurnTokens {
    const last = this.#segments.at(-1);
    const segment = last && isPrefix(last.ids, promptIds) ? last : this.#begin();
    const given = promptIds.slice(segment.ids.length);
    append(segment, given, { mask: 0, logprobs: undefined, version: UNKNOWN_VERSION });
    append(segment, completionIds, { mask: 1, logprobs, version: version ?? UNKNOWN_VERSION });
    segment.hasLogprobs &&= logprobs !== undefined;
    return { segment: this.#segments.length - 1, prompt: promptIds.length, completion: completionIds.length };
  }

  listSegments(): readonly Segment[] {
    return this.#segments.map(({ ids, lossMask, logprobs, versions, hasLogprobs }) => ({
      ids: [...ids],
      lossMask: [...lossMask],
      logprobs: hasLogprobs ? [...logprobs] : null,
      versions: [...versions],
    }));
  }

  #begin(): GrowingSegment {
    const segment: GrowingSegment = { ids: [], lossMask: [], logprobs: [], versions: [], hasLogprobs: true };
    this.#segments.push(segment);
    return segment;
  }
}

/** Returns the exact prompt of a turn. @throws RangeError when the record has no such segment. */
export function getPrompt(segments: readonly Segment[], { segment, prompt }: TurnTokens): readonly number[] {
  return getSegment(segments, segment).ids.slice(0, prompt);
}

/** @throws RangeError when the record has no such segment. */
export function getCompletion(
  segments: readonly Segment[],
  { segment, prompt, completion }: TurnTokens,
): { readonly ids: readonly number[]; readonly logprobs: readonly number[] | null } {
  const { ids, logprobs } = getSegment(segments, segment);
  return { ids: ids.slice(prompt, prompt + completion), logprobs: logprobs?.slice(prompt, prompt + completion) ?? null };
}

function getSegment(segments: readonly Segment[], position: number): Segment {
  const segment = segments[position];
  if (segment) return segment;
  throw new RangeError(`there is no segment ${position}; the record has ${segments.length}`);
}

function isPrefix(prefix: readonly number[], ids: readonly number[]): boolean {
  return prefix.length <= ids.length && prefix.every((id, i) => ids[i] === id);
}

function append(
  segment: GrowingSegment,
  ids: readonly number[],
  { mask, logprobs, version }: { readonly mask: 0 | 1; readonly logprobs: readonly number[] | undefined; readonly version: number },
): void {
  // Thousands for each turn: an iterator of entries would make an array of each.
  ids.forEach((id, i) => {
    segment.ids.push(id);
    segment.lossMask.push(mask);
    segment.logprobs.push(logprobs?.[i] ?? 0);
    segment.versions.push(version);
  });
}
