import { Readable } from 'node:stream';
import { z } from 'zod';
import { type Issue, writeIssueText } from '../../agents/preparation/issue.ts';
import { parseRow } from '../../agents/tasks/importing/imported-row.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, InputError, MusterError, getMessage } from '../../kernel/errors.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { isLoopback } from '../../service/access/loopback.ts';
import { readAnswerText } from '../http/answer-text.ts';
import { readRows } from '../tasks/dataset-rows.ts';

export const ISSUES_TOKEN = 'MUSTER_ISSUES_TOKEN';
const EXPECTED =
  'expected a file of issues, or the address of a repository in the API of GitHub, such as https://api.github.com/repos/OWNER/NAME';
const ANSWER_MS = 30_000;
const MOST_BYTES = 4 * 2 ** 20;
const MOST_SHOWN = 200;
/** The form of GitHub's REST API. `gh issue list --json number,title,body` has these fields, too. */
const issueSchema = z.looseObject({
  number: z.int().min(1),
  title: z.string(),
  body: z.string().nullish(),
  pull_request: z.unknown().optional(),
});

/** It has the issues that commit messages name. */
export interface IssueTracker {
  /** @returns undefined when it has none of this number. @throws InputError, InfrastructureError `issues.…`; the signal's reason. */
  read(number: number, signal: AbortSignal): Promise<Issue | undefined>;
}

/** @throws InputError that names the file and the entry which is no issue. */
export async function readRecordedIssues(path: string): Promise<IssueTracker> {
  const issues = new Map<number, Issue>();
  for await (const { where, row } of readRows(path)) {
    const issue = toIssue(parseRow(where, issueSchema, row));
    issues.set(issue.number, issue);
  }
  return { read: (number) => Promise.resolve(issues.get(number)) };
}

/** @returns the address as it is requested. @throws InputError `issues.url` */
export function parseTrackerUrl(given: string): string {
  const url = URL.parse(given);
  const [, owner, name] = /^\/([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(url?.pathname ?? '') ?? [];
  if (url?.hostname === 'github.com' && owner !== undefined && name !== undefined)
    throw new InputError(
      'issues.url',
      `--issues: this is the page of a repository; did you mean https://api.github.com/repos/${owner}/${name}?`,
    );
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (isPlain && isSafe && /\/repos\/[^/]+\/[^/]+\/?$/.test(url.pathname)) return url.href.replace(/\/$/, '');
  throw new InputError('issues.url', `--issues: ${EXPECTED}; http: only on this machine, and no user, query or fragment`);
}

/** Issues of one repository, read one by one over HTTP. */
export class GitHubIssues implements IssueTracker {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #clock: Clock;
  #found: Promise<unknown> | undefined;

  /** @param url as `parseTrackerUrl` returns it. */
  constructor(url: string, token: string | undefined, clock: Clock) {
    this.#url = url;
    this.#token = token;
    this.#clock = clock;
  }

  async read(number: number, signal: AbortSignal): Promise<Issue | undefined> {
    const answer = await this.#get(`${this.#url}/issues/${number}`, signal);
    if (answer === undefined) {
      // A repository that is missing, or that the token does not open, has no issues either.
      this.#found ??= this.#checkRepository(signal);
      await this.#found;
      return undefined;
    }
    const { data } = issueSchema.safeParse(answer);
    if (data !== undefined) return toIssue(data);
    throw new InfrastructureError('issues.answer', `--issues: ${this.#url} does not answer in the form of GitHub's issues; ${EXPECTED}`);
  }

  async #checkRepository(signal: AbortSignal): Promise<void> {
    if ((await this.#get(this.#url, signal)) !== undefined) return;
    const token = this.#token === undefined ? `set ${ISSUES_TOKEN} when it is private` : `or ${ISSUES_TOKEN} may not read it`;
    throw new InputError('issues.url', `--issues: there is no repository at ${this.#url}, ${token}; ${EXPECTED}`);
  }

  /** @returns undefined for what is not there. */
  async #get(url: string, signal: AbortSignal): Promise<unknown> {
    const late = (): Error => new InfrastructureError('issues.failed', `--issues: ${url} did not answer within ${ANSWER_MS / 1000} s`);
    using deadline = new Deadline(this.#clock, ANSWER_MS, late, signal);
    const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28', 'user-agent': 'muster' };
    const authorization = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    try {
      const answer = await fetch(url, { headers: { ...headers, ...authorization }, signal: deadline.signal });
      const text = answer.body === null ? '' : await readAnswerText(Readable.fromWeb(answer.body), MOST_BYTES);
      if (answer.ok) return tryParseJson(text) ?? null;
      if (answer.status === 404 || answer.status === 410) return undefined;
      throw this.#refuse(answer, url, text);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MusterError) throw error;
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      throw new InfrastructureError('issues.failed', `--issues: ${url} cannot be read: ${getMessage(cause)}`, { cause: error });
    }
  }

  #refuse({ status, headers }: Response, url: string, text: string): Error {
    const said = `--issues: ${url} answers ${status}: ${text.replaceAll(/\s+/g, ' ').slice(0, MOST_SHOWN)}`;
    const isLimit = status === 429 || (status === 403 && (headers.get('x-ratelimit-remaining') === '0' || headers.has('retry-after')));
    if (isLimit) {
      const remedy = this.#token === undefined ? `set ${ISSUES_TOKEN}, which allows more requests, or` : 'wait, and';
      return new InfrastructureError('issues.limit', `${said}; the limit of requests is reached: ${remedy} run the same command again`);
    }
    if (status !== 401 && status !== 403) return new InfrastructureError('issues.failed', said);
    const remedy = this.#token === undefined ? `set ${ISSUES_TOKEN}` : `check ${ISSUES_TOKEN}: it has to allow reading issues`;
    return new InputError('issues.token', `${said}; ${remedy}, or give a file of issues`);
  }
}

function toIssue({ number, title, body, pull_request: merge }: z.infer<typeof issueSchema>): Issue {
  return { number, text: writeIssueText(title, body ?? null), isMergeRequest: merge !== undefined && merge !== null };
}
