package paravirtual

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What prevents a start is an error that says which file, flag or variable.
func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*testing.T, *fakeSupervisor, *Options)
		want string
	}{
		{"no directory", func(_ *testing.T, _ *fakeSupervisor, o *Options) { o.Supervisor.Directory = "/does/not/exist" }, "the directory needs token, ca.crt and namespace of the guest cluster's service account"},
		{"no token", func(t *testing.T, s *fakeSupervisor, _ *Options) { s.write(t, "token", "\n") }, "token is empty"},
		{"no certificate", func(t *testing.T, s *fakeSupervisor, _ *Options) { s.write(t, "ca.crt", "x") }, "ca.crt: no certificate in it"},
		{"no namespace", func(t *testing.T, s *fakeSupervisor, _ *Options) { s.write(t, "namespace", "") }, `namespace: "" is not a namespace`},
		{"no port", func(_ *testing.T, _ *fakeSupervisor, o *Options) { o.Supervisor.Port = "" }, "SUPERVISOR_APISERVER_PORT is not set"},
		{"no owner", func(_ *testing.T, _ *fakeSupervisor, o *Options) { o.OwnerReferenceFile = "/does/not/exist" }, "it is the ownerref.json of the ConfigMap ccm-owner-reference"},
		{"owner is not JSON", func(t *testing.T, s *fakeSupervisor, _ *Options) { s.write(t, "ownerref.json", "kind: Cluster") }, "ownerref.json: invalid character"},
		{"owner without uid", func(t *testing.T, s *fakeSupervisor, _ *Options) {
			s.write(t, "ownerref.json", `{"apiVersion":"v1","kind":"Cluster","name":"guest"}`)
		}, "uid is missing"},
		{"no cluster", func(_ *testing.T, _ *fakeSupervisor, o *Options) { o.ClusterName = "" }, "--cluster-name is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSupervisor(t)
			o := s.options(t)
			tc.do(t, s, &o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// Credentials that lead to the guest cluster itself are recognized.
func TestLeadsToTheGuest(t *testing.T) {
	s := newSupervisor(t)
	s.versions = nil // as every cluster that is no Supervisor
	r := start(t, s, func(o *Options) { o.Supervisor.GuestCA = append(s.ca.Cert, '\n') }, false, newNode(0))
	eventually(t, "the reason", func() error {
		_, err := r.InstanceMetadata(t.Context(), newNode(0))
		if err == nil || !strings.Contains(err.Error(), "leads to the guest instead of the Supervisor") {
			return fmt.Errorf("%w", err)
		}
		return nil
	})
}

// A node that waits gets one Event that says what for, and one when it is over.
func TestNodeEvents(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0, field(nil, "status", "network")), machine(1))
	n := newNode(0, uninitialized)
	r := start(t, s, nil, true, n)
	reasons := func() (all []string) {
		list, err := r.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			all = append(all, e.Type+" "+e.Reason)
		}
		return all
	}
	eventually(t, "a reason", func() error {
		if _, err := r.InstanceMetadata(t.Context(), n); err == nil {
			t.Fatal("no error")
		}
		if got := strings.Join(reasons(), ", "); got != "Warning GuestNotReporting" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	s.edit(t, "virtualmachines", "worker-0", field("10.1.0.1", "status", "network", "primaryIP4"))
	eventually(t, "it is over", func() error {
		if _, err := r.InstanceMetadata(t.Context(), n); err != nil {
			return err
		}
		if got := strings.Join(reasons(), ", "); !strings.Contains(got, "Normal NodeWell") {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
}

// A VM moves: the controllers are notified at once, and the zone follows.
func TestZoneMove(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0))
	var changed changes
	r := start(t, s, func(o *Options) { o.Resyncer = &changed }, true, newNode(0))
	before := changed.of("vsphere://" + uuid(0))
	s.edit(t, "virtualmachines", "worker-0", field("zone-b", "metadata", "labels", "topology.kubernetes.io/zone"))
	eventually(t, "notified", func() error {
		if changed.of("vsphere://"+uuid(0)) == before {
			return errWaiting
		}
		return nil
	})
	if m, err := r.InstanceMetadata(t.Context(), newNode(0)); err != nil || m.Zone != "zone-b" {
		t.Errorf("%v, %v", m, err)
	}
}

// The namespace in the credentials changes: the VMs of the new one count.
func TestNamespaceChanges(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0))
	r := start(t, s, nil, true, newNode(0))
	s.set(func() {
		s.put("virtualmachines", machine(1, field("team-b", "metadata", "namespace")), "ADDED")
	})
	s.write(t, "namespace", "team-b")
	eventually(t, "a VM of the new namespace", func() error {
		_, err := r.InstanceMetadata(t.Context(), newNode(1))
		return err
	})
}

// Probes report what the Supervisor does.
func TestHealth(t *testing.T) {
	s := newSupervisor(t)
	o := s.options(t)
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if all := p.Health(); all != nil {
		t.Errorf("before Initialize: %v", all)
	}
	r := start(t, s, nil, true)
	if all := r.Health(); len(all) != 1 || !all[0].Connected || !all[0].Synced || all[0].Err != nil {
		t.Errorf("%+v", all)
	}
	s.set(func() { s.fault = code(503) })
	s.server.CloseClientConnections()
	eventually(t, "not ready", func() error {
		if all := r.Health(); all[0].Synced || all[0].Err == nil {
			return errWaiting
		}
		return nil
	})
}
