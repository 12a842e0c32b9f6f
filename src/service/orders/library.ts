import type { Digest } from '../../kernel/ids.ts';
import type { StopOverride } from '../../orchestrator/suite/suite-definition.ts';
import type { OrderedContent } from './evaluation-order.ts';

/** A checkpoint that a caller names: by where it is, or by what it contains. */
export type CheckpointReference = ({ readonly uri: string } | { readonly sha256: string }) & {
  /** It is shown to people. */
  readonly name?: string | undefined;
  readonly run?: string | undefined;
  readonly version?: number | undefined;
};

/** A suite that the configuration names, or one that is written out. */
export type SuiteReference = string | Readonly<Record<string, unknown>>;

export interface OrderedSuite {
  /** The parsed suite, with its defaults. */
  readonly written: { readonly name: string; readonly template: string };
  readonly digest: Digest;
  readonly files: OrderedContent | undefined;
}

/** Stores what callers name, under the digest of its content. */
export interface Library {
  /** @param stop a stopping rule in place of the suite's own. @throws InputError `suite.…` */
  orderSuite(reference: SuiteReference, stop: StopOverride | undefined, signal: AbortSignal): Promise<OrderedSuite>;

  /**
   * @param principal who names it. @throws InputError `checkpoint.…`, `egress.…` when it is not available, or not for callers, or not for this one.
   */
  orderCheckpoint(reference: CheckpointReference, principal: string, signal: AbortSignal): Promise<OrderedContent>;

  /** @throws InputError `template.…` when sandboxes of the template do not play such checkpoints here. */
  assertPlayable(template: string, checkpoints: readonly OrderedContent[]): void;
}
