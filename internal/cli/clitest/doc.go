// Package clitest is what the tests of commands share: sandboxes made of data that answer on a real unix socket, and
// golden files. `go test ./internal/cli/... -update` rewrites the golden files; review the diff.
//
// Only tests import it. A test package of internal/cli that uses nothing else of it imports it for the -update flag.
package clitest
