import type { PoolChange } from '../../../http/schemas/pool-schemas.ts';
import type { Route } from './route.ts';

/** What a reader can do on the page; the views know nothing of how it is done. */
export interface Actions {
  readonly signIn: (token: string) => void;
  readonly signOut: () => void;
  readonly go: (route: Route) => void;
  readonly readMore: () => void;
  readonly cancel: (id: string) => void;
  /** Of groups for a training. */
  readonly cancelStream: (id: string) => void;
  readonly replay: () => void;
  /** @param position among the pictures of the replay. */
  readonly showPicture: (position: number) => void;
  /** One picture after the other; stops where it is when they run already. */
  readonly runPictures: () => void;
  readonly changePool: (name: string, change: PoolChange) => void;
  /** Of the agent's episode that is looked at: what a step has changed. */
  readonly readDiff: (step: number) => void;
  readonly dismissProblem: () => void;
}
