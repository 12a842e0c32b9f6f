import type { PoolChange } from '../../../http/schemas/pool-schemas.ts';
import type { Route } from './route.ts';

/** What a reader can do on the page; the views know nothing of how it is done. */
export interface Actions {
  readonly signIn: (token: string) => void;
  readonly signOut: () => void;
  readonly go: (route: Route) => void;
  readonly readMore: () => void;
  readonly cancel: (id: string) => void;
  readonly changePool: (name: string, change: PoolChange) => void;
  readonly dismissProblem: () => void;
}
