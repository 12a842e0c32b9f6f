import type { UploadTarget } from './upload-target.ts';

/**
 * Something that is the same in many sandboxes, and that a provider may load once for all of them: into a process that they are
 * forked from.
 */
export type SharedContent = SharedPolicy | SharedCode;

interface Delivered {
  /** Digest of the content: what it is called everywhere. */
  readonly digest: string;
  /** Puts its files where the provider wants them. @returns the path inside. */
  deliver(target: UploadTarget, signal: AbortSignal): Promise<string>;
}

export interface SharedPolicy extends Delivered {
  readonly kind: 'policy';
  /** Whether code that it may bring can run outside of a sandbox's walls, in what all sandboxes are forked from. Data always may. */
  readonly trusted: boolean;
}

/** A suite's own modules. To share them is to trust them as `SharedPolicy.trusted` says. */
export interface SharedCode extends Delivered {
  readonly kind: 'code';
  /** Modules to import. */
  readonly modules: readonly string[];
}

/** A wish to have something shared, in force until it is disposed of. */
export interface Sharing extends Disposable {
  readonly digests: readonly string[];
  /**
   * Whether sandboxes that are made from now on have all of it. Until it is loaded they wait for it; when it cannot be loaded, or was never
   * going to be, each sandbox has to load it by itself, and says what is wrong with it.
   */
  readonly isOn: boolean;
  /**
   * Whether a sandbox that has none of it does as well when it loads the content by itself: that has been loaded and verified, and took so little
   * that a sandbox made anew would cost more.
   *
   * @throws the signal's reason while it is still being loaded.
   */
  isLight(digest: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Resolves when it makes sense to have sandboxes made for it: not while others play with what sandboxes are made with now, and this is being
   * loaded beside them.
   *
   * @throws the signal's reason.
   */
  waitUntilIncluded(signal: AbortSignal): Promise<void>;
}
