import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GitHubIssues, parseTrackerUrl } from '../../../src/adapters/preparation/issue-tracker.ts';
import { StepStore } from '../../../src/adapters/preparation/step-store.ts';
import { IssueReader, openIssues } from '../../../src/app/preparation/issue-reader.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { WebServer } from '../../support/web-server.ts';

const ISSUE = { number: 44, title: 'The mean of nothing is an error', body: 'It has to be 0.\r\n<!-- do not\ndelete this -->' };
const FOUND = { number: 44, text: 'The mean of nothing is an error\n\nIt has to be 0.', isMergeRequest: false };
const MERGE = { number: 45, title: 'Mend the mean', body: 'Closes #44, see #46', pull_request: { url: 'x' } };
const REPOSITORY = 'repos/a/sums';

let directory: string;
beforeAll(async () => {
  nock.enableNetConnect('127.0.0.1');
  directory = await mkdtemp(path.join(tmpdir(), 'muster-issues-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const { signal } = new AbortController();

async function startTracker(...issues: readonly { readonly number: number }[]): Promise<WebServer> {
  const server = await WebServer.start();
  server.put(REPOSITORY, Buffer.from('{}'));
  for (const issue of issues) server.put(`${REPOSITORY}/issues/${issue.number}`, Buffer.from(JSON.stringify(issue)));
  return server;
}

it('the issue that a message names is read once, and that which a merge request closes; what is not there is nothing', async () => {
  await using server = await startTracker(ISSUE, MERGE);
  const steps = new StepStore(path.join(directory, 'steps'));
  const open = (): Promise<IssueReader> => openIssues(server.url(REPOSITORY, '127.0.0.1'), steps, systemClock);
  for (const message of ['Mend the mean\n\nFixes #44.', 'Mend the mean (#45)', 'Merge pull request #45 from a/b', 'See http://x/issues/44'])
    expect(await (await open()).findNamed(message, signal)).toEqual([FOUND]);
  for (const message of ['Mend it', 'Mend it, see b/c#44 and &#44;', 'Fixes #47'])
    expect(await (await open()).findNamed(message, signal)).toEqual([]);
  const [of44, of45, of47] = [44, 45, 47].map((number) => `${REPOSITORY}/issues/${number} all`);
  // What was answered is kept. The repository is asked for when an issue is missing: the whole of it may be.
  expect(server.asked).toEqual([of44, of45, of47, `${REPOSITORY} all`]);
});

it('a file of issues answers as the tracker does, and names what is wrong in it', async () => {
  const file = path.join(directory, 'issues.json');
  const steps = new StepStore(path.join(directory, 'unused'));
  await writeFile(file, JSON.stringify([ISSUE, MERGE]));
  expect(await (await openIssues(file, steps, systemClock)).findNamed('Mend the mean (#45)', signal)).toEqual([FOUND]);
  await writeFile(file, JSON.stringify([ISSUE, { number: '45', title: 'Mend' }]));
  await expect(openIssues(file, steps, systemClock)).rejects.toThrow(`${file}[1]: number: `);
  await expect(openIssues(path.join(directory, 'none.json'), steps, systemClock)).rejects.toThrow('it cannot be read: ENOENT');
});

it.each([
  ['https://github.com/a/sums', 'did you mean https://api.github.com/repos/a/sums?'],
  ['https://github.com/a/sums.git', 'did you mean https://api.github.com/repos/a/sums?'],
  ['http://example.com/repos/a/sums', 'http: only on this machine'],
  ['https://me:secret@example.com/repos/a/sums', 'no user, query or fragment'],
  ['https://example.com/a/sums', 'the address of a repository in the API of GitHub'],
])('%s is refused before anything is sent', (url, message) => {
  expect(() => parseTrackerUrl(url)).toThrow(message);
  expect(() => parseTrackerUrl(url)).not.toThrow('secret');
});

const answer =
  (status: number, text: string, headers: Readonly<Record<string, string>> = {}) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(text);

it('what a tracker refuses says whether the token, the address or the limit of requests is the cause', async () => {
  await using server = await startTracker(ISSUE);
  const url = parseTrackerUrl(server.url(`${REPOSITORY}/`, '127.0.0.1'));
  const tokens: (string | undefined)[] = [];
  const read = async (token: string | undefined, ...handled: readonly ReturnType<typeof answer>[]): Promise<unknown> => {
    for (const handler of handled)
      server.handle(`${REPOSITORY}/issues/44`, (request, response) => {
        tokens.push(request.headers.authorization);
        handler(request, response);
      });
    return await new GitHubIssues(url, token, systemClock).read(44, signal).catch((error: unknown) => error);
  };
  const spent = answer(403, 'API rate limit exceeded', { 'x-ratelimit-remaining': '0' });
  expect(await read(undefined, spent)).toMatchObject({ code: 'issues.limit', message: expect.stringContaining('set MUSTER_ISSUES_TOKEN') });
  expect(await read('key', spent)).toMatchObject({ code: 'issues.limit', message: expect.stringContaining('wait, and run the same') });
  expect(await read('key', answer(401, '{"message": "Bad\n credentials"}'))).toMatchObject({
    kind: 'input',
    message: `--issues: ${url}/issues/44 answers 401: {"message": "Bad credentials"}; check MUSTER_ISSUES_TOKEN: it has to allow reading issues, or give a file of issues`,
  });
  expect(await read(undefined, answer(403, ''))).toMatchObject({ code: 'issues.token' });
  expect(await read(undefined, answer(502, 'bad gateway'))).toMatchObject({ kind: 'infrastructure', code: 'issues.failed' });
  expect(await read(undefined, answer(200, '<html>'))).toMatchObject({ code: 'issues.answer' });
  expect(await read(undefined, (request) => void request.socket.destroy())).toMatchObject({ code: 'issues.failed' });
  server.remove(REPOSITORY);
  expect(await read(undefined, answer(404, ''))).toMatchObject({
    kind: 'input',
    message: expect.stringContaining('there is no repository'),
  });
  expect(tokens).toEqual([undefined, 'Bearer key', 'Bearer key', ...Array.from({ length: 5 }, () => undefined)]);
});
