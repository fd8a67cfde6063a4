package kind

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// The first failure ends the wait: a missing image is reported before kubeadm ends.
func TestKindFinished(t *testing.T) {
	broken := errors.New("no image")
	for name, tc := range map[string]struct {
		made, packed []error
		want         error
	}{
		"both":            {[]error{nil}, []error{nil}, nil},
		"not made":        {[]error{broken}, nil, broken},
		"not packed":      {nil, []error{broken}, broken},
		"made, no images": {[]error{nil}, []error{broken}, broken},
		"never":           {nil, nil, context.Canceled},
	} {
		k := &Ground{made: make(chan error, 1), packed: make(chan error, 1), containers: make(chan struct{})}
		for _, err := range tc.made {
			k.made <- err
		}
		for _, err := range tc.packed {
			k.packed <- err
		}
		ctx, cancel := context.WithCancel(t.Context())
		if tc.want == context.Canceled {
			cancel()
		}
		if err := k.finished(ctx); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// A node offers what its VM has.
func TestKindNodes(t *testing.T) {
	g, _ := idle(t)
	vms := g.Topology.Nodes()
	for i, n := range nodesOf(g.Topology) {
		if vm := vms[i].VM; n.UUID != vm.UUID || n.CPUs != int(vm.CPUs) || n.MemoryBytes != uint64(vm.Memory) || n.CPUs == 0 || n.MemoryBytes == 0 {
			t.Errorf("%+v of %+v", n, vm)
		}
	}
}

// Light nodes are no containers; control-plane nodes always are.
func TestLight(t *testing.T) {
	g, _ := idle(t)
	all := len(nodesOf(g.Topology))
	g.Topology.UseLightNodes()
	control, light := 0, 0
	for _, r := range g.Topology.Nodes() {
		if g.Light(r.VM) {
			light++
		} else {
			control++
		}
	}
	if n := len(nodesOf(g.Topology)); n != control || n+light != all || light == 0 {
		t.Errorf("%d containers of %d nodes, %d of the control plane, %d light", n, all, control, light)
	}
}

// Each VM has a unique and stable address, and the addresses of deleted VMs are used again.
func TestFarEnd(t *testing.T) {
	vm := func(n int) vmKey { return vmKey{"vc", ref{Type: "VirtualMachine", Value: strconv.Itoa(n)}} }
	gone := map[vmKey]bool{}
	there := func(k vmKey) bool { return !gone[k] }
	f := farEnd{subnet: netip.MustParsePrefix("172.18.0.0/16")}
	for n, want := range []string{"172.18.255.254", "172.18.255.253", "172.18.255.254"} {
		if got, err := f.of(vm(n%2), there); err != nil || got.String() != want {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
	f = farEnd{subnet: netip.MustParsePrefix("10.9.8.64/28")}
	for n := range 6 {
		if a, err := f.of(vm(n), there); err != nil || a.String() != "10.9.8."+strconv.Itoa(78-n) {
			t.Errorf("%d: %s, %v", n, a, err)
		}
	}
	if a, err := f.of(vm(6), there); err == nil || !strings.Contains(err.Error(), "10.9.8.64/28") {
		t.Errorf("the seventh of six: %s, %v", a, err)
	}
	gone[vm(2)] = true
	if a, err := f.of(vm(6), there); err != nil || a.String() != "10.9.8.76" {
		t.Errorf("in the place of one that is gone: %s, %v", a, err)
	}
}

// A VM without a container is reported once, by a goroutine that the end of the sandbox waits for.
func TestNoContainer(t *testing.T) {
	_, h := idle(t)
	var reported []child.Change
	n := &noContainer{name: "worker-9", host: h, notify: func(c child.Change) { reported = append(reported, c) }}
	for range 2 {
		n.Observe(node.VM{Exists: true, Power: node.On})
	}
	if err := h.Wait(t.Context(), watchGroup); err != nil || len(reported) != 1 || reported[0].Name != "node/worker-9" {
		t.Errorf("%+v, %v", reported, err)
	}
}
