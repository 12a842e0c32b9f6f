import type { PageState } from './model/state.ts';

/** The state of the page, and what changes it. */
export interface Store {
  /** As it is when one looks. */
  readonly state: PageState;
  readonly update: (change: Partial<PageState>) => void;
  /** The same with what a stream tells: drawn a little later, together with what comes meanwhile. */
  readonly receive: (change: Partial<PageState>) => void;
  /** Shows the reader what goes wrong in it; without a good token, the form. */
  readonly run: (work: () => Promise<void>) => void;
}
