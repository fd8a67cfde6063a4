// Package tutorials runs every page below tutorials/ through the built binary, as an ordinary user on a clean host would:
// in a separate home, as an unprivileged user if the tests run as root. A page fails with its line if the output differs,
// something is left running, or it takes a reader too long.
//
// With -short it runs two representative pages, and builds nothing.
//
// With -update the outputs are rewritten, except for patterns that still match; read the diff. The binary is
// bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN.
//
// It has only tests. Floor 5.
package tutorials
