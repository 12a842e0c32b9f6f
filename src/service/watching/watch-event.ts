import type { Score, Standing } from './watch-record.ts';

/** What happens while a run is watched. `name` is the checkpoint's, in the run's directory. */
export type WatchEvent =
  /** @see Standing; `best` is the best one now, which may be this. */
  | { readonly event: 'evaluated'; readonly name: string; readonly score: Score; readonly standing: Standing; readonly best: Score }
  /** A newer one was complete before its turn came. */
  | { readonly event: 'skipped'; readonly name: string }
  /** A newer one was complete while it was evaluated, and it was given up. @param by the newer one's name. */
  | { readonly event: 'cancelled'; readonly name: string; readonly by: string }
  /** It cannot be played, or every episode failed, which the code says; it will not be tried again unless it changes. */
  | { readonly event: 'refused'; readonly name: string; readonly code: string; readonly message: string }
  /** Something did not work, and is tried again. */
  | { readonly event: 'troubled'; readonly name: string; readonly message: string };
