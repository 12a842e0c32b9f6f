import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import type { PolicyProgram, Zygote } from '../../src/pool/ports/template.ts';
import { BubblewrapContext } from '../support/bubblewrap-context.ts';
import { sampled } from '../support/full-form.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { shellCommands } from './sandbox-commands.ts';
import { firstLine, NEVER, SandboxFixture } from './sandbox-fixture.ts';

const { executable, mounts } = pythonInterpreter();
const forkedMounts = [...mounts, { source: path.join(import.meta.dirname, '../../runner'), target: '/runner' }];
const zygote: Zygote = { python: executable, program: '/runner/zygote.py', imports: [], isRequired: true };
const STARTS = { forked: { mounts: forkedMounts, zygote }, plain: { mounts } };

const commands = shellCommands(executable);
/** Both programs know the other as `line`. */
const joined = (source: string, ...argv: readonly string[]): readonly string[] => [
  ...commands.python(`import os, socket, sys\nline = socket.socket(fileno=3)\nline.setblocking(True)\n${source}`),
  ...argv,
];

/** Tells what a program can see from the place where it runs. */
const VIEW = `
def view(*paths):
    own = {'processes': sorted(name for name in os.listdir('/proc') if name.isdecimal())}
    own.update({name: os.readlink(f'/proc/self/ns/{name}') for name in ('pid', 'user', 'mnt', 'ipc', 'net')})
    own.update({path: os.path.exists(path) for path in paths})
    return own
`;
/** Answers each line with what it sees of the paths in it. */
const POLICY = `${VIEW}
import json
for asked in line.makefile('r'):
    line.sendall((json.dumps(view(*asked.split())) + '\\n').encode())
`;
/** The same for lines of its own input, with the other's answer behind its own. */
const ENVIRONMENT = `${VIEW}
import json
answers = line.makefile('r')
for asked in sys.stdin:
    line.sendall(asked.encode())
    print(json.dumps([view(*asked.split()), json.loads(answers.readline())]), flush=True)
`;
/** Ends as the runner does when its policy is gone. */
const NOTICES = 'print("ready", flush=True)\nline.recv(1)\nos._exit(71)';
const STAYS = 'import time\ntime.sleep(1e6)';

/** In the short form, the contract of providers starts plain pairs. */
describe.each(sampled(['forked', 'plain'] as const, (start) => start === 'forked'))('two programs in a sandbox, %s', (start) => {
  failOnLeftoverProcesses();
  let fixture: SandboxFixture;
  const open = async (policy: PolicyProgram['command']): Promise<SandboxFixture> => {
    const subject = {
      commands,
      ...STARTS[start],
      open: () => BubblewrapContext.open(STARTS[start].mounts, { policy: { command: policy } }),
    };
    return (fixture = new SandboxFixture(subject, await subject.open()));
  };
  afterEach(async () => {
    await fixture.expectNothingLeft();
    await fixture[Symbol.asyncDispose]();
  });

  it('hear one another, and see nothing of one another’s processes, namespaces and files', async () => {
    const sandbox = await (await open(joined(POLICY))).create(joined(ENVIRONMENT));
    const [suite, checkpoint] = await Promise.all([
      sandbox.upload('suite.py', { kind: 'file', hostPath: import.meta.filename }, NEVER),
      sandbox.capabilities?.policy?.upload('weights', { kind: 'file', hostPath: import.meta.filename }, NEVER),
    ]);
    sandbox.stdin.write(`${suite} ${checkpoint}\n`);
    const [environment, policy] = JSON.parse(await firstLine(sandbox));
    expect(environment).toMatchObject({ [suite]: true, [checkpoint ?? '']: false });
    expect(policy).toMatchObject({ [suite]: false, [checkpoint ?? '']: true });
    for (const name of ['pid', 'user', 'mnt', 'ipc', 'net']) expect(policy[name]).not.toBe(environment[name]);
    for (const { processes } of [environment, policy]) expect(processes.length).toBeLessThan(4);
    await sandbox.capabilities?.policy?.capabilities?.remove?.('weights');
    sandbox.stdin.write(`${suite} ${checkpoint}\n`);
    expect(JSON.parse(await firstLine(sandbox))[1]).toMatchObject({ [checkpoint ?? '']: false });
    await sandbox.destroy();
    expect(await sandbox.exit).toEqual({ kind: 'destroyed' });
  });

  it.each([
    ['a policy that ends, and an environment that notices', 'os._exit(5)', NOTICES, { code: 5, part: 'policy' }],
    ['a policy that is killed, and an environment that notices', 'os.kill(os.getpid(), 9)', NOTICES, { code: 137, part: 'policy' }],
    ['a policy that ends, and an environment that stays', 'os._exit(5)', STAYS, { code: 5, part: 'policy' }],
    ['a policy that closes the line and stays', `line.close()\n${STAYS}`, NOTICES, { code: 71, part: 'policy' }],
    ['an environment that ends, and a policy that notices', 'line.recv(1)', 'os._exit(4)', { code: 4 }],
    ['an environment that ends, and a policy that stays', STAYS, 'os._exit(4)', { code: 4 }],
  ])('end together: %s', async (_who, policy, environment, end) => {
    const sandbox = await (await open(joined(policy))).create(joined(environment));
    sandbox.stdout.resume();
    expect(await sandbox.exit).toEqual({ kind: 'exited', ...end });
  });

  it('leave nothing when either is killed from outside', async () => {
    await open(joined(STAYS));
    for (const half of ['', '-policy']) {
      const sandbox = await fixture.create(joined(NOTICES));
      expect(await firstLine(sandbox)).toBe('ready\n');
      await fixture.context.killFromOutside(fixture.provider, parseSandboxId(`${sandbox.id}${half}`));
      expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
      await fixture.expectNothingLeft();
    }
  });
});
