import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAction } from '../../../src/agents/actions/action.ts';
import { ActionExecutor, describeMisfit, SHOWN_TO_AGENTS } from '../../../src/agents/actions/action-executor.ts';
import type { Observation, ObservationData } from '../../../src/agents/actions/observation.ts';
import { ENVIRONMENT, shell, WorkspaceFixture, type WorkspaceOptions } from '../../support/workspace-fixture.ts';

let fixture: WorkspaceFixture;
beforeAll(async () => {
  fixture = await WorkspaceFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

async function agent(options?: WorkspaceOptions, output = SHOWN_TO_AGENTS) {
  const { session } = await fixture.workspace(options);
  const executor = new ActionExecutor(session, { workdir: '/app', environment: ENVIRONMENT, output });
  const act = async (given: unknown, seconds = 30): Promise<Observation> => {
    const read = readAction(given);
    if (read.kind === 'misfit') return describeMisfit(read.misfit);
    return (await executor.perform(read.action, seconds, AbortSignal.timeout(60_000))).observation;
  };
  const data = async (given: unknown, seconds?: number): Promise<ObservationData> => (await act(given, seconds)).data;
  return { session, act, data };
}

function reasonOf(data: ObservationData): string {
  return data.kind === 'refused' ? data.reason : data.kind;
}

describe('an agent in its workspace', () => {
  it('writes, reads, edits, lists and searches files', async () => {
    const { act, data } = await agent();
    const code = 'def sort(arr):\n    return arr\n\nprint(sort([2, 1]))\n';
    // As document 000 has it: edit_file with the whole code.
    expect(await data({ action: 'edit_file', file: 'src/sort.py', code })).toEqual({
      kind: 'written',
      file: 'src/sort.py',
      bytes: code.length,
    });
    const second = await act({ action: 'read_file', file: 'src/sort.py', from: 2, lines: 1 });
    expect(second.data).toEqual({
      kind: 'file',
      file: 'src/sort.py',
      content: '    return arr\n',
      from: 2,
      lines: 4,
      bytes: code.length,
      omitted: 0,
    });
    expect(second.text).toBe(`src/sort.py (from line 2; 4 lines in all, ${code.length} bytes):\n    return arr\n`);
    const edit = { action: 'edit_file', file: 'src/sort.py', old: 'return arr', new: 'return sorted(arr)' };
    expect(await data(edit)).toEqual({ kind: 'edited', file: 'src/sort.py', line: 2, bytes: code.length + 8 });
    expect(await data(edit)).toMatchObject({ kind: 'refused', reason: 'no-match' });
    expect(await data({ ...edit, old: 'sort', new: '' })).toMatchObject({ kind: 'refused', reason: 'several-matches' });
    expect(await data({ ...edit, old: 'aa', new: '', file: 'missing.py' })).toMatchObject({ kind: 'refused', reason: 'missing' });
    await data({ action: 'write_file', file: '/app/README', content: '' });
    expect(await data({ action: 'list_files', depth: 2 })).toEqual({
      kind: 'listed',
      path: '.',
      entries: [
        { path: 'README', kind: 'file', bytes: 0 },
        { path: 'src', kind: 'directory', bytes: 0 },
        { path: 'src/sort.py', kind: 'file', bytes: code.length + 8 },
      ],
      total: 3,
      isComplete: true,
    });
    const found = await act({ action: 'search', text: 'SORT(', ignoreCase: true });
    expect(found.text).toBe('src/sort.py:1: def sort(arr):\nsrc/sort.py:4: print(sort([2, 1]))');
    expect((await act({ action: 'search', text: 'SORT(' })).text).toBe('No line holds it.');
    expect((await act({ action: 'run', command: 'python3 src/sort.py' })).text).toBe('exit code 0\nstdout:\n[1, 2]');
  });

  it('runs commands with an input, bounded in time and output, and sees their streams apart and escaped', async () => {
    const { act, data } = await agent({}, { head: 8, tail: 4, most: 1_000_000 });
    expect((await act({ action: 'run', command: 'cat; echo no >&2; exit 3', stdin: 'yes' })).text).toBe(
      'exit code 3\nstdout:\nyes\nstderr:\nno',
    );
    expect(await data({ action: 'run', command: 'printf "aaaaaaaüüüüüüüüüübbb"' })).toMatchObject({
      stdout: { text: 'aaaaaaa\n[… 20 bytes left out …]\nbbb', bytes: 30, omitted: 20 },
    });
    const odd = await act({ action: 'run', command: String.raw`printf "\033[2J\t\377\n"` });
    expect(odd.text).toBe('exit code 0\nstdout:\n\\u001b[2J\t\ufffd');
    expect(await data({ action: 'run', command: 'sleep 60', timeout: 60 }, 0.2)).toMatchObject({ end: { kind: 'timeout' } });
    expect(await data({ action: 'run', command: 'sleep 60', timeout: 0.2 })).toMatchObject({ end: { kind: 'timeout' } });
    expect(await data({ action: 'run', command: 'yes' })).toMatchObject({ end: { kind: 'output-limit' } });
    expect(await data({ action: 'run', command: 'echo ${BASH_VERSION:+bash}; env | grep -cx SHELL=/bin/bash; kill -9 $$' })).toMatchObject({
      end: { kind: 'signalled', signal: 9 },
      stdout: { text: 'bash\n1\n' },
    });
  });

  it('starts commands that run on beside others, hears what they print, and stops them with all that they have started', async () => {
    const { session, act, data } = await agent({}, { head: 64, tail: 64, most: 1_000_000 });
    const server = 'trap "echo bye; exit 3" TERM; echo up; sleep 1000 & (while read -r line; do echo "got $line"; done <pipe) & wait';
    await data({ action: 'run', command: 'mkfifo pipe' });
    expect(await data({ action: 'start', name: 'server', command: server })).toEqual({ kind: 'started', name: 'server' });
    expect(await act({ action: 'poll', name: 'server', wait: 20 })).toMatchObject({ text: 'server runs\nstdout:\nup' });
    expect(await data({ action: 'start', name: 'server', command: 'true' })).toMatchObject({ kind: 'refused', reason: 'running' });
    // A command that ends takes what it has left running with it, and nothing of what was started.
    await data({ action: 'run', command: '(setsid sleep 1001 &) ; sleep 1002 & echo hello >pipe' });
    expect((await act({ action: 'poll', name: 'server', wait: 20 })).text).toBe('server runs\nstdout:\ngot hello');
    const sleeping = 'for f in /proc/[0-9]*; do [ "$(cat $f/comm 2>/dev/null)" = sleep ] && tr "\\0" " " <$f/cmdline; done; true';
    const sleepers = async (): Promise<string> => (await act({ action: 'run', command: sleeping })).text;
    expect(await sleepers()).toBe('exit code 0\nstdout:\nsleep 1000 ');
    // One that was started may hold the output of one that ends.
    const keeper =
      'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen(); print("up", flush=True); held = socket.recv_fds(s.accept()[0], 1, 1); print(held[1] != [], flush=True); time.sleep(1000)';
    const giver = 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("s"); socket.send_fds(s, [b"x"], [1])';
    await data({ action: 'start', name: 'keeper', command: `exec python3 -c '${keeper}'` });
    await data({ action: 'poll', name: 'keeper', wait: 20 });
    expect((await act({ action: 'run', command: `python3 -c '${giver}'; echo given` })).text).toBe('exit code 0\nstdout:\ngiven');
    expect(await data({ action: 'poll', name: 'keeper', wait: 20 })).toMatchObject({ end: null, stdout: { text: 'True\n' } });
    await data({ action: 'stop', name: 'keeper' });
    expect(await data({ action: 'stop', name: 'server' })).toMatchObject({ end: { kind: 'exited', code: 3 }, stdout: { text: 'bye\n' } });
    expect(await sleepers()).toBe('exit code 0');
    expect(await data({ action: 'stop', name: 'server' })).toMatchObject({ end: { code: 3 }, stdout: { text: '' } });
    // One that does not stop by itself, one that prints without end, and one that cannot be had.
    await data({ action: 'start', name: 'deaf', command: 'trap "" TERM; cat; while :; do sleep 1; done', stdin: 'given' });
    expect(await data({ action: 'poll', name: 'deaf', wait: 20 })).toMatchObject({ end: null, stdout: { text: 'given' } });
    expect(await data({ action: 'stop', name: 'deaf' })).toMatchObject({ end: { kind: 'signalled', signal: 9 } });
    await data({ action: 'start', name: 'loud', command: 'yes' });
    await data({ action: 'start', name: 'brief', command: 'sleep 0.05; exit 7' });
    expect(await data({ action: 'poll', name: 'brief', wait: 20 })).toMatchObject({ end: { kind: 'exited', code: 7 } });
    let loud = await data({ action: 'poll', name: 'loud' });
    for (let polls = 0; polls < 1000 && loud.kind === 'polled' && loud.end === null; polls += 1)
      loud = await data({ action: 'poll', name: 'loud', wait: 20 });
    expect(loud).toMatchObject({ end: { kind: 'output-limit' } });
    expect(await data({ action: 'poll', name: 'nothing' })).toMatchObject({ kind: 'refused', reason: 'missing' });
    expect(await data({ action: 'start', name: 'no name', command: 'true' })).toMatchObject({ reason: 'malformed' });
    // Sixteen may run on, and collecting files ends them.
    for (let i = 0; i < 16; i += 1) await data({ action: 'start', name: `n${i}`, command: 'sleep 1003' });
    expect(await data({ action: 'start', name: 'more', command: 'true' })).toEqual({
      kind: 'refused',
      reason: 'too-many',
      detail: '16 commands run already; stop one first',
    });
    await session.collect(['/app'], { files: 100, bytes: 1000 }, AbortSignal.timeout(60_000));
    expect(await data({ action: 'poll', name: 'n0', wait: 20 })).toMatchObject({ end: { kind: 'signalled', signal: 9 } });
  });

  it('applies a patch to all of its files or to none', async () => {
    const { data } = await agent();
    await data({ action: 'write_file', file: 'a.txt', content: 'one\ntwo\nthree\n' });
    await data({ action: 'write_file', file: 'b.txt', content: 'gone\n' });
    const change = '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n';
    const add = '--- /dev/null\n+++ b/new/c.txt\n@@ -0,0 +1 @@\n+made\n';
    const remove = '--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n';
    const misfit = '--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-other\n+x\n';
    const before = await data({ action: 'list_files', depth: 3 });
    for (const patch of [
      change + add + misfit,
      change + add.replace('new/c.txt', 'b.txt'),
      'no patch',
      change + change,
      change + add.replaceAll('new/c.txt', '../x'),
    ])
      expect([patch, reasonOf(await data({ action: 'apply_patch', patch }))]).toEqual([patch, expect.stringMatching(/^(patch|outside)$/)]);
    // A hunk that is said to begin far behind the end of the file is still looked for in the file only.
    const far = change.replace('@@ -1,3', '@@ -900000000000000,3');
    expect(await data({ action: 'list_files', depth: 3 })).toEqual(before);
    expect(await data({ action: 'apply_patch', patch: far + add + remove })).toEqual({
      kind: 'patched',
      files: [
        { file: 'a.txt', change: 'changed' },
        { file: 'new/c.txt', change: 'added' },
        { file: 'b.txt', change: 'removed' },
      ],
    });
    expect(await data({ action: 'read_file', file: 'a.txt' })).toMatchObject({ content: 'one\n2\nthree\n' });
    const moved = 'diff --git a/a.txt b/d.txt\nsimilarity index 100%\nrename from a.txt\nrename to d.txt\n';
    expect(reasonOf(await data({ action: 'apply_patch', patch: moved }))).toBe('patched');
    expect(await data({ action: 'read_file', file: 'd.txt' })).toMatchObject({ content: 'one\n2\nthree\n' });
    expect(reasonOf(await data({ action: 'read_file', file: 'a.txt' }))).toBe('missing');
  });

  it('does not get out of the workspace, not even by its own links, and learns what is there instead of a file', async () => {
    const { session, act, data } = await agent();
    const made = [
      'ln -s /etc etc; ln -s /etc/passwd passwd; ln -s /proc/1/environ environ; ln -s /proc/self/root/app/in around; ln -s loop loop',
      'ln -s /tmp/inside inside; echo inside >/tmp/inside; mkdir dir; mkfifo pipe; echo x >locked; chmod 0 locked',
      String.raw`printf "\377\000" >binary; truncate -s 5000000 huge; touch "$(printf 'odd\377\033\nline')"; mkdir readonly; chmod 555 readonly`,
    ];
    await shell(session, made.join('\n'));
    const read = async (file: string): Promise<string> => reasonOf(await data({ action: 'read_file', file }));
    const write = async (file: string): Promise<string> => reasonOf(await data({ action: 'write_file', file, content: 'x' }));
    for (const file of ['passwd', 'etc/passwd', 'environ', '/etc/passwd', '../etc/passwd', '/muster/runner/workspace.py'])
      expect([file, await read(file), await write(file)]).toEqual([file, 'outside', 'outside']);
    expect(await read('inside')).toBe('file');
    expect(await write('inside')).toBe('written');
    expect(await data({ action: 'run', command: 'cat /tmp/inside; test -L inside' })).toMatchObject({
      end: { code: 0 },
      stdout: { text: 'x' },
    });
    expect(await read('dir')).toBe('directory');
    expect(await write('dir')).toBe('directory');
    expect(await write('.')).toBe('directory');
    expect(await read('pipe')).toBe('special-file');
    expect(await write('pipe')).toBe('special-file');
    expect(await read('binary')).toBe('no-text');
    expect(await read('huge')).toBe('too-large');
    expect(await read('locked')).toBe('unreadable');
    expect(await write('readonly/x')).toBe('unreadable');
    for (const asked of [{ action: 'read_file' }, { action: 'write_file', content: 'x' }]) {
      expect((await act({ ...asked, file: 'loop' })).text).toBe('Not done (link): /app/loop: is a link that cannot be followed');
      for (const file of ['loop/x', 'locked/x'])
        expect((await act({ ...asked, file })).text).toContain('is reached through a file or a link');
    }
    expect(reasonOf(await data({ action: 'list_files', path: 'etc' }))).toBe('outside');
    expect((await act({ action: 'search', path: '/', text: 'root' })).text).toContain(
      '(outside): /: is in none of the writable directories',
    );
    const added = '--- /dev/null\n+++ b/../etc/x\n@@ -0,0 +1 @@\n+x\n';
    expect(reasonOf(await data({ action: 'apply_patch', patch: added }))).toBe('outside');
    const listed = await act({ action: 'list_files' });
    expect(listed.data).toMatchObject({ isComplete: true });
    expect(listed.text).toContain(String.raw`odd\xff\u001b\nline`);
  });

  it('changes no file when the workspace is full, and continues', async () => {
    const { data } = await agent({ limits: { diskBytes: 8 * 2 ** 20 } });
    await data({ action: 'write_file', file: 'kept', content: 'kept' });
    expect(await data({ action: 'run', command: 'head -c 100m /dev/zero >/app/fill' })).toMatchObject({ end: { kind: 'exited', code: 1 } });
    expect(reasonOf(await data({ action: 'write_file', file: 'kept', content: 'x'.repeat(100_000) }))).toBe('full');
    expect(reasonOf(await data({ action: 'write_file', file: 'deep/er/new', content: 'x'.repeat(100_000) }))).toBe('full');
    expect(await data({ action: 'read_file', file: 'kept' })).toMatchObject({ content: 'kept' });
    expect(await data({ action: 'list_files', depth: 3 })).toMatchObject({ total: 2 });
    await data({ action: 'run', command: 'rm /app/fill' });
    expect(reasonOf(await data({ action: 'write_file', file: 'deep/er/new', content: 'x'.repeat(100_000) }))).toBe('written');
  });

  it('answers an invalid action with the reason, and gives the total when it shows only a part', async () => {
    const { act, data } = await agent();
    for (const [given, reason] of [
      [undefined, 'malformed'],
      ['run', 'malformed'],
      [{ action: 7 }, 'malformed'],
      [{ action: 'dance' }, 'unknown-action'],
      [{ action: 'run' }, 'malformed'],
      [{ action: 'run', command: 'a\0b' }, 'malformed'],
      [{ action: 'read_file', file: '\ud800' }, 'malformed'],
      [{ action: 'read_file', file: 'x', extra: 1 }, 'malformed'],
      [{ action: 'write_file', file: 'x', content: 'x'.repeat(5 * 2 ** 20) }, 'malformed'],
      [{ action: 'edit_file', file: 'x', code: 'x', old: 'x', new: 'y' }, 'malformed'],
    ] as const)
      expect([given, reasonOf(await data(given))]).toEqual([given, reason]);
    expect((await act({ action: 'run', cmd: 'x', timeout: -1 })).text).toBe(
      'Not done (malformed): run: command: is missing; expected a text; timeout: expected a number above 0, got -1; ' +
        'cmd: unknown key; expected one of action, command, stdin, timeout',
    );
    expect(readAction({ action: 'run', command: 'x' }, ['submit'])).toMatchObject({ misfit: { reason: 'not-allowed' } });
    await data({
      action: 'run',
      command: 'i=0; while [ $i -lt 1200 ]; do echo needle >$i; i=$((i+1)); done; yes line | head -c 300000 >long',
    });
    const listed = await act({ action: 'list_files' });
    expect(listed.data).toMatchObject({ total: 1201, isComplete: false });
    expect(listed.text.split('\n')).toHaveLength(1001);
    expect(await data({ action: 'search', text: 'needle' })).toMatchObject({ total: 1200, isComplete: false });
    const long = await data({ action: 'read_file', file: 'long' });
    expect(long).toMatchObject({ bytes: 300_000, lines: 60_000, omitted: 300_000 - 128 * 1024 });
    expect(await act({ action: 'submit' })).toMatchObject({ data: { kind: 'submitted' } });
  });
});
