# The server, for a cluster whose pods are its sandboxes: it needs neither bubblewrap nor Python. "npm run images" builds it from a context
# that it has prepared: the program and the packages that it imports.
ARG BASE=node:24-bookworm-slim
FROM ${BASE}
WORKDIR /opt/muster
COPY . .
ENV NODE_ENV=production MUSTER_STATE_DIR=/var/lib/muster NODE_COMPILE_CACHE=/opt/muster/.compiled
# This first start compiles the program, so that later starts need not.
RUN install -d -o 1000 -g 1000 /var/lib/muster && node src/cli/muster.ts serve --help > /dev/null
USER 1000:1000
EXPOSE 7677
# The launcher "muster" uses the Node of the development tools. This image has only one Node.
ENTRYPOINT ["node", "--max-semi-space-size=16", "src/cli/muster.ts"]
CMD ["serve"]
