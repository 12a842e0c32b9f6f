import { z } from 'zod';
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import { GoogleApi, GoogleApiError } from '../../google/google-api.ts';
import { documentSchema, formatFields, type Fields, type StoredDocument, type WrittenValue } from './firestore-values.ts';

const GOOGLE = 'https://firestore.googleapis.com';
/** The longest wait for one answer: a step waits for it. */
const ANSWER_MS = 10_000;
const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 100;
/** Errors that pass with time. */
const PASSING: ReadonlySet<string> = new Set([
  'ABORTED',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
  'INTERNAL',
  'DEADLINE_EXCEEDED',
  'NO_ANSWER',
]);

export interface FirestoreDatabase {
  readonly project: string;
  readonly database: string;
  /** `host:port` of an emulator. */
  readonly emulator?: string | undefined;
}

export type Write =
  | { readonly kind: 'create'; readonly path: string; readonly fields: Fields }
  /** Version of the document as it was read. Other fields are kept. */
  | { readonly kind: 'update'; readonly path: string; readonly fields: Fields; readonly updateTime: string }
  | { readonly kind: 'remove'; readonly path: string; readonly updateTime?: string };

export interface Filter {
  readonly field: string;
  readonly op: 'EQUAL' | 'IN' | 'GREATER_THAN' | 'GREATER_THAN_OR_EQUAL' | 'LESS_THAN_OR_EQUAL';
  readonly value: WrittenValue | { readonly arrayValue: { readonly values: readonly WrittenValue[] } };
}

export interface Query {
  readonly collection: string;
  /** Path of the document that has the collection; the database's own collections when left out. */
  readonly parent?: string;
  readonly where: readonly Filter[];
  /** Fields; `__name__` for the documents' names. */
  readonly orderBy: readonly string[];
  readonly descending?: boolean;
  /** Documents after the one with these values in the fields of `orderBy`. */
  readonly after?: readonly WrittenValue[] | undefined;
  readonly limit: number;
  /** Every field when left out. */
  readonly select?: readonly string[];
}

const answersSchema = z.array(z.object({ document: documentSchema.optional() }));
const countSchema = z.tuple([
  z.object({ result: z.object({ aggregateFields: z.object({ n: z.object({ integerValue: z.coerce.number() }) }) }) }),
]);

/**
 * The four calls of Firestore that Muster makes (https://cloud.google.com/firestore/docs/reference/rest/v1). Temporary errors are retried, with
 * growing pauses, for reads and writes alike: each write states the version that it expects, so that one that was done without an answer is not done
 * twice.
 */
export class FirestoreClient {
  readonly #location: FirestoreDatabase;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #api: GoogleApi;
  readonly #database: string;

  /** @param random numbers from 0 to 1, for the pauses between attempts. */
  constructor(location: FirestoreDatabase, clock: Clock, random: () => number) {
    this.#location = location;
    this.#clock = clock;
    this.#random = random;
    this.#api = new GoogleApi(location.emulator === undefined);
    this.#database = `projects/${location.project}/databases/${location.database}/documents`;
  }

  get(path: string): Promise<StoredDocument | undefined> {
    return this.#retry(async () => {
      const answer = await this.#send('GET', `/${path}`).catch((error: unknown) => {
        if (error instanceof GoogleApiError && error.status === 'NOT_FOUND' && !isDatabaseMissing(error)) return undefined;
        throw error;
      });
      return answer === undefined ? undefined : documentSchema.parse(answer);
    });
  }

  /**
   * Carries out all of the writes, or none.
   *
   * @returns false when a document is not as a write expects it: it was written meanwhile, perhaps by an attempt of this very commit that got no
   * answer.
   */
  commit(writes: readonly Write[]): Promise<boolean> {
    return this.#retry(async () => {
      try {
        await this.#send('POST', ':commit', { writes: writes.map((write) => this.#formatWrite(write)) });
        return true;
      } catch (error) {
        if (error instanceof GoogleApiError && isConflict(error)) return false;
        throw error;
      }
    });
  }

  query(query: Query): Promise<readonly StoredDocument[]> {
    return this.#retry(async () => {
      const at = query.parent === undefined ? '' : `/${query.parent}`;
      const answer = await this.#send('POST', `${at}:runQuery`, { structuredQuery: formatQuery(query) });
      return answersSchema.parse(answer).flatMap(({ document }) => document ?? []);
    });
  }

  count(query: Query): Promise<number> {
    return this.#retry(async () => {
      const structuredAggregationQuery = { structuredQuery: formatQuery(query), aggregations: [{ alias: 'n', count: {} }] };
      const [{ result }] = countSchema.parse(await this.#send('POST', ':runAggregationQuery', { structuredAggregationQuery }));
      return result.aggregateFields.n.integerValue;
    });
  }

  async #retry<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof GoogleApiError)) throw error;
        if (!PASSING.has(error.status) || attempt === ATTEMPTS) throw this.#explain(error);
        // A random delay, so that writers of one document do not collide again.
        await sleep(this.#clock, FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + this.#random()));
      }
    }
  }

  async #send(method: 'GET' | 'POST', at: string, body?: object): Promise<unknown> {
    const { emulator } = this.#location;
    const url = `${emulator === undefined ? GOOGLE : `http://${emulator}`}/v1/${this.#database}${at}`;
    const late = (): Error => new GoogleApiError('NO_ANSWER', `no answer within ${ANSWER_MS / 1000} s`);
    using deadline = new Deadline(this.#clock, ANSWER_MS, late);
    return await this.#api.send({ method, url, body }, deadline.signal);
  }

  #formatWrite(write: Write): object {
    const name = `${this.#database}/${write.path}`;
    switch (write.kind) {
      case 'create':
        return { update: { name, fields: formatFields(write.fields) }, currentDocument: { exists: false } };
      case 'update': {
        const updateMask = { fieldPaths: Object.keys(write.fields) };
        return { update: { name, fields: formatFields(write.fields) }, updateMask, currentDocument: { updateTime: write.updateTime } };
      }
      case 'remove':
        return { delete: name, ...(write.updateTime === undefined ? {} : { currentDocument: { updateTime: write.updateTime } }) };
    }
  }

  /** Formats a reference to a document, as a value of `__name__`. */
  formatReference(path: string): WrittenValue {
    return { referenceValue: `${this.#database}/${path}` };
  }

  #explain(error: GoogleApiError): Error {
    const { project, database } = this.#location;
    const where = `arena.trajectories: the database ${database} of Firestore in the project ${project}`;
    const said = { cause: error };
    if (error.status === 'NO_CREDENTIALS') {
      const remedy = 'sign in ("gcloud auth application-default login", GOOGLE_APPLICATION_CREDENTIALS)';
      return new InputError('arena.trajectories', `${where} cannot be used without credentials; ${remedy}: ${error.message}`, said);
    }
    if (error.status === 'PERMISSION_DENIED' || error.status === 'UNAUTHENTICATED')
      return new InputError(
        'arena.trajectories',
        `${where} refuses the caller, who needs the role roles/datastore.user: ${error.message}`,
        said,
      );
    if (error.status === 'NOT_FOUND')
      return new InputError('arena.trajectories', `${where} does not exist; create it in native mode: ${error.message}`, said);
    if (error.status === 'FAILED_PRECONDITION')
      return new InfrastructureError(
        'trajectories.index',
        `${where} lacks an index (deploy/firestore has all of them): ${error.message}`,
        said,
      );
    const remedy = error.status === 'RESOURCE_EXHAUSTED' ? '; a quota is used up, or one document is written too often' : '';
    return new InfrastructureError('trajectories.failed', `${where} failed${remedy}: ${error.message}`, said);
  }
}

/** Returns whether the database is missing, and not a document. */
function isDatabaseMissing({ message }: GoogleApiError): boolean {
  return /database .* does not exist/i.test(message);
}

/** A write did not find what it expected. */
function isConflict(error: GoogleApiError): boolean {
  return ['ALREADY_EXISTS', 'FAILED_PRECONDITION'].includes(error.status) || (error.status === 'NOT_FOUND' && !isDatabaseMissing(error));
}

function formatQuery({ collection, where, orderBy, descending = false, after, limit, select }: Query): object {
  const filters = where.map(({ field, op, value }) => ({ fieldFilter: { field: { fieldPath: field }, op, value } }));
  const direction = descending ? 'DESCENDING' : 'ASCENDING';
  return {
    from: [{ collectionId: collection }],
    ...(filters.length === 0 ? {} : { where: { compositeFilter: { op: 'AND', filters } } }),
    orderBy: orderBy.map((fieldPath) => ({ field: { fieldPath }, direction })),
    ...(after === undefined ? {} : { startAt: { values: after, before: false } }),
    limit,
    ...(select === undefined ? {} : { select: { fields: select.map((fieldPath) => ({ fieldPath })) } }),
  };
}
