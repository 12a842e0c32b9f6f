import type { PageState } from './model/state.ts';

/** The state of the page, and what changes it. */
export interface Store {
  readonly state: PageState;
  readonly update: (change: Partial<PageState>) => void;
  /** Takes an update from a stream, which is drawn a little later, together with further ones. */
  readonly receive: (change: Partial<PageState>) => void;
  /** Shows the reader what goes wrong in it; without a good token, the form. */
  readonly run: (work: () => Promise<void>) => void;
}
