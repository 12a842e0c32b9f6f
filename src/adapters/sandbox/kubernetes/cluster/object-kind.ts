import type { Deleter } from './gathered-deletions.ts';
import type { Listing } from './listing.ts';

/** A kind of object, as far as a watch needs to know it. */
export interface WatchedView {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

/** How the objects of one kind in a namespace are read, parsed and deleted. */
export interface ObjectKind<View extends WatchedView, State> extends Deleter {
  /** Name of the collection in the API. */
  readonly path: string;
  /** @throws ZodError for anything but such an object. */
  readonly parse: (object: unknown) => View;
  readonly readState: (view: View) => State;
  readonly list: (labelSelector: string, signal: AbortSignal) => Promise<Listing<View>>;
  /** Returns this one alone; undefined when there is none. */
  readonly get: (name: string, signal: AbortSignal) => Promise<View | undefined>;
}
