/** A version of a policy, as its trainer has reported it. */
export interface ReportedVersion {
  /** 1, 2, … of its policy: the number of reports. */
  readonly ordinal: number;
  /** The trainer's own number: it grows. */
  readonly version: number;
  /** Name of the endpoint that serves it from then on; undefined for the agent's own. */
  readonly endpoint: string | undefined;
}

/**
 * Counts the reports since a stream began until the policy was at `version`. Versions only grow, so one that was never reported counts as the latest
 * one before it.
 *
 * @param reported since the stream began, in order.
 */
export function countVersions(version: number, reported: readonly Pick<ReportedVersion, 'version'>[]): number {
  return reported.filter((each) => each.version <= version).length;
}
