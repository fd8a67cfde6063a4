// Package tutorials runs every page below tutorials/ through the built binary, as an ordinary user on a clean machine
// would: in a home of its own, as nobody when the tests run as root. A page that prints something else than it says, leaves
// something running, or takes a reader too long fails, with the line of the page.
//
// With -short it runs the two pages that stand for all, and builds nothing.
//
// With -update the outputs are written anew, and patterns that still fit are kept; read the diff. The binary is
// bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN.
//
// It has only tests. Floor 5.
package tutorials
