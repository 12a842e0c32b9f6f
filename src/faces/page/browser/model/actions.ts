import type { PoolChange } from '../../../http/schemas/pool-schemas.ts';
import type { Route } from './route.ts';

/** What a reader can do on the page; the views do not know how it is done. */
export interface Actions {
  readonly signIn: (token: string) => void;
  readonly signOut: () => void;
  readonly go: (route: Route) => void;
  readonly readMore: () => void;
  readonly cancel: (id: string) => void;
  /** Cancels a stream of groups for a training. */
  readonly cancelStream: (id: string) => void;
  readonly replay: () => void;
  /** @param position among the pictures of the replay. */
  readonly showPicture: (position: number) => void;
  /** Plays the pictures in order, or stops them when they are running. */
  readonly runPictures: () => void;
  readonly changePool: (name: string, change: PoolChange) => void;
  /** Reads the changes of a step in the present episode of an agent. */
  readonly readDiff: (step: number) => void;
  readonly dismissProblem: () => void;
}
