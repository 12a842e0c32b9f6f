import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import nock from 'nock';
import { expect, it, vi } from 'vitest';
import { ensureImage } from '../../../../src/adapters/sandbox/docker/images.ts';
import { DockerPart } from '../../../../src/adapters/sandbox/docker/settings.ts';
import { nameSkeleton } from '../../../../src/adapters/sandbox/docker/skeleton.ts';
import { sweepSkeletons } from '../../../../src/adapters/sandbox/docker/sweep.ts';
import { systemClock } from '../../../../src/kernel/clock.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { DockerDaemon, EMPTY_IMAGE, daemonUnavailable } from '../../../support/docker/docker-daemon.ts';

nock.restore();
vi.setConfig({ testTimeout: 120_000 });

const unavailable = await daemonUnavailable();

it.runIf(unavailable === undefined)(
  'an image that the daemon does not have comes from its archive, or is refused with the remedy',
  async () => {
    await using daemon = await DockerDaemon.start();
    const { client, socket } = daemon;
    const removeImage = async (): Promise<string> => text(await daemon.request({ method: 'DELETE', path: `/images/${EMPTY_IMAGE}` }));
    const archive = path.join(daemon.directory, 'saved.tar');
    await pipeline(await daemon.request({ method: 'GET', path: `/images/${EMPTY_IMAGE}/get` }), createWriteStream(archive));
    await removeImage();
    const part = (image: string, from?: string): DockerPart => new DockerPart({ socket, pull: 'never', archive: from }, image);

    await expect(ensureImage(client, part(EMPTY_IMAGE))).rejects.toThrow(/does not have it, and docker\.pull is never; pull or build it/);
    await expect(ensureImage(client, part('muster-test:other', archive))).rejects.toThrow('saved.tar does not hold it');
    await removeImage();
    await expect(ensureImage(client, part(EMPTY_IMAGE, `${archive}.gone`))).rejects.toThrow(/saved\.tar\.gone cannot be loaded: ENOENT/);
    await ensureImage(client, part(EMPTY_IMAGE, archive));
    expect(await client.hasImage(EMPTY_IMAGE)).toBe(true);

    // Images for workspaces are removed when they are old and no container uses them.
    const skeletons = ['used', 'unused'].map((name) => {
      const each = { links: {}, files: { '/etc/name': name } };
      return { each, image: nameSkeleton(each) };
    });
    for (const { each, image } of skeletons) await ensureImage(client, new DockerPart({ socket, pull: 'never' }, image, each));
    const has = async (): Promise<readonly boolean[]> => Promise.all(skeletons.map(({ image }) => client.hasImage(image)));
    const container = await client.create('holds-it', { Image: skeletons[0]?.image, Cmd: ['/none'] });
    const at = (hours: number): Date => new Date(systemClock.date().getTime() + hours * 3_600_000);
    await sweepSkeletons(client, at(23), NEVER);
    expect(await has()).toEqual([true, true]);
    await sweepSkeletons(client, at(25), NEVER);
    expect(await has()).toEqual([true, false]);
    await client.remove(container);
    await sweepSkeletons(client, at(25), NEVER);
    expect(await has()).toEqual([false, false]);
    expect(await client.hasImage(EMPTY_IMAGE)).toBe(true);
  },
);
