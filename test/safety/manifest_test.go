package safety

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// TestManifest: with the flags and the roles of the manifest, leader election among them, a CCM does all that it is there
// for, and is refused nothing.
func TestManifest(t *testing.T) {
	w := newWorld(t, 1, lab.CCMOptions{Args: []string{
		"--leader-elect=true", "--leader-elect-resource-namespace=kube-system", "--health-address=127.0.0.1:0",
	}})
	w.afflict(t, 0)
	w.Await("everything happens that should", time.Minute, func(nodes lab.NodeSet) string {
		for _, v := range []string{broken, sound} {
			if name := w.node(v, gone, 0).Name; nodes[name] != nil {
				return name + " is still there"
			}
			if complaint := nodes.Lacks(w.node(v, off, 0).Name, lab.ShutdownTaint); complaint != "" {
				return complaint
			}
		}
		return w.initialized(nodes)
	})
	w.after(t, 1)
}

// initialized is [lab.Lab.Initialized] without the nodes that are gone.
func (w *world) initialized(nodes lab.NodeSet) string {
	for _, v := range []string{broken, sound} {
		name := w.node(v, joining, 0).Name
		if complaint := nodes.Has(name, lab.UninitializedTaint); complaint != "" {
			return complaint
		}
	}
	return ""
}
