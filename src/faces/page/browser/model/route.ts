import { EPISODE_RANKINGS, type EpisodeRanking } from '../../../../evaluation-store/episode-log.ts';

/** The page's view; its address names it, so that it can be sent to a colleague. */
export type Route =
  | {
      readonly view: 'overview';
      readonly filter: Filter;
      /** Runs whose curves are drawn over that of the filter's run. */
      readonly beside: readonly string[];
    }
  | {
      readonly view: 'evaluation';
      readonly id: string;
      readonly from: number;
      readonly arm: number;
      readonly ranking: Ranking;
      /** Ids of evaluations whose courses are drawn over its own. */
      readonly beside: readonly string[];
    }
  | { readonly view: 'episode'; readonly id: string; readonly index: number; readonly arm: number }
  | { readonly view: 'batches'; readonly name: string }
  | { readonly view: 'rollouts' }
  | { readonly view: 'stream'; readonly id: string }
  | { readonly view: 'agents' }
  | { readonly view: 'agent'; readonly id: string }
  | { readonly view: 'pools' }
  | { readonly view: 'access' }
  | { readonly view: 'unknown'; readonly path: string };

/** The order in which episodes are listed. An empty text is the order of their indices. */
export type Ranking = EpisodeRanking | '';

/** Filter of evaluations. An empty text selects all. */
export interface Filter {
  readonly run: string;
  readonly suite: string;
  readonly state: string;
}

/** The largest number of further curves that colours can distinguish. */
export const MOST_BESIDE = 4;

export const NO_FILTER: Filter = { run: '', suite: '', state: '' };

export const ALL_EVALUATIONS: Extract<Route, { view: 'overview' }> = { view: 'overview', filter: NO_FILTER, beside: [] };

/** Returns the evaluation from its first episode on. */
export function toEvaluation(id: string, change: Partial<Extract<Route, { view: 'evaluation' }>> = {}): Route {
  return { view: 'evaluation', id, from: 0, arm: 0, ranking: '', beside: [], ...change };
}

/** @param address path and query. */
export function parseRoute(address: URL): Route {
  const [, room = '', name = '', ...rest] = address.pathname.split('/');
  const { searchParams: query } = address;
  const arm = parseWholeNumber(query.get('arm'));
  const [inner, index = '', ...more] = rest;
  if (room === 'evaluations' && inner === 'episodes' && /^\d{1,15}$/.test(index) && more.length === 0)
    return { view: 'episode', id: decodeURIComponent(name), index: Number(index), arm };
  if (rest.length > 0) return { view: 'unknown', path: address.pathname };
  switch (room) {
    case '':
      return {
        view: 'overview',
        filter: { run: query.get('run') ?? '', suite: query.get('suite') ?? '', state: query.get('state') ?? '' },
        beside: query.getAll('beside').slice(0, MOST_BESIDE),
      };
    case 'evaluations':
      return {
        view: 'evaluation',
        id: decodeURIComponent(name),
        from: parseWholeNumber(query.get('from')),
        arm,
        ranking: EPISODE_RANKINGS.find((ranking) => ranking === query.get('ranking')) ?? '',
        beside: query.getAll('beside').slice(0, MOST_BESIDE),
      };
    case 'batches':
      return { view: 'batches', name: decodeURIComponent(name) };
    case 'agents':
      return name === '' ? { view: 'agents' } : { view: 'agent', id: decodeURIComponent(name) };
    case 'rollouts':
      return name === '' ? { view: 'rollouts' } : { view: 'stream', id: decodeURIComponent(name) };
    case 'pools':
    case 'access':
      return name === '' ? { view: room } : { view: 'unknown', path: address.pathname };
    default:
      return { view: 'unknown', path: address.pathname };
  }
}

/** Formats the address that `parseRoute` reads as this route. */
export function formatRoute(route: Route): string {
  switch (route.view) {
    case 'overview':
      return `/${formatQuery({ ...route.filter, beside: route.beside })}`;
    case 'evaluation':
      return `/evaluations/${encodeURIComponent(route.id)}${formatQuery({ from: route.from || '', arm: route.arm || '', ranking: route.ranking, beside: route.beside })}`;
    case 'episode':
      return `/evaluations/${encodeURIComponent(route.id)}/episodes/${route.index}${formatQuery({ arm: route.arm || '' })}`;
    case 'batches':
      return route.name === '' ? '/batches' : `/batches/${encodeURIComponent(route.name)}`;
    case 'agent':
      return `/agents/${encodeURIComponent(route.id)}`;
    case 'stream':
      return `/rollouts/${encodeURIComponent(route.id)}`;
    case 'agents':
    case 'rollouts':
    case 'pools':
    case 'access':
      return `/${route.view}`;
    case 'unknown':
      return route.path;
  }
}

function formatQuery(parameters: Readonly<Record<string, string | number | readonly string[]>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    (typeof value === 'object' ? value : [String(value)]).filter((each) => each !== '').map((each) => [name, each]),
  );
  const text = new URLSearchParams(given).toString();
  return text === '' ? '' : `?${text}`;
}

function parseWholeNumber(text: string | null): number {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
