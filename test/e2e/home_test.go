package e2e

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// home is where sandboxes of a test live. When the test ends, nothing may be left in it and no process that belongs to it.
type home struct{ *program.Home }

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{program.NewHome(t, program.Options{Binary: binary, As: as, Patience: 5 * time.Minute})}
	t.Cleanup(func() { h.End(h.State, h.Tmp) })
	return h
}

// nothingLeft fails the test if a process or file of its sandboxes is left.
func (h *home) nothingLeft() {
	h.T.Helper()
	h.NothingLeft(h.State, h.Tmp)
}

var lastPort atomic.Int32

// ownPort returns arguments of "up" for a sandbox that is stopped and started again: its vCenters have a port that no other test's
// have. A stopped sandbox keeps its addresses from others of the same state directory only, and each test has its own.
func ownPort() []string {
	const defaultPort = 8989
	return []string{"--vcenter-port", strconv.Itoa(defaultPort + int(lastPort.Add(1)))}
}
