import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AttackFixture, ECHO, Neighbour, WAYS } from './attack-fixture.ts';

describe.each(WAYS)('a program in a %s sandbox that tries to get through its walls', (start) => {
  let fixture: AttackFixture;
  let neighbour: Neighbour;
  beforeAll(async () => {
    fixture = await AttackFixture.open({ start });
    neighbour = new Neighbour(await fixture.create(ECHO));
  });
  afterEach(() => neighbour.answers());
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('makes no namespace and enters none, and its own allows none, whatever the filter would let through', async () => {
    const seen = await fixture.report(`
import subprocess
NEW_USER, NEW_NET, NEW_PID, NEW_NS = 0x10000000, 0x40000000, 0x20000000, 0x20000
made = [asked('unshare', flag) for flag in (NEW_USER, NEW_NET, NEW_PID, NEW_NS, NEW_USER | NEW_NS)]
entered = [asked('setns', os.open(f'/proc/self/ns/{name}', os.O_RDONLY), 0) for name in os.listdir('/proc/self/ns')]
programs = [subprocess.run(words, capture_output=True).returncode != 0 for words in (['unshare', '-Ur', 'true'], ['unshare', '-m', 'true'])]
print(json.dumps([sorted(set(made + entered)), programs, open('/proc/sys/user/max_user_namespaces').read().strip()]))
`);
    // bubblewrap has spent the only one that its outer namespace allows; the inner one has a number of its own, which is of no use.
    expect(seen).toEqual([['EPERM'], [true, true], expect.stringMatching(start === 'forked' ? /^0$/ : /^\d+$/)]);
  });

  it('mounts, unmounts and pivots nothing', async () => {
    const seen = await fixture.report(`
import subprocess
MS_BIND, MS_REMOUNT, MNT_DETACH = 4096, 32, 2
os.mkdir('/tmp/new')
answers = [
    asked('mount', b'/tmp', b'/usr', None, MS_BIND, None),
    asked('mount', b'tmpfs', b'/tmp/new', b'tmpfs', 0, None),
    asked('mount', b'proc', b'/tmp/new', b'proc', 0, None),
    asked('mount', None, b'/', None, MS_REMOUNT | MS_BIND, None),
    asked('mount', None, b'/proc', None, MS_REMOUNT | MS_BIND, None),
    asked('umount2', b'/proc', MNT_DETACH),
    asked('umount2', b'/tmp', MNT_DETACH),
    asked('umount2', b'/muster/inbox', MNT_DETACH),
    asked('pivot_root', b'/tmp', b'/tmp/new'),
    asked('chroot', b'/tmp'),
]
programs = [subprocess.run(words, capture_output=True).returncode != 0 for words in (['mount', '--bind', '/tmp', '/usr'], ['umount', '/tmp'])]
print(json.dumps([sorted(set(answers)), programs]))
`);
    expect(seen).toEqual([['EPERM'], [true, true]]);
  });

  it('neither finds /sys and its control group, nor writes what of the kernel is in /proc', async () => {
    const seen = await fixture.report(`
def written(path):
    return refused(lambda: os.write(os.open(path, os.O_WRONLY), b'1'))
settings = [os.path.join(d, f) for d, _, files in os.walk('/proc/sys') for f in files]
others = ['/proc/sysrq-trigger', '/proc/self/oom_score_adj', '/proc/self/uid_map', '/proc/self/gid_map', '/proc/self/setgroups', '/proc/self/mem',
          '/proc/self/attr/current', '/proc/self/coredump_filter', '/proc/self/timerslack_ns', '/proc/self/comm']
answers = {path: written(path) for path in settings + [path for path in others if os.path.exists(path)]}
groups = [line.strip().split(':', 2)[2] for line in open('/proc/self/cgroup')]
mounted = {line.split(' - ')[1].split()[0] for line in open('/proc/self/mountinfo')}
print(json.dumps([len(settings) > 100, [path for path, answer in answers.items() if answer is None],
                  os.path.exists('/sys'), sorted(set(groups)), [kind for kind in mounted if 'cgroup' in kind or kind == 'sysfs']]))
`);
    expect(seen).toEqual([true, [], false, expect.arrayContaining(['/']), []]);
    // A group that it was not put into is shown as it lies outside of its own: "/.." at most, and never by name.
    const groups = Array.isArray(seen) ? seen[3] : undefined;
    expect(JSON.stringify(groups)).not.toMatch(/muster|[a-z]/);
  });

  it('finds no path of Muster in what /proc shows of its processes, the command line of the first among it', async () => {
    // In hexadecimal, so that the attacker's own command line does not have them.
    const places = [fixture.context.stateDir, path.resolve('runner')].map((place) => Buffer.from(place).toString('hex'));
    const seen = await fixture.report(`
def read(path):
    try:
        with open(path, 'rb') as file: return file.read()
    except OSError: return b''
def link(path):
    try: return os.readlink(path).encode()
    except OSError: return b''
processes = [f'/proc/{name}' for name in os.listdir('/proc') if name.isdigit()]
contents = [read(f'{each}/{name}') for each in processes for name in ('cmdline', 'environ', 'comm', 'maps', 'stat')]
contents += [link(f'{each}/{name}') for each in processes for name in ('exe', 'cwd', 'root')]
contents += [link(entry.path) for each in processes if os.access(f'{each}/fd', os.R_OK) for entry in os.scandir(f'{each}/fd')]
roots = {refused(os.listdir, f'{each}/root') or os.path.samestat(os.stat(f'{each}/root'), os.stat('/')) for each in processes}
print(json.dumps([[place for place in ${JSON.stringify(places)} if bytes.fromhex(place) in b' '.join(contents)], sorted(map(str, roots - {True, 'EACCES'})), len(contents) > 5]))
`);
    expect(seen).toEqual([[], [], true]);
  });

  it('sets neither clock nor hostname', async () => {
    const before = Date.now();
    const seen = await fixture.report(`
import time
CLOCK_REALTIME = 0
clocks = [refused(time.clock_settime, CLOCK_REALTIME, 0.0), refused(time.clock_settime, CLOCK_REALTIME, time.time() + 86400)]
class TimeVal(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('rest', ctypes.c_long)]
clocks.append(asked('settimeofday', ctypes.byref(TimeVal(0, 0)), None))
names = [refused(socket.sethostname, 'taken'), asked('setdomainname', b'taken', 5)]
print(json.dumps([clocks, names, os.uname().nodename]))
`);
    expect(seen).toEqual([['EPERM', 'EPERM', 'EPERM'], ['EPERM', 'EPERM'], 'sandbox']);
    expect(Date.now()).toBeGreaterThanOrEqual(before);
    expect((await readFile('/proc/sys/kernel/hostname', 'utf8')).trim()).toBe(hostname());
  });

  it('takes no precedence over others: of processor, disk, memory or time', async () => {
    const seen = await fixture.report(`
IOPRIO_SET, REAL_TIME = (251 if os.uname().machine == 'x86_64' else 30), 1 << 13
nicer = os.getpriority(os.PRIO_PROCESS, 0) - 1
answers = {
    'nice': refused(os.setpriority, os.PRIO_PROCESS, 0, nicer),
    'everybody’s': refused(os.setpriority, os.PRIO_USER, 0, nicer),
    'real time': refused(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)),
    'round robin': refused(os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1)),
    'disk': call(IOPRIO_SET, 1, 0, REAL_TIME),
}
print(json.dumps(answers))
`);
    expect(seen).toEqual({ nice: 'EACCES', 'everybody’s': 'EACCES', 'real time': 'EPERM', 'round robin': 'EPERM', disk: 'EPERM' });
  });
});
