package parity

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

const (
	// reaction is how long a node may take to show what became of its VM. Upstream looks every 5 s.
	reaction = 30 * time.Second
)

// run runs one side in a separate lab. Nodes in the result are by name.
func run(t *testing.T, sc scenario, s side) *figures {
	l := lab.Start(t, lab.Options{Topology: sc.topology, Settings: sc.settings})
	machines := l.Machines()
	l.Kubelets.Register(machines...)
	if sc.latency > 0 {
		for _, v := range l.VCenters() {
			if err := v.Gate().Set(t.Context(), gate.Mode{State: gate.Slow, Delay: sc.latency}); err != nil {
				t.Fatal(err)
			}
		}
	}
	conf, err := l.CloudConfig(sim.CloudConfig{CAFile: l.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	text := string(conf)
	if sc.config != nil {
		text = sc.config(text)
	}
	f := &figures{nodes: len(machines)}
	mark, began := l.Mark(), time.Now()
	ccm := l.StartCCM(lab.CCMOptions{
		Path: s.path, Args: s.args, Config: text,
		// Credentials in the file: the roles of our manifest do not let upstream follow Secrets of the whole cluster.
		Inline: true, Admin: s.path != "",
		Env: []string{"ENABLE_ALPHA_DUAL_STACK=true"},
	})
	// Upstream takes a quarter of an hour for a thousand nodes at 20 ms a call.
	l.Await(s.name+": every node is initialized", 40*time.Second+time.Duration(len(machines))*2*time.Second, complete(l))
	f.initialize = time.Since(began)
	f.initCalls = count(mark)
	if f.memory, err = memory(ccm.PID()); err != nil {
		t.Fatal(err)
	}
	f.before = l.Nodes.Now().Snapshots()
	if sc.steady > 0 {
		mark, f.steady = l.Mark(), sc.steady
		// The time itself is what is measured: calls that are made while nothing happens.
		select {
		case <-time.After(sc.steady):
		case <-t.Context().Done():
		}
		f.steadyCalls = count(mark)
	}
	if sc.breakVMs {
		off, gone := machines[0], machines[1]
		f.shutdown = react(t, l, off.PowerOff, off.Name, lab.Tainted(lab.ShutdownTaint))
		f.deleted = react(t, l, gone.Destroy, gone.Name, lab.Deleted)
	}
	f.after = l.Nodes.Now().Snapshots()
	for _, exit := range ccm.Exits() {
		t.Errorf("%s ended by itself: %s", s.name, exit)
	}
	return f
}

// count sums the calls since a mark by method.
func count(m lab.Mark) calls {
	all := calls{}
	for _, c := range m.Calls(nil) {
		all[c.Method] += int(c.Calls)
	}
	return all
}

// complete complains until every node is initialized and has its addresses, which the node controller writes after that.
func complete(l *lab.Lab) func(lab.NodeSet) string {
	return func(nodes lab.NodeSet) string {
		if complaint := l.Initialized(nodes); complaint != "" {
			return complaint
		}
		for _, name := range l.Kubelets.Registered() {
			if len(nodes[name].Status.Addresses) == 0 {
				return "node " + name + " has no addresses"
			}
		}
		return ""
	}
}
