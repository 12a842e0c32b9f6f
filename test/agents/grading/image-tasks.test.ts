import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create } from 'tar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTask } from '../../../src/app/grading/task-check.ts';
import { type FilesByPath, GradingFixture, TASK } from '../../support/grading-fixture.ts';
import { busyboxLayer, tarOf, type TarEntry, writeOciLayout } from '../../support/image-fixture.ts';

let fixture: GradingFixture;
let image: string;
beforeAll(async () => {
  fixture = await GradingFixture.open();
  image = join(fixture.directory, 'image');
  await mkdir(image);
  await writeOciLayout(image, [await busyboxLayer(), tarOf(GIVEN)], {
    Env: ['PATH=/usr/bin:/bin:/own', 'GREETING=of = the image', 'LEVEL=image'],
    User: '65534',
    WorkingDir: '/app/',
  });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const GIVEN: readonly TarEntry[] = [
  { path: 'app/given.txt', content: 'of the image\n' },
  { path: 'app/release', type: 'SymbolicLink', to: '/etc/os-release' },
];
const taskIn = (root: string): FilesByPath => ({
  ...TASK,
  'task.toml':
    (TASK['task.toml'] ?? '').replace('[environment]', `[environment]\ndocker_image = "${root}"`) + '[environment.env]\nLEVEL = "task"\n',
  'muster.toml': `
[execute]
kind = "cases"
command = ["/bin/sh", "run.sh"]
stored = "cases.jsonl"
[golden]
command = ["/usr/bin/double"]
[compare]
mode = "canonical"
form = "tokens"
`,
  'tests/cases.jsonl': '{"stdin": "21\\n"}\n{"stdin": "-3\\n"}\n',
});
/** The image's variables stand over Muster's, and the task's over the image's. */
const RIGHT = `[ "$PATH" = /usr/bin:/bin:/own ] && [ "$GREETING" = "of = the image" ] && [ "$LEVEL" = task ] && [ "$HOME" = /tmp ] || exit 1
# The user is always this one, whatever user the image names, and may read every file of the image.
[ "$(id -u)" = 1000 ] || exit 1
grep -q muster-test release && grep -q image given.txt || exit 1
[ -e /usr/bin/python3 ] && exit 1
echo x 2>/dev/null >/etc/written && exit 1
/usr/bin/double
`;

describe('a task in an image without Python and with another C library', () => {
  it('is graded in an OCI layout and in an archive of docker save alike, its root read-only', async () => {
    const archive = join(fixture.directory, 'image.tar');
    await create({ cwd: image, file: archive }, ['oci-layout', 'index.json', 'blobs']);
    for (const root of [image, archive]) {
      const task = await fixture.task(taskIn(root));
      expect((await fixture.verdict(task, { 'run.sh': RIGHT })).verdict).toMatchObject({ reward: 1, problem: null });
      expect((await fixture.verdict(task, { 'run.sh': 'echo 42\n' })).verdict).toMatchObject({ reward: 0, problem: null });
    }
  });

  it('is refused, with the remedy, when its image is not there or nothing builds its Dockerfile', async () => {
    const missing = await fixture.task(taskIn('registry.invalid/not/there:1'));
    const other = join(fixture.directory, 'other');
    await mkdir(other);
    await writeOciLayout(other, [await busyboxLayer()], { WorkingDir: '/srv/../code' });
    const elsewhere = taskIn(other);
    await expect(fixture.verdict(await fixture.task(elsewhere), {})).rejects.toThrow(
      /other": the image works in \/code, and task.toml names no workdir.* in \/app; set workdir = "\/code" in \[environment\] of task.toml/,
    );
    const named = elsewhere['task.toml']?.replace('[environment]', '[environment]\nworkdir = "/app"') ?? '';
    const { verdict } = await fixture.verdict(await fixture.task({ ...elsewhere, 'task.toml': named }), { 'run.sh': '/usr/bin/double\n' });
    expect(verdict).toMatchObject({ reward: 1, problem: null });
    const scripted = await fixture.task({ ...elsewhere, 'task.toml': named, 'solution/solve.sh': 'true\n' });
    await expect(checkTask(fixture.grader, scripted, { times: 1 }, AbortSignal.timeout(120_000))).rejects.toThrow(
      /^solution\/solve\.sh: .*\/bin\/bash.*; the root file system needs \/bin\/bash for it/,
    );
    await expect(fixture.verdict(missing, {})).rejects.toThrow(
      /docker_image "registry.invalid\/not\/there:1": it does not exist; expected/,
    );
    const path = process.env['PATH'];
    const built = await fixture.task({ ...taskIn('x'), 'task.toml': TASK['task.toml'] ?? '', 'environment/Dockerfile': 'FROM scratch\n' });
    try {
      process.env['PATH'] = fixture.directory;
      await expect(fixture.verdict(built, {})).rejects.toThrow(
        /^environment\/Dockerfile: no program that builds it is installed; install docker with its daemon, podman or buildah/,
      );
      const [docker, podman] = [join(fixture.directory, 'docker'), join(fixture.directory, 'podman')];
      const say = (builder: string, says: string) => writeFile(builder, `#!/bin/sh\necho "${says}" >&2\nexit 1\n`, { mode: 0o755 });
      await say(docker, 'no daemon');
      await expect(fixture.verdict(built, {})).rejects.toThrow(
        /^environment\/Dockerfile: docker has no daemon .*no daemon\), and no other/,
      );
      await say(podman, 'no base');
      await expect(fixture.verdict(built, {})).rejects.toThrow(/^environment\/Dockerfile: podman does not build it; .*no base$/);
      for (const builder of [docker, podman]) await rm(builder);
    } finally {
      process.env['PATH'] = path;
    }
  });
});
