import type { Score, Standing } from './watch-record.ts';

/** Events of a watched run. `name` is the checkpoint's, in the run's directory. */
export type WatchEvent =
  /** @see Standing; `best` is the best one now, which may be this one. */
  | { readonly event: 'evaluated'; readonly name: string; readonly score: Score; readonly standing: Standing; readonly best: Score }
  /** A newer one was complete before its turn came. */
  | { readonly event: 'skipped'; readonly name: string }
  /** A newer one became complete during its evaluation, which was given up. @param by the newer one's name. */
  | { readonly event: 'cancelled'; readonly name: string; readonly by: string }
  /** It cannot be played, or every episode failed, as the code says; it is not tried again unless it changes. */
  | { readonly event: 'refused'; readonly name: string; readonly code: string; readonly message: string }
  /** Something did not work, and is tried again. */
  | { readonly event: 'troubled'; readonly name: string; readonly message: string };
