package provider

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const (
	w1UUID    = "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	w1Swapped = "3b0a0142-2d1c-5f4e-8071-92a3b4c5d6e7"
	u1UUID    = "42030a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	eu1UUID   = "42020a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	unknown   = "deadbeef-1c2d-4e5f-8071-92a3b4c5d6e7"
)

const zones = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      datacenters:
        - name: west
          region: us
          zone: us-west
          clusters: [{name: c1, hosts: [{name: h1}]}]
          vms:
            - {name: w1, hostname: w1, uuid: ` + w1UUID + `, nics: [{addresses: [198.18.5.1/16, "2001:db8::5/64"]}]}
            - {name: w2, hostname: w2}
        - name: untagged
          hosts: [{name: h2}]
          vms: [{name: u1, uuid: ` + u1UUID + `}]
        - name: nested
          region: us
          zone: outer
          clusters: [{name: c2, zone: inner, hosts: [{name: h4}]}]
          vms: [{name: nested, hostname: nested}]
    - name: eu
      datacenters:
        - name: dc
          region: eu
          zone: eu-all
          clusters: [{name: c1, hosts: [{name: h3}]}]
          vms: [{name: eu1, uuid: ` + eu1UUID + `}]
`

// world is simulated vCenters, a fake API server with the credentials, and a provider that uses them.
type world struct {
	*Provider
	sim  *sim.Lab
	k8s  *fake.Clientset
	stop func()
}

// setup configures a world.
type setup struct {
	topology string               // instead of zones, with as many vCenters
	secret   func(*corev1.Secret) // changes the Secret before the provider reads it
	options  func(*Options)
	conf     string              // added to vsphere.conf
	tenants  map[string]string   // added to a vCenter's section
	env      []string            // the environment
	gates    func(*world)        // called before the provider starts
	sections func(*world) string // the sections of vCenters, instead of one for each
}

// start runs all three until the test ends; edit may change the Secret before the provider reads it.
func start(t *testing.T, edit func(*corev1.Secret)) *world {
	t.Helper()
	return startWith(t, setup{secret: edit})
}

func startWith(t *testing.T, s setup) *world {
	t.Helper()
	top, err := topology.Load("test.yaml", []byte(cmp.Or(s.topology, zones)))
	if err != nil {
		t.Fatal(err)
	}
	// Two addresses, because credentials are found by host.
	w := &world{sim: sim.StartWith(t, sim.Options{Topology: top, Addresses: []string{"127.0.0.1:0", "127.0.0.2:0"}})}
	secret := w.secret()
	if s.secret != nil {
		s.secret(secret)
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: "other"}}
	w.k8s = fake.NewClientset(secret, other)
	opts := Options{CallTimeout: 3 * time.Second, MaxWait: time.Second, TagRefresh: time.Hour, StartWait: patience}
	if s.options != nil {
		s.options(&opts)
	}
	if w.Provider, err = New(w.config(t, s), opts); err != nil {
		t.Fatal(err)
	}
	if s.gates != nil {
		s.gates(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = func() {
		cancel()
		w.Wait()
	}
	t.Cleanup(w.stop)
	w.start(ctx, w.k8s)
	if s.secret == nil && s.gates == nil {
		eventually(t, "every vcenter is in sync", w.synced)
	}
	return w
}

// synced returns nil if every inventory is in sync, and otherwise an error with the vCenter.
func (w *world) synced() error {
	for _, s := range w.Health() {
		if !s.Synced {
			return fmt.Errorf("%s: connected %v, %w", s.Tenant, s.Connected, s.Err)
		}
	}
	return nil
}

func (w *world) secret() *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "creds"}, Data: map[string][]byte{}}
	for _, v := range w.sim.VCenters() {
		s.Data[v.Host()+".username"] = []byte(v.User())
		s.Data[strings.ToUpper(v.Host()+".password")] = []byte(v.Password() + "\n")
	}
	return s
}

func (w *world) config(t *testing.T, s setup) *config.Config {
	t.Helper()
	text := "global: {secretName: creds, secretNamespace: kube-system, caFile: " + w.sim.CAFile + ", ipFamily: [ipv4]}\n" +
		"labels: {region: k8s-region, zone: k8s-zone}\n" + s.conf + "vcenter:\n"
	if s.sections != nil {
		text += s.sections(w)
	} else {
		for _, v := range w.sim.VCenters() {
			text += fmt.Sprintf("  %s: {server: %s, port: %d%s}\n", v.Name(), v.Host(), v.Port(), s.tenants[v.Name()])
		}
	}
	cfg, err := config.Load("vsphere.conf", []byte(text), config.WithEnvironment(s.env))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (w *world) update(t *testing.T, s *corev1.Secret) {
	t.Helper()
	if _, err := w.k8s.CoreV1().Secrets(s.Namespace).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) gate(t *testing.T, vcenter string, s gate.State) {
	t.Helper()
	v, _ := w.sim.VCenter(vcenter)
	if err := v.Gate().Set(t.Context(), gate.Mode{State: s}); err != nil {
		t.Fatal(err)
	}
}

// do runs tasks on a VM of the first vCenter.
func (w *world) do(t *testing.T, path string, steps ...func(*object.VirtualMachine, context.Context) (*object.Task, error)) {
	t.Helper()
	vm, err := find.NewFinder(w.sim.Client(w.sim.VCenters()[0].Name()).Client).VirtualMachine(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		task, err := step(vm, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// events returns the events with a reason so far, all if it is empty.
func (w *world) events(t *testing.T, reason string) []corev1.Event {
	t.Helper()
	list, err := w.k8s.CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []corev1.Event
	for _, e := range list.Items {
		if reason == "" || e.Reason == reason {
			found = append(found, e)
		}
	}
	return found
}

// patience is long enough for busy machines.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, cond func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = cond(); err == nil {
			return
		}
	}
	t.Fatalf("not within %s: %s: %v", patience, what, err)
}

func node(name, providerID, systemUUID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{SystemUUID: systemUUID}},
	}
}
