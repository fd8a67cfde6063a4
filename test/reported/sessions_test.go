package reported

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// isLogin picks calls that begin sessions.
func isLogin(c lab.Call) bool {
	return c.Method == "Login" || strings.HasPrefix(c.Method, "POST ") && strings.HasSuffix(c.Method, "session")
}

// startCrowd is about a vCenter that takes its time for each call.
func startCrowd(w *ground) {
	v, _ := w.VCenter("crowd")
	if err := v.Gate().Set(w.t.Context(), gate.Mode{State: gate.Slow, Delay: 50 * time.Millisecond}); err != nil {
		w.t.Fatal(err)
	}
	w.start(lab.CCMOptions{Name: "crowd", Config: w.config(nil, "crowd")})
}

func crowdReports() []report {
	return []report{{
		saw: "fifty nodes that join at once wait for each other", issues: []string{"kubernetes #75285"}, nodes: numbered("crowd", crowd),
		run: func(ctx context.Context, w *ground) error {
			if err := w.up(ctx, numbered("crowd", crowd)...); err != nil {
				return err
			}
			// A call takes 50 ms: who makes some for each node has them wait for each other.
			if n := lab.Total(w.mark.Calls(inCrowd)); n >= crowd {
				return fmt.Errorf("%d calls to the vCenter for %d nodes", n, crowd)
			}
			return nil
		},
	}}
}

func inCrowd(c lab.Call) bool { return c.VCenter == "crowd" }

// numbered are the names of a topology's replicas.
func numbered(name string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%02d", name, i+1)
	}
	return all
}

// startFew is about a vCenter that has room for one CCM.
func startFew(w *ground) { w.start(lab.CCMOptions{Name: "few", Config: w.config(nil, "few")}) }

func fewReports() []report {
	return []report{{
		saw: "a session for each lookup, until the vCenter has no more", issues: []string{"CAPV #1818", "CAPV #1578"}, nodes: numbered("few", few),
		run: func(ctx context.Context, w *ground) error {
			err := w.up(ctx, numbered("few", few)...)
			for _, c := range w.mark.Calls(isLogin) {
				if strings.HasPrefix(c.Method, "POST ") && (c.Errors > 0 || c.Calls > 1) {
					return fmt.Errorf("%d REST logins for %d nodes, %d of them refused", c.Calls, few, c.Errors)
				}
			}
			return err
		},
	}}
}

const doorTopology = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: door}
spec:
  vcenters:
  - name: door
    users: [{name: porter@services.local, password: porter}]
    permissions: [{user: porter@services.local, role: ReadOnly}]
    datacenters:
    - name: door
      hosts: [{name: h1}]
      vms: [{name: behind, role: worker, uuid: 42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7}]
`

// startDoor is about a separate vCenter that is known by its name, which the Secret has in another case.
func startDoor(w *ground) {
	w.t.Helper()
	top, err := topology.Load("door", []byte(doorTopology))
	if err != nil {
		w.t.Fatal(err)
	}
	s := sim.StartWith(w.t, sim.Options{Topology: top, CA: w.CA, Addresses: []string{net.JoinHostPort("127.0.0.1", "0")}})
	w.door = s.VCenters()[0]
	w.start(lab.CCMOptions{Name: "door", Config: w.config(func(conf map[string]any) {
		delete(conf, "labels")
		conf["vcenter"] = map[string]any{"door": map[string]any{"server": "localhost", "port": w.door.Port(), "datacenters": []string{"door"}}}
	})})
	w.WriteSecret(func(data map[string]string) {
		data["LOCALHOST.username"], data["LOCALHOST.password"] = "porter@services.local", "porter"
	})
}

func doorReports() []report {
	return []report{{
		saw: "the vCenter's host is in another case in the Secret", issues: []string{"kubernetes #90795"}, nodes: []string{"behind"},
		run: func(ctx context.Context, w *ground) error {
			behind := &lab.Machine{Name: "behind", UUID: "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7"}
			if err := w.Kubelets.Join(ctx, func(*corev1.Node) {}, behind); err != nil {
				return err
			}
			return w.runsOn(ctx, "behind", behind)
		},
	}}
}
