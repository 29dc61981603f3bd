// Package sdk embeds the packages of the SDKs and serves them, so that agent
// authors can install them from a running arena.
//
// It owns what scripts/build-sdks.sh puts into dist/, which is never committed:
// an npm tarball, a wheel and an sdist, a crate with its index for Cargo, and a
// Go module for GOPROXY. The SDKs themselves are in the folders beside it and
// import nothing of this module.
package sdk
