package e2e

import (
	"testing"
	"time"
)

// A VM is powered off by keys; the screen shows what becomes of its node; it is healed by keys, and well again.
func TestTUI(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("screen", "zones-us-eu")
	term := h.openTerminal(140, 42, "--name", "screen", "tui")
	const node = "worker-west-1"

	term.await("the overview", 20*time.Second, func(screen string) bool {
		return shows("screen", "zones-us-eu", "ready", "6/6")(screen) && shows(node, "Ready")(screen)
	})
	term.typed(":")
	term.typed("fault inject vm.power-off " + node)
	term.press("Enter")
	term.await("the VM is off", 20*time.Second, shows(node, "off"))
	term.await("the node is not ready, and tainted as shut down", time.Minute, func(screen string) bool {
		return shows(node, "Unknown", "shutdown")(screen) && shows("5/6")(screen)
	})
	term.typed("4")
	term.await("the lease", 10*time.Second, shows("vm.power-off", node, "active"))
	term.typed("2")
	term.await("the timeline", 10*time.Second, shows("node.tainted", node))
	term.typed("4")
	term.await("the faults", 10*time.Second, shows("vm.power-off", "active"))
	term.typed("x")
	term.typed("1")
	term.await("the node is ready", time.Minute, func(screen string) bool {
		return shows(node, "on", "Ready")(screen) && shows("6/6")(screen) && !shows(node, "shutdown")(screen) && !shows(node, "unreachable")(screen)
	})
	term.typed("q")
	term.await("the end", 10*time.Second, shows("exit status 0"))
	s.Await("the node is well without the UI, too", 10*time.Second, func() bool { return well(s.Node(node)) })
}

// A UI that owns its sandbox shows the boot, asks when it is left, and leaves nothing.
func TestUpTUI(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	term := h.openTerminal(100, 30, "--name", "owned", "up", "single", "--tui", "--csi", "off")
	term.await("ready", time.Minute, func(screen string) bool {
		return shows("owned", "single", "ready")(screen) && shows("worker-1", "Ready")(screen)
	})
	term.typed("q")
	term.await("the question", 10*time.Second, shows("stops the sandbox"))
	term.typed("n")
	term.await("no answer, no end", 10*time.Second, func(screen string) bool { return !shows("stops the sandbox")(screen) })
	term.typed("q")
	term.await("the question", 10*time.Second, shows("stops the sandbox"))
	term.typed("l")
	term.await("it goes on, without the UI", 10*time.Second, shows("Ctrl-C stops it."))
	if nodes := h.attach("owned").Status().Nodes; nodes.Ready == 0 {
		t.Errorf("nodes: %+v", nodes)
	}
	term.press("C-c")
	term.await("the end", 20*time.Second, shows("exit status 0"))
}

// Ctrl-C twice ends both at once, also while it boots.
func TestUpTUIInterrupted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	term := h.openTerminal(80, 24, "--name", "forced", "up", "single", "--tui", "--csi", "off")
	term.await("the boot", 20*time.Second, shows("forced"))
	term.press("C-c")
	term.await("the question", 10*time.Second, shows("stops the sandbox"))
	term.press("C-c")
	term.await("the end", 30*time.Second, shows("exit status"))
}
