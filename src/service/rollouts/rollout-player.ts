import type { Trajectory } from '../../agents/rollouts/record/trajectory.ts';
import type { ReportedVersion } from '../../agents/rollouts/streams/policy-versions.ts';
import type { RolloutOrder } from './rollout-order.ts';

/** What the members of a group share. */
export interface GroupTask {
  readonly task: string;
  readonly taskDigest: string;
  readonly taskSeed: number;
}

/** A member, by its group. */
export interface MemberIdentity {
  readonly group: string;
  /** Number of the group: it decides task and seeds. */
  readonly number: number;
  readonly rep: number;
}

export type PlayedMember =
  | { readonly kind: 'played'; readonly trajectory: Trajectory }
  /** The agent was not at fault: it may be played again. */
  | { readonly kind: 'lost'; readonly detail: string };

/** The last version that was reported; undefined when none was. */
export type CurrentVersion = () => ReportedVersion | undefined;

export interface PlayTerms {
  readonly version: CurrentVersion;
  /** Called when the agent has ended and its grading begins. */
  readonly onActed: () => void;
}

export interface OpenRollout extends AsyncDisposable {
  /** The name that its server uses. */
  readonly model: string;
  /** What keeps the model's turns waiting; undefined while its server answers. */
  readonly problem: string | undefined;

  group(number: number): Promise<GroupTask>;

  /** @throws InputError when the task, its verifier or the agent is broken; the signal's reason. */
  play(member: MemberIdentity, terms: PlayTerms, signal: AbortSignal): Promise<PlayedMember>;
}

/** Plays members of groups on this machine's sandboxes. */
export interface RolloutPlayer {
  /** @throws InputError `rollouts.…`, `agent.…` when it is nothing that a training can use; InfrastructureError. */
  open(order: RolloutOrder, signal: AbortSignal): Promise<OpenRollout>;
}
