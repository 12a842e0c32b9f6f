import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dependent } from '../../scripts/dependent-process.ts';
import { AgentSuiteFixture } from '../support/agent-suite-fixture.ts';
import { freePort } from '../support/free-port.ts';
import { MusterCommand } from './muster-command.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

let fixture: AgentSuiteFixture;
beforeAll(async () => void (fixture = await AgentSuiteFixture.open()));
afterAll(() => fixture[Symbol.asyncDispose]());

/** What the agents of this test do, whichever it is: from step to step, by the task. */
const ACTIONS = {
  'test/share': [{ action: 'edit_file', file: 'abs.py', old: 'int(input())', new: 'n if (n := abs(int(input()))) < 50 else 0' }],
  'test/answer': [{ action: 'write_file', file: 'answer.txt', content: '42' }],
  'test/half': [{ action: 'run', command: 'true' }],
} as const;

/** Knows the calls of the server that offers episodes and nothing else of Muster. With "stuck" it hangs in its first episode, behind the first step. */
const PROGRAM = `
import json, sys, time
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
url, actions, is_stuck = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "stuck"
def call(method, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    with urlopen(Request(url + path, data, {"content-type": "application/json"} if data else {}, method=method)) as answer:
        text = answer.read()
        return json.loads(text) if text else None
def play(taken):
    todo = [*actions[taken["task"]], {"action": "submit"}]
    for step in range(taken["steps"], len(todo)):
        call("POST", taken["links"]["steps"], {"step": step + 1, **todo[step]})
        if is_stuck:
            print("stuck", flush=True)
            time.sleep(600)
has_played = False
while True:
    try:
        found = [] if is_stuck or has_played else call("GET", "/v1/episodes")["items"]
        for taken in found or [call("POST", "/v1/episodes", {"agent": "python", "wait": 5})]:
            if taken:
                play(taken)
                has_played = True
    except HTTPError as error:
        sys.exit(error.read().decode())
    except (URLError, ConnectionError):
        # Before its first episode it waits for Muster; then Muster has all that it needs.
        if has_played:
            sys.exit(0)
        time.sleep(0.05)
`;

function start(listen: string, way: 'stuck' | 'steady'): ChildProcess {
  return spawn(...dependent('/usr/bin/python3', ['-c', PROGRAM, `http://${listen}`, JSON.stringify(ACTIONS), way]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('an agent that lives elsewhere', () => {
  it('takes episodes of muster eval over HTTP, continues after kill -9, and has the same official result as an equivalent script', async () => {
    await using muster = await fixture.muster(2);
    const suite = await fixture.suite({ stop: { rule: 'fixed', episodes: 4 } });
    const tasks = Object.fromEntries(Object.entries(ACTIONS).map(([task, actions]) => [task, [...actions, { action: 'submit' }]]));
    const scripted = await muster.evaluate({ suite, checkpoint: await fixture.agent({ agent: 'scripted', tasks }) });
    const listen = `127.0.0.1:${await freePort()}`;
    const agent = await fixture.agent({ agent: 'external', name: 'python', listen });
    const command = ['./muster', 'eval', suite, '--agent', agent, '--json', '-n', '2'];
    await using external = new MusterCommand(command, { environment: { MUSTER_STATE_DIR: fixture.stateDir } });
    const stuck = start(listen, 'stuck');
    if (stuck.stdout) for await (const line of createInterface(stuck.stdout)) if (line === 'stuck') break;
    stuck.kill('SIGKILL');
    expect(await once(stuck, 'exit')).toEqual([null, 'SIGKILL']);
    const steady = start(listen, 'steady');
    const exit = once(steady, 'exit');
    const { official, run } = (await external.ended).summary();
    expect(await exit).toEqual([0, null]);
    const { checkpoint } = official;
    expect(JSON.stringify(official)).toBe(JSON.stringify({ ...scripted.official, checkpoint }));
    expect(official.mean).toBeGreaterThan(0);
    expect(official.mean).toBeLessThan(1);
    expect(run.retried).toBe(0);
  });
});
