import type { Readable, Writable } from 'node:stream';
import type { Fetching } from '../../kernel/fetching.ts';
import type { OwnerId, SandboxId } from '../../kernel/ids.ts';
import type { SandboxUsage } from '../../kernel/sandbox-usage.ts';
import type { PastExposure } from './exposure.ts';
import type { SharedContent, Sharing } from './shared-content.ts';
import type { Isolation, SandboxTemplate } from './template.ts';
import type { UploadTarget } from './upload-target.ts';

/**
 * One isolated place that runs one program. What the program does is a value (`exit`); what the provider cannot do is a
 * thrown `InfrastructureError`. The two are never passed off as each other.
 */
export interface Sandbox extends UploadTarget {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  /** The program's input. Ending it is a half-close: output still flows. Writing after the program ended is ignored. */
  readonly stdin: Writable;
  /** The program's output, byte for byte. Not reading it stops the program, not Muster (back-pressure). */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Digests of the content that the program was started with in memory; undefined: none. */
  readonly shares?: ReadonlySet<string>;
  /** What came into it before its program began; undefined: nothing. */
  readonly past?: PastExposure;
  /** How the program ended. Resolves once, after the last byte of output can be read; never rejects. */
  readonly exit: Promise<SandboxExit>;
  /** Optional operations; undefined when the provider has none of them. */
  readonly capabilities?: SandboxCapabilities;
  /** Kills every process, removes every trace. Idempotent, also while another call is under way; resolves when all is gone. */
  destroy(): Promise<void>;
}

/** Operations that only some providers have. Those that a provider lacks are left out. */
export interface SandboxCapabilities {
  /**
   * Removes a file that `upload` brought. A program that has it open or mapped keeps it.
   *
   * @param path as it was given to `upload`, or a directory of it.
   * @throws InfrastructureError when it cannot be removed.
   */
  remove?(path: string): Promise<void>;
  /**
   * Where the policy's program receives files, when the template has it apart. The environment's program does not see them, and the policy's
   * sees none of the others.
   */
  readonly policy?: FileReceiver;
  /** Brings files in other ways than `upload`. */
  readonly fetching?: Fetching | undefined;
  /**
   * The resources that it has used since its creation; after its end, the total.
   *
   * @throws InfrastructureError when they cannot be read.
   */
  usage?(): Promise<SandboxUsage>;
  /**
   * Suspends the sandbox with its program, where that costs less than keeping it awake. The next input or upload wakes it. Only for a program that
   * owes no output.
   *
   * @throws InfrastructureError when that fails; the sandbox may then be unusable.
   */
  rest?(): Promise<void>;
  /**
   * Whether output of the program would reach Muster now. Asked before a time limit counts as the program's failure. Never rejects, and takes
   * seconds at most. Left out where no connection lies between Muster and the program.
   */
  isReachable?(): Promise<boolean>;
}

/** What receives the files of one program. */
export interface FileReceiver extends UploadTarget {
  readonly capabilities?: Pick<SandboxCapabilities, 'remove'>;
}

export type SandboxExit =
  /** The program ended by itself. By signal n, the code is 128 + n, as shells have it. */
  | {
      readonly kind: 'exited';
      readonly code: number;
      /** It was the policy's program, apart from the first: that one ends with it. */
      readonly part?: 'policy';
    }
  /** The memory limit ended it. */
  | { readonly kind: 'out-of-memory' }
  /** `limits.lifetimeSeconds` passed. */
  | { readonly kind: 'lifetime' }
  /** Muster called `destroy`. */
  | { readonly kind: 'destroyed' }
  /** Something else took the sandbox away: the provider, the machine, an administrator. */
  | { readonly kind: 'lost'; readonly detail: string };

/** Something that sandboxes wait for while they are being created, and that may pass. */
export interface Obstacle {
  /** `unschedulable`, `image`, … */
  readonly kind: string;
  /** How many it keeps from getting ready. */
  readonly sandboxes: number;
  /** In the words of the system that refused. */
  readonly detail: string;
}

export interface SandboxSpec {
  readonly id: SandboxId;
  readonly template: SandboxTemplate;
  /** Principal that it is made for: it shares nothing of any other. Undefined: for any principal. */
  readonly audience?: string | undefined;
}

/** Makes sandboxes. Disposing it destroys all that it still holds. */
export interface SandboxProvider extends AsyncDisposable {
  readonly name: string;
  /** Carried by every sandbox from the moment of its creation, so that a sweep can tell whose it is. */
  readonly owner: OwnerId;
  /**
   * What would be enforced for this template, here and now.
   *
   * @throws InputError when the template demands what cannot be had; InfrastructureError when no sandbox can be made at
   * all. Both name the remedy.
   */
  describe(template: SandboxTemplate): Promise<Isolation>;
  /**
   * Resolves when the program has been started. Aborting the signal abandons the creation and leaves nothing behind.
   *
   * @throws InfrastructureError when the sandbox cannot be made.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>;
  /**
   * Has sandboxes of this template made with the content in memory, loaded once for all. Left out by providers that cannot.
   *
   * @param principal for whose sandboxes it is.
   * @throws InfrastructureError when the content cannot be delivered.
   */
  share?(template: SandboxTemplate, content: readonly SharedContent[], principal: string, signal: AbortSignal): Promise<Sharing>;
  /** What keeps sandboxes of the template that are being created from getting ready, now. Left out by providers that make them at once. */
  obstacles?(template: SandboxTemplate): readonly Obstacle[];
  /** Destroys the sandboxes of owners that are gone, wherever this provider makes some. @returns their ids. */
  sweep(signal: AbortSignal): Promise<readonly SandboxId[]>;
}
