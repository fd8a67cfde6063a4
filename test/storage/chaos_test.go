package storage

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// chaos does harm at random moments.
type chaos struct {
	*world
	random *rand.Rand
}

// harm is one kind of it. It is over when it returns.
type harm struct {
	name string
	do   func()
}

func (w *world) chaos(random *rand.Rand) *chaos { return &chaos{world: w, random: random} }

// during runs the harms in a random order at random times while f runs, and closes over after the last. When it returns
// everything runs, or is being restarted.
func (c *chaos) during(harms []harm, f func(over <-chan struct{})) {
	c.random.Shuffle(len(harms), func(i, j int) { harms[i], harms[j] = harms[j], harms[i] })
	over := make(chan struct{})
	var pauses []time.Duration // drawn here: a source of randomness is one goroutine's
	for range harms {
		pauses = append(pauses, c.between(50*time.Millisecond, 1500*time.Millisecond))
	}
	go func() {
		defer close(over)
		for i, h := range harms {
			select {
			case <-time.After(pauses[i]): // a random moment is the point
			case <-c.Context().Done():
				return
			}
			c.Logf("%s  %s", time.Now().Format("04:05.000"), h.name)
			h.do()
		}
	}()
	defer func() { <-over }()
	f(over)
}

func (c *chaos) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.random.Int64N(int64(most-least)))
}

// harms is everything that can go wrong, each once. Whom it strikes is chosen now.
func (c *chaos) harms() []harm {
	var all []harm
	for _, name := range []string{
		"csi-controller", "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller", "control-plane",
		"node/" + c.worker().Name,
	} {
		all = append(all, harm{"kill " + name, func() { c.kill(name) }})
	}
	n, vcenter := c.worker(), []string{"us", "eu"}[c.random.IntN(2)]
	off, down := c.between(100*time.Millisecond, 8*time.Second), c.between(500*time.Millisecond, 3*time.Second)
	return append(all,
		harm{"power-cycle VM " + n.VM, func() { c.powerCycle(n, off) }},
		harm{"vCenter " + vcenter + " is out of reach", func() { c.outage(vcenter, down) }},
	)
}

// kill ends the process of a component, if there is one at the moment.
func (c *chaos) kill(component string) {
	st, err := c.sandbox.Status(c.Context())
	if err != nil {
		c.Errorf("status: %v", err)
		return
	}
	for _, part := range st.Components {
		if part.Name == component && part.PID > 0 {
			_ = syscall.Kill(part.PID, syscall.SIGKILL)
		}
	}
}

// worker is any worker.
func (c *chaos) worker() api.Node {
	nodes, err := c.sandbox.Nodes(c.Context())
	if err != nil {
		c.Errorf("nodes: %v", err)
	}
	var workers []api.Node
	for _, n := range nodes {
		if strings.HasPrefix(n.Name, "worker") {
			workers = append(workers, n)
		}
	}
	if len(workers) == 0 {
		return api.Node{}
	}
	return workers[c.random.IntN(len(workers))]
}

func (c *chaos) powerCycle(n api.Node, off time.Duration) {
	ctx := context.WithoutCancel(c.Context())
	for _, action := range []api.VMAction{api.PowerOff, api.PowerOn} {
		if _, err := c.sandbox.VM(ctx, api.VMRequest{Action: action, VCenter: n.VCenter, VM: n.VM}); err != nil {
			c.Errorf("%s %s: %v", action, n.VM, err)
		}
		if action == api.PowerOff {
			time.Sleep(off) // a random moment is the point
		}
	}
}

func (c *chaos) outage(vcenter string, down time.Duration) {
	ctx := context.WithoutCancel(c.Context())
	for _, mode := range []string{"down", "up"} {
		if _, err := c.sandbox.Gate(ctx, api.GateRequest{VCenter: vcenter, Mode: mode}); err != nil {
			c.Errorf("gate of %s %s: %v", vcenter, mode, err)
		}
		if mode == "down" {
			time.Sleep(down) // a random moment is the point
		}
	}
}
