import type { UploadTarget } from './upload-target.ts';

/** Content that many sandboxes have in common. A provider may load it once, into a process that they are forked from. */
export type SharedContent = SharedPolicy | SharedCode;

interface Delivered {
  /** Digest of the content, which names it everywhere. */
  readonly digest: string;
  /** Delivers its files to where the provider needs them. @returns the path inside. */
  deliver(target: UploadTarget, signal: AbortSignal): Promise<string>;
}

export interface SharedPolicy extends Delivered {
  readonly kind: 'policy';
  /**
   * Whether code that it may bring can run outside of a sandbox's walls, in the process that all sandboxes are forked from. Data always
   * may.
   */
  readonly trusted: boolean;
}

/** A suite's own modules. Sharing them means trusting them as `SharedPolicy.trusted` says. */
export interface SharedCode extends Delivered {
  readonly kind: 'code';
  /** Modules to import. */
  readonly modules: readonly string[];
}

/** A request to share content, in force until it is disposed. */
export interface Sharing extends Disposable {
  readonly digests: readonly string[];
  /**
   * Whether all sandboxes that are made from now on have the content. While it loads, they wait for it. When it cannot be loaded, or never
   * will be, each sandbox loads it by itself and reports what is wrong with it.
   */
  readonly isOn: boolean;
  /**
   * Whether a sandbox without the content may as well load it by itself: it has been loaded and verified, and took less than making a new
   * sandbox would.
   *
   * @throws the signal's reason while it is still being loaded.
   */
  isLight(digest: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Resolves when sandboxes may be made for the content: not while it is being loaded beside others that play with the present content.
   *
   * @throws the signal's reason.
   */
  waitUntilIncluded(signal: AbortSignal): Promise<void>;
}
