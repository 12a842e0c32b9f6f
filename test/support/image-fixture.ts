import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { Header } from 'tar';

const run = promisify(execFile);

/** An entry of a tar archive, as hostile as it is written. */
export interface TarEntry {
  readonly path: string;
  readonly type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'FIFO';
  readonly content?: Buffer | string;
  readonly to?: string;
  readonly mode?: number;
  /** What the header claims, where that is not the content's. */
  readonly size?: number;
}

export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, type = 'File', content = '', to = '', mode = 0o644, size }) => {
    const bytes = Buffer.from(content);
    const header = new Header({ path, type, linkpath: to, mode, size: size ?? bytes.length, uid: 0, gid: 0, mtime: new Date(0) });
    const block = Buffer.alloc(512);
    header.encode(block);
    return [block, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** Writes an OCI image layout with these layers, by gzip, zstd and uncompressed in turns. @param settings of its programs, as `config` has them. */
export async function writeOciLayout(directory: string, layers: readonly Buffer[], settings: object = {}): Promise<void> {
  await mkdir(join(directory, 'blobs/sha256'), { recursive: true });
  const blob = async (content: Buffer | string, mediaType: string): Promise<object> => {
    const bytes = Buffer.from(content);
    await writeFile(join(directory, 'blobs/sha256', hexOf(bytes)), bytes);
    return { mediaType, digest: `sha256:${hexOf(bytes)}`, size: bytes.length };
  };
  const compressed = layers.map((layer, at) => (at % 3 === 0 ? gzipSync(layer) : at % 3 === 1 ? zstdCompressSync(layer) : layer));
  const config = {
    architecture: 'amd64',
    os: 'linux',
    config: settings,
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${hexOf(layer)}`) },
  };
  const manifest = {
    schemaVersion: 2,
    config: await blob(JSON.stringify(config), 'application/vnd.oci.image.config.v1+json'),
    layers: await Promise.all(compressed.map((each) => blob(each, 'application/vnd.oci.image.layer.v1.tar'))),
  };
  const named = await blob(JSON.stringify(manifest), 'application/vnd.oci.image.manifest.v1+json');
  const platform = { os: 'linux', architecture: process.arch === 'arm64' ? 'arm64' : 'amd64' };
  const other = { ...named, platform: { os: 'linux', architecture: 's390x' } };
  await writeFile(join(directory, 'oci-layout'), '{"imageLayoutVersion": "1.0.0"}');
  await writeFile(join(directory, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [other, { ...named, platform }] }));
}

/** A root file system without Python: a static busybox, and a program that is linked with musl, another C library than the host's. */
export async function busyboxLayer(): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'muster-musl-'));
  try {
    const source = join(directory, 'double.c');
    await writeFile(
      source,
      '#include <stdio.h>\nint main(void) { int n; if (scanf("%d", &n) != 1) return 1; printf("%d\\n", 2 * n); return 0; }\n',
    );
    await run('musl-gcc', ['-o', join(directory, 'double'), source]);
    const applets = ['sh', 'cat', 'ls', 'id', 'grep', 'sleep', 'sort'];
    return tarOf([
      { path: 'bin/', type: 'Directory' },
      { path: 'bin/busybox', content: await readFile('/bin/busybox'), mode: 0o700 },
      ...applets.map((name) => ({ path: `bin/${name}`, type: 'Link' as const, to: 'bin/busybox' })),
      { path: 'lib/', type: 'Directory' },
      { path: 'lib/ld-musl-x86_64.so.1', content: await readFile('/usr/lib/x86_64-linux-musl/libc.so'), mode: 0o755 },
      { path: 'usr/bin/double', content: await readFile(join(directory, 'double')), mode: 0o755 },
      { path: 'etc/os-release', content: 'ID=muster-test\n', mode: 0o600 },
    ]);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function hexOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
