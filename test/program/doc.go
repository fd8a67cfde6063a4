// Package program runs vsphere-sandbox as a user does, for end-to-end tests: in a separate home, command by command, and
// inspects its sandboxes through their API.
//
//	h := program.NewHome(t, program.Options{Binary: binary})
//	t.Cleanup(func() { h.End(h.State, h.Tmp) })
//	h.Must("--name", "a", "up", "--detach")
//	s := h.Attach("a")
//	s.Await("the node is tainted", time.Minute, func() bool { return len(s.Node("worker-1").Taints) > 0 })
//
// The program is the one that is built: $VSPHERE_SANDBOX_BIN, or bin/vsphere-sandbox ("make build").
//
// Floor 5: for the tests beside it.
package program
