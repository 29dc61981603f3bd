// Command pack makes those packages of the SDKs that the tools of the languages
// do not make, or not reproducibly; scripts/build-sdks.sh runs it:
//
//	pack module DIR VERSION OUT   the module in DIR as a GOPROXY serves it
//	pack index CRATE OUT          the line of a crate in a Cargo registry, given cargo metadata on standard input
//	pack python DIR OUT           the wheel and the sdist of the project in DIR
//
// It owns the formats of these files and leaves building to npm and Cargo.
package main
