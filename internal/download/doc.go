// Package download serves the program arena and the script that installs it, so
// that authors of agents need nothing but a running arena.
//
// It owns /install.sh and the paths below /download/. The program of the arena's
// own platform is the one that runs; a folder of the host may have others. The
// packages of the SDKs are served by package sdk.
package download
