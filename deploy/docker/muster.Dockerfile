# The server, for a cluster whose pods are its sandboxes: it needs no bubblewrap and no Python.
# "npm run images" builds it, of what it has put into the context: the program and the packages that it imports.
ARG BASE=node:24-bookworm-slim
FROM ${BASE}
WORKDIR /opt/muster
COPY . .
ENV NODE_ENV=production MUSTER_STATE_DIR=/var/lib/muster NODE_COMPILE_CACHE=/opt/muster/.compiled
# The first start compiles what all later ones find.
RUN install -d -o 1000 -g 1000 /var/lib/muster && node src/cli/muster.ts serve --help > /dev/null
USER 1000:1000
EXPOSE 7677
# "muster" takes the Node of the development tools; here there is one only.
ENTRYPOINT ["node", "--max-semi-space-size=16", "src/cli/muster.ts"]
CMD ["serve"]
