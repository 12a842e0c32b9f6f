/** A version of a policy, as its trainer has told it. */
export interface ToldVersion {
  /** 1, 2, … of its policy: how often one was told. */
  readonly ordinal: number;
  /** As the trainer counts: it grows. */
  readonly version: number;
  /** Name of the endpoint that serves it from then on; undefined for the one that the agent names. */
  readonly endpoint: string | undefined;
}

/**
 * How often a version was told until a policy was at `version`, since a stream began. Versions only grow, so that one that was never told counts as the
 * last one before it.
 *
 * @param told since the stream began, in order.
 */
export function countVersions(version: number, told: readonly Pick<ToldVersion, 'version'>[]): number {
  return told.filter((each) => each.version <= version).length;
}
