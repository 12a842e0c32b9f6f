/** An issue of a repository's tracker, or a request to merge a change, which trackers number alike. */
export interface Issue {
  readonly number: number;
  /** Title and description. */
  readonly text: string;
  readonly isMergeRequest: boolean;
}

/** `#12`, `GH-12`, or an address that ends with `/issues/12`; not `owner/name#12`, which is another repository's. */
const NAMED = /(?:(?<![\w/&#.-])(?:#|GH-)|\/issues\/)(?<number>\d{1,9})\b/gi;
const CLOSED = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+(?<name>\S+)/gi;
const MOST = 5;

/** Finds the numbers that a message names, each once. */
export function findIssueNumbers(text: string): readonly number[] {
  const numbers = Array.from(text.matchAll(NAMED), ({ groups }) => Number(groups?.['number']));
  return [...new Set(numbers)].slice(0, MOST);
}

/** Finds the numbers that a description says it closes, by the words that GitHub and GitLab act on. */
export function findClosedNumbers(text: string): readonly number[] {
  return findIssueNumbers(Array.from(text.matchAll(CLOSED), ({ groups }) => groups?.['name'] ?? '').join(' '));
}

/** @param body may hold comments of a template, which no reader of the tracker sees. */
export function writeIssueText(title: string, body: string | null): string {
  const seen = (body ?? '').replaceAll('\r', '').replaceAll(/<!--[^]*?(?:-->|$)/g, '');
  return `${title.trim()}\n\n${seen.trim()}`.trim();
}
