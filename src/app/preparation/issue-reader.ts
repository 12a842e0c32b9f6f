import { z } from 'zod';
import {
  GitHubIssues,
  ISSUES_TOKEN,
  type IssueTracker,
  parseTrackerUrl,
  readRecordedIssues,
} from '../../adapters/preparation/issue-tracker.ts';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import { findClosedNumbers, findIssueNumbers, type Issue } from '../../agents/preparation/issue.ts';
import type { Clock } from '../../kernel/clock.ts';

const issueSchema = z.strictObject({ number: z.int(), text: z.string(), isMergeRequest: z.boolean() }).nullable();

/** Finds the issues that messages of commits name. */
export class IssueReader {
  readonly #tracker: IssueTracker;

  constructor(tracker: IssueTracker) {
    this.#tracker = tracker;
  }

  /** Finds the issues that a message names. Of a merge request, those that it says it closes. @throws what the tracker throws. */
  async findNamed(message: string, signal: AbortSignal): Promise<readonly Issue[]> {
    const issues = new Map<number, Issue>();
    for (const number of findIssueNumbers(message)) {
      const named = await this.#tracker.read(number, signal);
      const closed = named?.isMergeRequest === true ? findClosedNumbers(named.text) : [];
      const found = [named, ...(await Promise.all(closed.map((each) => this.#tracker.read(each, signal))))];
      for (const issue of found) if (issue?.isMergeRequest === false) issues.set(issue.number, issue);
    }
    return [...issues.values()];
  }
}

/**
 * @param source a file of issues, or the address of a repository in the API of GitHub. What that answers is kept as a step. @throws InputError when
 * it is neither.
 */
export async function openIssues(source: string, steps: StepStore, clock: Clock): Promise<IssueReader> {
  if (!/^[\w+.-]+:\/\//.test(source)) return new IssueReader(await readRecordedIssues(source));
  const url = parseTrackerUrl(source);
  const remote = new GitHubIssues(url, process.env[ISSUES_TOKEN] || undefined, clock);
  return new IssueReader({
    read: async (number, signal) => {
      const make = async (): Promise<Issue | null> => (await remote.read(number, signal)) ?? null;
      return (await steps.remember('issue', { url, number }, issueSchema, make)) ?? undefined;
    },
  });
}
