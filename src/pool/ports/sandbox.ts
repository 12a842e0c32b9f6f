import type { Readable, Writable } from 'node:stream';
import type { Fetching } from '../../kernel/fetching.ts';
import type { OwnerId, SandboxId } from '../../kernel/ids.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';
import type { PastExposure } from './exposure.ts';
import type { SharedContent, Sharing } from './shared-content.ts';
import type { Isolation, SandboxTemplate } from './template.ts';
import type { UploadTarget } from './upload-target.ts';

/**
 * One isolated place that runs one program. The program's end is a value (`exit`); a provider's failure is a thrown `InfrastructureError`.
 * The two are never confused.
 */
export interface Sandbox extends UploadTarget {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  /** The program's input. Ending it is a half-close: output still flows. Writes after the program's end are ignored. */
  readonly stdin: Writable;
  /** The program's output, byte for byte. Unread output stops the program, not Muster (back-pressure). */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Digests of the content that the program had in memory at its start; undefined: none. */
  readonly shares?: ReadonlySet<string>;
  /** The exposures that the sandbox held before its program began. When it is undefined, there were none. */
  readonly past?: PastExposure;
  /** Resolves with how the program ended, once, after the last byte of output can be read. It never rejects. */
  readonly exit: Promise<SandboxExit>;
  /** Optional operations; undefined when the provider has none of them. */
  readonly capabilities?: SandboxCapabilities;
  /** Kills every process and removes every trace. Idempotent, also during another call; resolves when all is gone. */
  destroy(): Promise<void>;
}

/** Operations that only some providers have. Those that a provider lacks are left out. */
export interface SandboxCapabilities {
  /**
   * Removes a file that `upload` delivered. A program that has it open or mapped keeps it.
   *
   * @param path as it was given to `upload`, or a directory of it. @throws InfrastructureError when it cannot be removed.
   */
  remove?(path: string): Promise<void>;
  /** Receives the policy program's files where the template plays the policy apart. Neither program sees the other's files. */
  readonly policy?: FileReceiver;
  /** Delivers files in other ways than `upload`. */
  readonly fetching?: Fetching | undefined;
  /**
   * Returns the resources that it has used since its creation; after its end, the total.
   *
   * @throws InfrastructureError when they cannot be read.
   */
  usage?(): Promise<SandboxUsage>;
  /**
   * Suspends the sandbox with its program where that costs less than keeping it awake. The next input or upload wakes it. Only for a
   * program that owes no output.
   *
   * @throws InfrastructureError when that fails; the sandbox may then be unusable.
   */
  rest?(): Promise<void>;
  /**
   * Whether the program's output would reach Muster now. Called before a time limit counts as the program's failure. Never rejects, and
   * takes seconds at most. Left out where no connection is between Muster and the program.
   */
  isReachable?(): Promise<boolean>;
}

/** Receives the files of one program. */
export interface FileReceiver extends UploadTarget {
  readonly capabilities?: Pick<SandboxCapabilities, 'remove'>;
}

export type SandboxExit =
  /** The program ended by itself. After signal n the code is 128 + n, as in shells. */
  | {
      readonly kind: 'exited';
      readonly code: number;
      /** The policy's program ended, which is apart from the first one; the first one ends with it. */
      readonly part?: 'policy';
    }
  /** The memory limit killed it. */
  | { readonly kind: 'out-of-memory' }
  /** `limits.lifetimeSeconds` passed. */
  | { readonly kind: 'lifetime' }
  /** Muster called `destroy`. */
  | { readonly kind: 'destroyed' }
  /** Something else took the sandbox away: the provider, the machine, an administrator. */
  | { readonly kind: 'lost'; readonly detail: string };

/** Something temporary that sandboxes wait for while they are being created. */
export interface Obstacle {
  /** `unschedulable`, `image`, … */
  readonly kind: string;
  /** The number of sandboxes that it keeps from becoming ready. */
  readonly sandboxes: number;
  /** The description by the refusing system. */
  readonly detail: string;
}

export interface SandboxSpec {
  readonly id: SandboxId;
  readonly template: SandboxTemplate;
  /** The principal that the sandbox is made for: it shares nothing with any other. Undefined: any principal. */
  readonly audience?: string | undefined;
}

/** Makes sandboxes. Disposing it destroys all that it still has. */
export interface SandboxProvider extends AsyncDisposable {
  readonly name: string;
  /** Every sandbox carries it from its creation, so that a sweep can recognise its owner. */
  readonly owner: OwnerId;
  /**
   * Returns the limits that would be enforced for this template on this machine.
   *
   * @throws InputError when the template demands a limit that cannot be enforced; InfrastructureError when no sandbox can be made at all. Both name
   * the remedy.
   */
  describe(template: SandboxTemplate): Promise<Isolation>;
  /**
   * Resolves when the program has started. Aborting the signal abandons the creation and leaves nothing behind.
   *
   * @throws InfrastructureError when the sandbox cannot be made.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>;
  /**
   * Makes later sandboxes of this template with the content in memory, loaded once for all. Left out by providers that cannot.
   *
   * @param principal owner of the sandboxes. @throws InfrastructureError when the content cannot be delivered.
   */
  share?(template: SandboxTemplate, content: readonly SharedContent[], principal: string, signal: AbortSignal): Promise<Sharing>;
  /** Lists what currently keeps the template's new sandboxes from becoming ready. It is left out by providers that make them at once. */
  obstacles?(template: SandboxTemplate): readonly Obstacle[];
  /** Destroys the sandboxes of owners that are gone, wherever this provider makes sandboxes. @returns their ids. */
  sweep(signal: AbortSignal): Promise<readonly SandboxId[]>;
}
