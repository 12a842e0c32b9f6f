/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { parseSandboxId } from '../../../src/kernel/ids.ts';
import type { Scenario } from '../sandbox-provider.ts';
import { firstLine, NEVER } from '../sandbox-fixture.ts';

/** Runs `act` while a host process listens; tells how many connections came. */
async function withListener(
  address: { host: string; port: number } | { path: string },
  act: (server: Server) => Promise<void>,
): Promise<number> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(address);
  await once(server, 'listening');
  try {
    await act(server);
  } finally {
    server.close();
    await once(server, 'close');
  }
  return connections;
}

/** What a sandbox cannot see, reach or change. */
export const isolationScenarios: Readonly<Record<string, Scenario>> = {
  'what the template mounts in /tmp is there, and cannot be written': async (fixture) => {
    const source = await mkdtemp(path.join(tmpdir(), 'muster-mounted-'));
    try {
      await chmod(source, 0o755);
      await writeFile(path.join(source, 'level'), 'one');
      const program = fixture.commands.python(`
def refused(path):
    try: open(path, 'w')
    except OSError: return True
print(open('/tmp/levels/all/level').read(), open('/tmp/levels/first').read(),
      refused('/tmp/levels/all/level'), refused('/tmp/levels/all/two'), refused('/tmp/levels/first'), refused('/tmp/own'))
`);
      const mounts = [
        { source: path.join(source, 'level'), target: '/tmp/levels/first' },
        { source, target: '/tmp/levels/all' },
      ];
      const template = fixture.template(program);
      const sandbox = await fixture.provider.create(
        { id: parseSandboxId('s'), template: { ...template, mounts: [...template.mounts, ...mounts] } },
        NEVER,
      );
      expect(await text(sandbox.stdout)).toBe('one one True True True None\n');
    } finally {
      await rm(source, { recursive: true });
    }
  },

  'two sandboxes see nothing of each other': async (fixture) => {
    const { marker } = fixture;
    const first = await fixture.create(
      fixture.commands.python(`
import socket, sys
open('/tmp/${marker}', 'w').write('secret')
open('/dev/shm/${marker}', 'w').write('secret')
path = socket.socket(socket.AF_UNIX); path.bind('/tmp/socket'); path.listen()
abstract = socket.socket(socket.AF_UNIX); abstract.bind('\\0${marker}'); abstract.listen()
tcp = socket.socket(); tcp.bind(('127.0.0.1', 4711)); tcp.listen()
print('ready', flush=True)
sys.stdin.read()
`),
    );
    expect(await firstLine(first)).toBe('ready\n');
    const seen = await fixture.python(`
import os, socket
def reaches(family, address):
    try:
        socket.socket(family).connect(address)
        return True
    except OSError:
        return False
print([os.path.exists(d + '/${marker}') for d in ('/tmp', '/dev/shm')],
      reaches(socket.AF_UNIX, '/tmp/socket'), reaches(socket.AF_UNIX, '\\0${marker}'), reaches(socket.AF_INET, ('127.0.0.1', 4711)),
      len([p for p in os.listdir('/proc') if p.isdigit()]) < 10)
`);
    expect(seen).toBe('[False, False] False False False True');
    await first.destroy();
  },

  'the network is out of reach, the host’s loopback included': async (fixture) => {
    const connections = await withListener({ host: '127.0.0.1', port: 0 }, async (server) => {
      const address = server.address();
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      const printed = await fixture.python(`
import socket
for address in (('127.0.0.1', ${port}), ('1.1.1.1', 53)):
    try:
        socket.create_connection(address, timeout=5)
        print('reached')
    except OSError:
        print('refused')
print([name for _, name in socket.if_nameindex()])
`);
      expect(printed).toBe("refused\nrefused\n['lo']");
    });
    expect(connections).toBe(0);
  },

  'the host’s abstract sockets are out of reach': async (fixture) => {
    const connections = await withListener({ path: `\0${fixture.marker}` }, async () => {
      const printed = await fixture.python(`
import socket
try:
    socket.socket(socket.AF_UNIX).connect('\\0${fixture.marker}')
    print('reached')
except ConnectionRefusedError:
    print('refused')
`);
      expect(printed).toBe('refused');
    });
    expect(connections).toBe(0);
  },

  'nothing can be written but in /tmp and /dev/shm': async (fixture) => {
    const printed = await fixture.python(`
import os
def writable(path):
    try:
        open(path, 'a').write('x')
        return True
    except OSError:
        return False
mounts = {}
for line in open('/proc/self/mountinfo'):
    fields = line.split(' ')
    mounts[fields[4]] = 'ro' in fields[5].split(',')
found = []
for mount, read_only in mounts.items():
    for d, inner, _ in os.walk(mount):
        if writable(d + '/probe'):
            found.append(d)
        # A mount is read-only as a whole or not at all. Other mounts have their own turn, and /proc is asked for file by file.
        whole = read_only or d == '/proc'
        inner[:] = [] if whole else [name for name in inner if os.path.join(d, name) not in mounts]
files = ['/proc/sys/kernel/hostname', '/proc/sys/kernel/core_pattern', '/proc/sys/vm/overcommit_memory', '/proc/sysrq-trigger',
         '/proc/1/oom_score_adj', '/proc/self/uid_map', '/etc/passwd', '/usr/bin/env', '/muster/inbox/x']
print(sorted(found), [f for f in files if writable(f)], '/' in mounts, [m for m in mounts if not os.path.exists(m)])
`);
    expect(printed).toBe("['/dev/shm', '/tmp'] [] True []");
  },

  'only what the template mounts is to be seen': async (fixture) => {
    const hidden = [...fixture.context.hiddenPaths, '/var', '/run', '/boot', '/etc/shadow', '/etc/machine-id', '/etc/ssh'];
    const printed = await fixture.python(`
import os
print([p for p in ${JSON.stringify(hidden)} if os.path.exists(p)], sorted(os.listdir('/muster')), os.listdir('/tmp'))
`);
    expect(printed).toBe("[] ['inbox'] []");
  },

  'Muster’s environment is not inherited by any process inside': async (fixture) => {
    process.env['MUSTER_CONTRACT_SECRET'] = fixture.marker;
    try {
      const printed = await fixture.python(`
import os
def environment(process):
    try: return open('/proc/%s/environ' % process).read()
    except PermissionError: return ''
seen = [environment(p) for p in os.listdir('/proc') if p.isdigit()]
print(environment('self') != '', any('MUSTER_CONTRACT' in text for text in seen), os.environ['HOME'], os.environ['TMPDIR'], 'PATH' in os.environ)
`);
      expect(printed).toBe('True False /tmp /tmp True');
    } finally {
      delete process.env['MUSTER_CONTRACT_SECRET'];
    }
  },

  'the program has no capability, no way to gain any, and is not root': async (fixture) => {
    const printed = await fixture.python(`
import os, subprocess
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
print(*(status[name].strip() for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs')), os.getuid() != 0)
print(subprocess.run(['unshare', '--user', 'true'], stderr=subprocess.DEVNULL).returncode != 0)
`);
    expect(printed).toBe(`${'0000000000000000 '.repeat(5)}1 True\nTrue`);
  },

  'no file descriptor of Muster’s is inherited': async (fixture) => {
    const printed = await fixture.python(`
import os
links = [os.readlink('/proc/self/fd/' + fd) for fd in os.listdir('/proc/self/fd') if int(fd) > 2 and os.path.exists('/proc/self/fd/' + fd)]
print([link for link in links if link != '/dev/null' and not link.startswith('/proc/')])
`);
    expect(printed).toBe('[]');
  },
};
