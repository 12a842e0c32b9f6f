import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { V1EnvVar } from '@kubernetes/client-node';
import { PROTOCOL } from '../../../src/adapters/sandbox/kubernetes/dial-back/messages.ts';
import type { PodHold } from '../../../src/adapters/sandbox/kubernetes/exec/pod-line.ts';

/** What a container reads from its environment in order to dial. */
export interface Invitation {
  readonly url: string;
  readonly token: string;
}

export function invitationOf(hold: PodHold, container: string): Invitation {
  const { env } = hold.container(container);
  const value = (name: string): string => env.find((variable: V1EnvVar) => variable.name === name)?.value ?? '';
  return { url: value('MUSTER_DIAL_URL'), token: value('MUSTER_DIAL_TOKEN') };
}

/** A dialler that does what a test says, honest or not. */
export class ScriptedDialler {
  readonly socket: WebSocket;
  readonly received: Buffer[] = [];
  readonly closed: Promise<void>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => void this.received.push(data));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.once('close', () => resolve());
  }

  /** @throws Error with the status when it is refused. */
  static async dial(
    { url, token }: Invitation,
    options: { readonly protocol?: string; readonly autoPong?: boolean } = {},
  ): Promise<ScriptedDialler> {
    const { protocol = PROTOCOL, autoPong = true } = options;
    const socket = new WebSocket(url, [protocol], { headers: { authorization: `Bearer ${token}` }, autoPong });
    const dialler = new ScriptedDialler(socket);
    await once(socket, 'open');
    return dialler;
  }

  send(...bytes: readonly number[]): void {
    this.socket.send(Buffer.from(bytes));
  }

  /** The bytes that it was sent on a stream. */
  streamed(stream: number): number {
    return this.received.filter((message) => message[0] === stream).reduce((sum, { length }) => sum + length - 1, 0);
  }
}
