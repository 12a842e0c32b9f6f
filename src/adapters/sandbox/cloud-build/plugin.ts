import { createProviderPlugin } from '../../../pool/ports/provider-plugin.ts';
import { assertReadable, listDialBackFiles } from '../remote/named-files.ts';
import { createCloudBuildTemplate, createCloudBuildWorkspace } from './cloud-build-template.ts';
import { cloudBuildSchema } from './settings.ts';

export const cloudBuild = createProviderPlugin({
  name: 'cloud-build',
  summary: 'the builds of Google Cloud Build',
  settings: cloudBuildSchema,
  isOwnMachine: false,
  playsApart: false,
  async open(host, own) {
    const { createCloudBuildProvider } = await import('./cloud-build-provider.ts');
    // A template without a project has no builds anywhere, and is refused when it is used.
    const places = own.flatMap(({ endpoint, project, region }) => (project === undefined ? [] : [{ endpoint, project, region }]));
    return createCloudBuildProvider({ ...host, places });
  },
  async template(name, settings, own) {
    const template = createCloudBuildTemplate(name, settings, own);
    await assertReadable(name, listDialBackFiles('cloud-build', own.dialBack));
    return template;
  },
  workspace: async (name, settings, own) => createCloudBuildWorkspace(name, settings, own),
});
