import type { IncomingMessage } from 'node:http';
import type { KubeConfig } from '@kubernetes/client-node';
import { text } from 'node:stream/consumers';
import { WebSocket, type ClientOptions } from 'ws';
import { createAbortError } from '../../../../kernel/abort.ts';
import { InfrastructureError, InputError, getMessage, type MusterError } from '../../../../kernel/errors.ts';
import { readStatusText } from '../cluster/api-errors.ts';

/** The only version in which one stream can be ended by itself. API servers support it from 1.30 on. */
const PROTOCOL = 'v5.channel.k8s.io';
const HANDSHAKE_MS = 30_000;
/** Kubernetes sends 32 KiB at most. */
const MESSAGE_MAX_BYTES = 4 * 2 ** 20;

export interface ExecCommand {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** When it is undefined, the stream is attached to the container's first process. */
  readonly command: readonly string[] | undefined;
}

/**
 * Connects to a command in a container; the socket is paused. The client's own `Exec` is not used: it neither stops reading nor writing when the
 * other side is slow, and reports no lost connection.
 *
 * @throws InfrastructureError `kubernetes.exec` when the server refuses or cannot; InputError `kubernetes.forbidden`.
 */
export async function openExecSocket(config: KubeConfig, exec: ExecCommand, signal: AbortSignal): Promise<WebSocket> {
  const server = config.getCurrentCluster()?.server ?? '';
  const options: ClientOptions = {};
  await config.applyToHTTPSOptions(options);
  if (signal.aborted) throw createAbortError(signal);
  const url = `${server.replace(/^http/, 'ws').replace(/\/$/, '')}${buildExecPath(exec)}`;
  const limits = { handshakeTimeout: HANDSHAKE_MS, maxPayload: MESSAGE_MAX_BYTES, perMessageDeflate: false };
  const socket = new WebSocket(url, [PROTOCOL], { ...options, ...limits });
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  const onAbort = (): void => reject(createAbortError(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('open', () => {
    // Bytes that came with the answer wait for a listener.
    socket.pause();
    resolve(socket);
  });
  socket.on('error', (error) => reject(createExecError(exec, getMessage(error))));
  socket.once('unexpected-response', (_request, response) => void createRefusalError(exec, response).then(reject, reject));
  try {
    return await promise;
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function buildExecPath({ namespace, pod, container, command }: ExecCommand): string {
  const query = new URLSearchParams({ stdin: 'true', stdout: 'true', stderr: 'true', tty: 'false', container });
  for (const word of command ?? []) query.append('command', word);
  return `/api/v1/namespaces/${namespace}/pods/${pod}/${command ? 'exec' : 'attach'}?${query.toString()}`;
}

async function createRefusalError(exec: ExecCommand, response: IncomingMessage): Promise<MusterError> {
  const said = readStatusText(await text(response));
  if (response.statusCode === 403) {
    const remedy = 'give Muster the Role of deploy/kubernetes/rbac.yaml: it needs "create" and "get" on pods/exec and pods/attach';
    return new InputError('kubernetes.forbidden', `Kubernetes did not exec in the pod ${exec.pod}: ${said}; ${remedy}`);
  }
  return createExecError(exec, `status ${response.statusCode ?? 0}: ${said}`);
}

function createExecError({ pod, container }: ExecCommand, detail: string): InfrastructureError {
  return new InfrastructureError('kubernetes.exec', `Kubernetes did not exec in the pod ${pod}, container "${container}": ${detail}`);
}
