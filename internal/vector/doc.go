// Package vector loads the recorded upstream scenarios of testdata/vectors and replays them against an implementation that is
// reached through plain HTTP, comparing status, headers and body byte for byte.
//
// The README beside the recordings says what each step means. A provider request is sent as recorded; every other step, the
// executor's and the clock's, is a call of the control plane. The runner needs nothing else of the implementation, so the same
// scenarios judge it in process and over a socket, with any store.
package vector
