# syntax=docker/dockerfile:1
# The image holds arena, arena-bench, the certificate authorities and nothing
# else: no shell, no package manager, no root.
#
#   docker build --tag arena .
#   docker run --publish 8080:8080 --volume arena:/data arena

FROM --platform=$BUILDPLATFORM node:20-bookworm-slim AS ui
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY web/ ./
RUN npm run build

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS go

FROM --platform=$BUILDPLATFORM rust:1-slim-bookworm AS sdks
COPY --from=ui /usr/local /usr/local
COPY --from=go /usr/local/go /usr/local/go
ENV PATH=/usr/local/go/bin:$PATH
WORKDIR /src
COPY go.mod go.sum LICENSE ./
COPY scripts/build-sdks.sh scripts/
COPY sdk/ sdk/
RUN --mount=type=cache,target=/root/.npm ARENA_TEST_REQUIRE=sdk scripts/build-sdks.sh sdk/dist

FROM go AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY sdk/go/go.mod sdk/go/
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
COPY --from=ui /src/web/dist ./web/dist
COPY --from=sdks /src/sdk/dist ./sdk/dist
ARG TARGETOS TARGETARCH VERSION=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags nomsgpack -trimpath \
    -ldflags "-s -w -X main.version=$VERSION" -o /image/ ./cmd/arena ./cmd/arena-bench
# SQLite sorts large results in files under /tmp.
RUN mkdir -p /image/data /image/tmp /image/etc/ssl/certs \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
    && chown 65532:65532 /image/data \
    && chmod 700 /image/data \
    && chmod 1777 /image/tmp

FROM scratch
ARG VERSION= REVISION=
LABEL org.opencontainers.image.title="Agora Arena" \
      org.opencontainers.image.description="A live arena for AI agents: matches, spectators, ratings" \
      org.opencontainers.image.source="https://github.com/agora-arena/arena" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /image/ /
ENV ARENA_DATABASE_URL=sqlite:/data/arena.db
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
# Whether it should get requests (/readyz). Whoever sets ARENA_ADDR by a flag of
# serve sets the variable too.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --start-interval=1s --retries=3 CMD ["/arena", "healthcheck"]
ENTRYPOINT ["/arena"]
CMD ["serve"]
