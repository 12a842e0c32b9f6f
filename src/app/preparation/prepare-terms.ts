import type { PreparedCandidate } from '../../agents/preparation/preparation-report.ts';
import type { PreparationStep } from '../../agents/preparation/source/steps.ts';

/** What `muster prepare` is asked for. */
export interface PrepareTerms {
  readonly repository: string;
  readonly out: string;
  /** Commits of the history that are examined, and mutations that are tried. */
  readonly commits: number;
  readonly mutations: number;
  readonly licences: readonly string[];
  /** Seconds since 1970. */
  readonly since: number;
  readonly testSeconds: number;
  /** Words that are added to the command that runs the tests. */
  readonly testArguments: readonly string[];
  /** Hosts that the installation of dependencies may reach. */
  readonly registries: readonly string[];
  /** Path of the file of a model that writes instructions where messages say nothing. */
  readonly writer: string | undefined;
  /** A file of issues, or where a tracker answers for the repository; undefined: no issue is looked up. */
  readonly issues: string | undefined;
  /** Candidates at a time; undefined: one for each processor. */
  readonly workers: number | undefined;
}

export interface PrepareListeners {
  readonly onStart: (candidates: number) => void;
  /** Called when a candidate comes to a step; one that is kept is over at once. */
  readonly onStep: (candidate: string, step: PreparationStep) => void;
  readonly onCandidate: (candidate: PreparedCandidate) => void;
}
