package safety

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// The vCenters: faults happen to one of them.
const (
	broken = "us"
	sound  = "eu"
)

// state is what is the matter with a node while its vCenter, or the other one, is broken.
type state string

const (
	healthy  state = "healthy"   // nothing
	notReady state = "not ready" // the kubelet hangs; the VM is on
	off      state = "VM off"    // powered off during the fault
	gone     state = "VM gone"   // destroyed during the fault
	joining  state = "joins"     // registered during the fault
)

func states() []state { return []state{healthy, notReady, off, gone, joining} }

// key is the state in names of VMs.
func (s state) key() string { return strings.NewReplacer(" ", "", "VM", "vm").Replace(string(s)) }

// world is one lab for all rows, with separate nodes for each.
type world struct {
	*lab.Lab
	ccm *lab.CCM
}

// period is that of the node lifecycle controller.
const period = 500 * time.Millisecond

// newWorld has a node in each state at each vCenter for so many rows, and all but those that will join are initialized.
func newWorld(t *testing.T, rows int, o lab.CCMOptions) *world {
	t.Helper()
	w := &world{Lab: lab.Start(t, lab.Options{Topology: topologyText(rows), Audit: true})}
	w.Kubelets.Register(slices.DeleteFunc(w.Machines(), func(m *lab.Machine) bool { return strings.Contains(m.Name, joining.key()) })...)
	o.Args = append([]string{"--node-monitor-period=" + period.String(), "--node-status-update-frequency=2s"}, o.Args...)
	if o.Path == "" {
		o.Args = append([]string{"--vcenter-call-timeout=2s", "--vcenter-max-wait=2s", "--tag-refresh-period=1s"}, o.Args...)
	}
	w.ccm = w.StartCCM(o)
	w.Await("every node is initialized", time.Minute, w.Initialized)
	return w
}

// node is the machine in that state at that vCenter in that row.
func (w *world) node(vcenter string, s state, row int) *lab.Machine {
	return w.Machine(fmt.Sprintf("%s-%s-%d", vcenter, s.key(), row+1))
}

func (w *world) at(vcenter string) *sim.VCenter {
	v, _ := w.VCenter(vcenter)
	return v
}

// topologyText is two vCenters with two zones each.
func topologyText(rows int) string {
	var b strings.Builder
	b.WriteString("apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: safety}\nspec:\n  vcenters:\n")
	for _, v := range []string{broken, sound} {
		// A second datacenter, with nothing in it, stays in sight when the first one does not.
		fmt.Fprintf(&b, `  - name: %[1]s
    datacenters:
    - name: spare-%[1]s
      hosts: [{name: spare-%[1]s-1}]
    - name: dc-%[1]s
      region: region-%[1]s
      clusters:
      - {name: %[1]s-a, zone: %[1]s-a, hosts: [{name: "%[1]s-a-{n}", replicas: 2}]}
      - {name: %[1]s-b, zone: %[1]s-b, hosts: [{name: "%[1]s-b-{n}", replicas: 2}]}
      vms:
`, v)
		for _, s := range states() {
			fmt.Fprintf(&b, "      - {name: \"%s-%s-{n}\", replicas: %d, spread: clusters, role: worker}\n", v, s.key(), rows)
		}
	}
	return b.String()
}
