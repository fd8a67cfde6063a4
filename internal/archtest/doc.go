// Package archtest states which package may import which, with the reason, and fails `go test` on other imports.
//
// The rules are data: the floors (floors_test.go), outside modules that stay in one place (confined_test.go), what may not even be
// linked indirectly (linked_test.go), packages that only some may use (reserved_test.go), and names (names_test.go). To change the
// architecture, change a table here, in the same commit and with a reason that a reader can weigh. This is the only statement
// of these rules: .golangci.yml has none of them.
//
// Files are only parsed, with any build constraints: the test takes a fraction of a second and sees the files of
// every platform.
//
// Floor 0: it imports nothing of this module.
package archtest
