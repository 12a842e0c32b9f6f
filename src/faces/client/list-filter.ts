import { assertKinds, assertKnownKeys, DATE, type Keys, type Kinds } from '../../kernel/documents/known-keys.ts';
import type { EvaluationResource } from '../http/schemas/evaluation-schemas.ts';

type State = EvaluationResource['state'];

export interface Filter {
  readonly run?: string | undefined;
  readonly suite?: string | undefined;
  readonly state?: State | readonly State[] | undefined;
  readonly label?: { readonly name: string; readonly value: string } | undefined;
  readonly principal?: string | undefined;
  /** Accepted at this time or later. */
  readonly since?: Date | undefined;
  /** Accepted before this time. */
  readonly before?: Date | undefined;
}

const FILTER: Keys<Filter> = { run: true, suite: true, state: true, label: true, principal: true, since: true, before: true };
const KINDS: Kinds<Filter> = {
  state: { expected: 'a state such as "running", or a list of them', fits: (value) => typeof value === 'string' || Array.isArray(value) },
  since: DATE,
  before: DATE,
};

/**
 * Builds the path of a page. @param after `next` of the previous page. @throws InputError `library.input` for an unknown filter, or a value of
 * another kind.
 */
export function listPath(filter: Filter, pageSize: number, after: string | null): string {
  assertKnownKeys('filter', filter, FILTER);
  assertKinds('filter', filter, KINDS);
  const { run, suite, state, label, principal, since, before } = filter;
  const query = {
    run,
    suite,
    state: typeof state === 'string' ? state : state?.join(','),
    label: label && `${label.name}=${label.value}`,
    principal,
    from: since?.toISOString(),
    before: before?.toISOString(),
    limit: String(pageSize),
    after: after ?? undefined,
  };
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  return `/v1/evaluations?${new URLSearchParams(given).toString()}`;
}
