import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RootFileSystems } from '../../../src/adapters/images/root-file-systems.ts';
import { readImage } from '../../../src/adapters/images/image-layers.ts';
import { ImageRoots } from '../../../src/adapters/images/image-roots.ts';
import { LAYER_BOUNDS } from '../../../src/adapters/images/unpacked-layer.ts';
import { listFilesBelow } from '../../../src/adapters/images/workdir-files.ts';
import { tarOf, type TarEntry, writeOciLayout } from '../../support/image-fixture.ts';

let top: string;
let made = 0;
beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'muster-images-'));
});
afterAll(() => rm(top, { recursive: true }));

const soon = (): AbortSignal => AbortSignal.timeout(60_000);
const place = (): string => join(top, `p${(made += 1)}`);

async function layout(...layers: readonly (readonly TarEntry[])[]): Promise<string> {
  const directory = place();
  await writeOciLayout(directory, layers.map(tarOf));
  return directory;
}

async function unpacked(directory: string, bounds = LAYER_BOUNDS, state = place()): Promise<string> {
  return new ImageRoots(state, bounds).unpackImage('test', await readImage('test', directory, 'amd64'), soon());
}

describe('the root file system of an image', () => {
  it('is its layers over one another: removed files are gone, and directories are merged', async () => {
    const image = await layout(
      [
        { path: 'etc/kept', content: 'kept' },
        { path: 'etc/gone', content: 'gone' },
        { path: 'opaque/below', content: 'below' },
        { path: 'link', type: 'SymbolicLink', to: 'etc' },
        { path: 'bin/one', content: 'program', mode: 0o4711 },
        { path: 'bin/two', type: 'Link', to: 'bin/one' },
        { path: 'dev/null', type: 'CharacterDevice' },
      ],
      [
        { path: 'etc/.wh.gone' },
        { path: 'opaque/above', content: 'above' },
        { path: 'opaque/.wh..wh..opq' },
        { path: 'link/own', content: 'hides the link' },
        { path: 'etc/passwd', type: 'SymbolicLink', to: '/etc/kept' },
      ],
      [{ path: 'etc/kept', content: 'changed' }],
    );
    const state = place();
    const root = await unpacked(image, LAYER_BOUNDS, state);
    const text = (name: string): Promise<string> => readFile(join(root, name), 'utf8');
    expect([(await readdir(join(root, 'etc'))).sort(), await readdir(join(root, 'opaque'))]).toEqual([['kept', 'passwd'], ['above']]);
    expect([await text('etc/kept'), await text('link/own'), await readlink(join(root, 'etc/passwd'))]).toEqual([
      'changed',
      'hides the link',
      '/etc/kept',
    ]);
    const [one, two] = [await stat(join(root, 'bin/one')), await stat(join(root, 'bin/two'))];
    // Readable for the sandbox's user, and without the bit of another one.
    expect([one.ino === two.ino, one.mode & 0o7777]).toEqual([true, 0o755]);
    expect((await readdir(root)).sort()).toEqual(['bin', 'dev', 'etc', 'link', 'opaque']);
    expect(await readdir(join(root, 'dev'))).toEqual([]);
    // The lower layer is as it was, for other images that have it.
    const layers = await readdir(join(state, 'layers'));
    expect(layers).toHaveLength(3);
    expect(await unpacked(image, LAYER_BOUNDS, state)).toBe(root);
    expect((await readdir(state)).sort()).toEqual(['layers', 'roots']);
  });

  it('is read as Docker writes it, whose whiteouts are plain files with the target of a link', async () => {
    const files = ['kept', 'first', 'second', 'third'].map((name) => ({ path: `etc/${name}`, content: name.repeat(1000) }));
    const whiteouts: readonly TarEntry[] = [
      { path: 'etc/.wh.first' },
      { path: 'etc/.wh.second', to: 'etc/.wh.first' },
      { path: 'etc/.wh.third', to: 'etc/.wh.first' },
    ];
    // A file that looks like an archive is content.
    const archive = tarOf(whiteouts);
    const root = await unpacked(await layout(files, [...whiteouts, { path: 'etc/archive', content: archive }, { path: 'etc/last' }]));
    expect((await readdir(join(root, 'etc'))).sort()).toEqual(['archive', 'kept', 'last']);
    expect(archive.equals(await readFile(join(root, 'etc/archive')))).toBe(true);
  });

  it('is not made of a layer that is damaged behind many files, and nothing of it stays', async () => {
    const state = place();
    const image = place();
    const whole = tarOf(
      Array.from({ length: 300 }, (_, at) => ({ path: `d${at % 7}/f${at}`, content: Buffer.alloc(at % 2 === 0 ? 0 : 9000) })),
    );
    await writeOciLayout(image, [Buffer.concat([whole.subarray(0, -1024), Buffer.alloc(512, 'no header'), whole.subarray(-1024)])]);
    await expect(unpacked(image, LAYER_BOUNDS, state)).rejects.toThrow(/checksum failure; expected a whole tar archive/);
    expect(await readdir(state)).toEqual([]);
  });

  it.each<readonly [string, readonly TarEntry[], RegExp]>([
    ['a name that leaves it', [{ path: '../../escaped', content: 'x' }], /\.\.\/\.\.\/escaped leaves the layer by "\.\."/],
    ['an absolute name', [{ path: '/etc/passwd', content: 'x' }], /\/etc\/passwd has an absolute name/],
    [
      'a file behind an absolute link',
      [
        { path: 'out', type: 'SymbolicLink', to: '/tmp' },
        { path: 'out/escaped', content: 'x' },
      ],
      /out\/escaped would lie in or at out, which is a link/,
    ],
    ['a hard link to a file of the host', [{ path: 'shadow', type: 'Link', to: '/etc/shadow' }], /\/etc\/shadow has an absolute name/],
    ['a hard link out of it', [{ path: 'shadow', type: 'Link', to: '../../etc/shadow' }], /leaves the layer by "\.\."/],
    [
      'a hard link through a link',
      [
        { path: 'etc', type: 'SymbolicLink', to: '/etc' },
        { path: 'shadow', type: 'Link', to: 'etc/shadow' },
      ],
      /is a hard link to etc\/shadow, which is no file of this layer/,
    ],
    ['a device', [{ path: 'disk', type: 'CharacterDevice' }], /disk is a device or a pipe/],
    ['a pipe', [{ path: 'pipe', type: 'FIFO' }], /pipe is a device or a pipe/],
    ['a huge file', [{ path: 'huge', size: 2 ** 40 }], /huge: has more than 100000 bytes/],
    ['too many files', Array.from({ length: 60 }, (_, at) => ({ path: `f${at}` })), /f50 is one entry more than 50/],
    [
      'too much altogether',
      Array.from({ length: 3 }, (_, at) => ({ path: `f${at}`, content: Buffer.alloc(40_000) })),
      /has more than 100000 bytes/,
    ],
    ['directories in one another', [{ path: 'd/'.repeat(40), type: 'Directory' }], /more than 20 directories deep/],
    [
      'a file for a directory',
      [
        { path: 'd/', type: 'Directory' },
        { path: 'd', content: 'x' },
      ],
      /d takes the place of a directory/,
    ],
  ])('is not made of a layer with %s', async (_, entries, message) => {
    const state = place();
    const bounds = { ...LAYER_BOUNDS, bytes: 100_000, entries: 50, depth: 20 };
    await expect(unpacked(await layout(entries), bounds, state)).rejects.toThrow(message);
    // Nothing of it stays.
    expect(await readdir(state)).toEqual([]);
    await expect(lstat('/tmp/escaped')).rejects.toThrow('ENOENT');
  });

  it('is refused when a content does not match its digest, or there is no image', async () => {
    const image = await layout([{ path: 'a', content: 'a' }]);
    for (const name of await readdir(join(image, 'blobs/sha256'))) {
      const file = join(image, 'blobs/sha256', name);
      const whole = await readFile(file);
      await writeFile(file, Buffer.concat([whole.subarray(0, -1), Buffer.from([(whole.at(-1) ?? 0) ^ 1])]));
      await expect(unpacked(image)).rejects.toThrow(/image test: .*; expected/);
      await writeFile(file, whole);
    }
    await unpacked(image);
    const roots = new RootFileSystems(place());
    for (const [name, problem] of [
      [place(), /it does not exist; expected the path of an OCI image layout/],
      ['registry.invalid/nothing:here', /docker pull it first/],
      ['-v', /it does not exist/],
      [top, /neither index\.json nor manifest\.json/],
    ] as const)
      await expect(roots.openDirectory({ kind: 'image', image: name, assumedWorkdir: undefined }, undefined, soon())).rejects.toThrow(
        problem,
      );
  });
});

describe('the workdir of an image', () => {
  it('is given with copies of what its links name inside of the image', async () => {
    const link = (path: string, to: string): TarEntry => ({ path, type: 'SymbolicLink', to });
    const root = await unpacked(
      await layout([
        { path: 'etc/hostname', content: 'of the image' },
        { path: 'srv/data/table', content: 'table', mode: 0o755 },
        { path: 'code/own/a.py', content: 'a' },
        link('code/absolute', '/etc/hostname'),
        link('code/climbing', '../../../../../etc/hostname'),
        link('code/data', '../srv/data'),
        link('code/package', 'own'),
        link('code/through', 'data/../hostname'),
        link('srv/hostname', '../code/absolute'),
        link('work', 'code'),
      ]),
    );
    const files = Object.fromEntries(
      (await listFilesBelow(root, '/work')).map((file) => [file.path, `${file.content.toString()}${file.executable ? '*' : ''}`]),
    );
    expect(files).toEqual({
      '/work/absolute': 'of the image',
      '/work/climbing': 'of the image',
      '/work/data/table': 'table*',
      '/work/own/a.py': 'a',
      '/work/package/a.py': 'a',
      '/work/through': 'of the image',
    });
    expect(await listFilesBelow(root, '/nowhere')).toEqual([]);
  });

  it.each<readonly [string, (workdir: string) => Promise<void>, RegExp]>([
    [
      'a link that names a file of the host alone',
      (at) => symlink(import.meta.filename, join(at, 'x')),
      /\/code\/x .* is a link to nothing in the image/,
    ],
    ['a link that names itself', (at) => symlink('x', join(at, 'x')), /\/code\/x .* is a link to nothing in the image/],
    ['a link behind a file', (at) => symlink('/file/x', join(at, 'x')), /\/code\/x .* is a link to nothing in the image/],
    ['a link to a directory around it', (at) => symlink('..', join(at, 'x')), /\/code\/x\/code .* a directory that contains it/],
    [
      'directories that would be very many as copies',
      async (at) => {
        for (let level = 0; level < 15; level += 1) {
          await mkdir(join(at, '..', `d${level}`));
          for (const name of ['a', 'b']) await symlink(level === 0 ? '/empty' : `/d${level - 1}`, join(at, '..', `d${level}`, name));
        }
        await symlink('/d14', join(at, 'x'));
      },
      /\/code\/x\/.* is more than a workdir may have; expected up to 10000 files in as many directories/,
    ],
    [
      'too many bytes',
      async (at) => {
        await writeFile(join(at, 'x'), '');
        await truncate(join(at, 'x'), 256 * 2 ** 20 + 1);
      },
      /\/code\/x of the image is more than a workdir may have; expected .* 268435456 bytes[^,]*, .*; remove it in a Dockerfile/,
    ],
  ])('is refused with %s', async (_, make, message) => {
    const root = place();
    for (const directory of ['code', 'empty']) await mkdir(join(root, directory), { recursive: true });
    await writeFile(join(root, 'file'), '');
    await make(join(root, 'code'));
    await expect(listFilesBelow(root, '/code')).rejects.toThrow(message);
  });
});
