import { once } from 'node:events';
import type { Clock } from '../../../kernel/clock.ts';
import { withTimeout } from '../../../kernel/deadline.ts';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import type { Database, Dialect, Row, Step } from '../sql/schema/database.ts';
import { renderSql, type Sql } from '../sql/schema/statement.ts';
import type { Message, Order, Rendered, RenderedStep, Reply } from './sqlite-messages.ts';
import { createFullDiskError, createNotOpenedError, isFull } from './unusable-file.ts';
import { resolveBeside } from '../../../kernel/package-root.ts';
import { Thread } from '../../../kernel/thread.ts';

const DIALECT: Dialect = {
  // The database never gives out the number of a row that is gone: its episodes may still be there.
  identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  id: 'text',
  clustered: ' WITHOUT ROWID',
  // Transactions run one after the other.
  shared: '',
  skipTaken: '',
  connection: '0',
  json: {
    text: (document, member) => `json_extract(${document}, '$.${member}')`,
    document: (document, member) => `json_extract(${document}, '$.${member}')`,
    elements: (array, alias) => `json_each(${array}) AS ${alias}`,
  },
};

/** SQLite's code for a file that another connection holds. */
const SQLITE_BUSY = 5;
/** Longer than any of the store's requests takes on a working disk. */
const ANSWER_MILLISECONDS = 60_000;

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A database in a file. `node:sqlite` blocks its caller at every commit for as long as the disk takes, so it has a thread of its own, and the process
 * continues meanwhile.
 */
export class SqliteDatabase implements Database {
  readonly dialect = DIALECT;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #thread: Thread;
  /** Rendered queries by the program's texts, which are the same objects each time. */
  readonly #rendered = new WeakMap<Sql['texts'], string>();
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #ended: Error | undefined;

  private constructor(path: string, clock: Clock, thread: Thread) {
    this.#path = path;
    this.#clock = clock;
    this.#thread = thread;
    thread.on('message', (message: Message) => this.#take(message));
    thread.on('error', (error) => this.#end(this.#createFailure(error.message)));
    thread.on('exit', () => this.#end(this.#createFailure('it has been closed')));
  }

  /**
   * @param path of the file, which is made when there is none.
   * @throws InputError `store.in-use` when another process has it open, `store.unusable` when it cannot be opened; InfrastructureError
   * `store.full`, `store.failed` when the disk fails.
   */
  static async open(path: string, clock: Clock): Promise<SqliteDatabase> {
    const thread = new Thread(resolveBeside(import.meta.url, 'sqlite-thread'), { data: path });
    // Awaited from the beginning: after a busy moment, the thread's last message and its end arrive together.
    const exit = once(thread, 'exit');
    exit.catch(() => undefined);
    const [message] = await once(thread, 'message');
    const opened: Message = message;
    if (opened.kind !== 'not-open') return new SqliteDatabase(path, clock, thread);
    await exit;
    if (opened.code === SQLITE_BUSY) {
      throw new InputError(
        'store.in-use',
        `${path} is in use by another Muster; stop that one, give this one a file of its own, or share a PostgreSQL database between them`,
      );
    }
    throw await createNotOpenedError(path, opened.message, opened.code);
  }

  async query(statement: Sql): Promise<readonly Row[]> {
    const reply = await this.#ask({ kind: 'query', id: this.#takeNextId(), ...this.#render(statement) });
    return reply.kind === 'done' ? (reply.rows[0] ?? []) : [];
  }

  async transact(steps: readonly Step[]): Promise<readonly (readonly Row[])[] | undefined> {
    const reply = await this.#ask({ kind: 'transact', id: this.#takeNextId(), steps: steps.map((step) => this.#renderStep(step)) });
    return reply.kind === 'done' ? reply.rows : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    const exit = once(this.#thread, 'exit');
    this.#post({ kind: 'close' });
    await exit;
  }

  async #ask(request: Extract<Order, { id: number }>): Promise<Reply> {
    if (this.#ended) throw this.#ended;
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.#waiting.set(request.id, { resolve, reject });
    this.#post(request);
    const createTimeoutError = (): Error => this.#createFailure(`it did not answer within ${ANSWER_MILLISECONDS / 1000} s`);
    try {
      const reply = await withTimeout(this.#clock, ANSWER_MILLISECONDS, promise, createTimeoutError);
      if (reply.kind === 'failed') throw isFull(reply.code) ? createFullDiskError(this.#path) : this.#createFailure(reply.message);
      return reply;
    } finally {
      this.#waiting.delete(request.id);
    }
  }

  #post(order: Order): void {
    this.#thread.postMessage(order);
  }

  #take(message: Message): void {
    if (message.kind !== 'replies') return;
    for (const reply of message.replies) this.#waiting.get(reply.id)?.resolve(reply);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
  }

  #takeNextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #render(statement: Sql): Rendered {
    const { texts, values } = statement;
    const text = this.#rendered.get(texts) ?? renderSql(statement, () => '?');
    this.#rendered.set(texts, text);
    return { text, values };
  }

  #renderStep(step: Step): RenderedStep {
    if (step.kind !== 'bulk') return { kind: step.kind, ...this.#render(step.sql) };
    const { table, columns, rows } = step.insert;
    const names = columns.map(({ name }) => name).join(', ');
    const places = columns.map(() => '?').join(', ');
    return { kind: 'bulk', text: `INSERT INTO ${table} (${names}) VALUES (${places}) ON CONFLICT DO NOTHING`, rows };
  }

  #createFailure(why: string): InfrastructureError {
    return new InfrastructureError('store.failed', `the store in ${this.#path} failed: ${why}`);
  }
}
