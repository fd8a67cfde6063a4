package paravirtual

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

// forget makes the Supervisor lose a VirtualMachine without a report.
func (s *fakeSupervisor) forget(name string) {
	s.set(func() { delete(s.objects["virtualmachines"], namespace+"/"+name) })
}

func (s *fakeSupervisor) delete(name string) {
	s.set(func() { s.drop("virtualmachines", namespace, name) })
}

// seen waits until a deletion has reached the provider.
func (r running) seen(t *testing.T, name string) {
	t.Helper()
	eventually(t, "seen", func() error {
		found := false
		r.vms.Load().Each(func(vm *vmachine) bool {
			found = found || vm.Name == name
			return true
		})
		if found {
			return errWaiting
		}
		return nil
	})
}

func code(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		status(w, code, metav1.StatusReasonInternalError, "injected")
		return true
	}
}

// The VM of a node is gone from the Supervisor's database, and something is wrong at the same time. The node is never reported gone,
// nor shut down, nor initialized, and the error says what is wrong.
func TestNothingIsDeletedOnDoubt(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*testing.T, running)
		want string // in the error
	}{
		{"API down", func(_ *testing.T, r running) { r.server.CloseClientConnections(); _ = r.server.Listener.Close() }, "not available"},
		{"refuses", func(_ *testing.T, r running) { r.set(func() { r.fault = code(503) }) }, "not available"},
		{"broken", func(_ *testing.T, r running) { r.set(func() { r.fault = code(500) }) }, "not available"},
		{"too many requests", func(_ *testing.T, r running) { r.set(func() { r.fault = code(429) }) }, "not available"},
		{"hangs", func(_ *testing.T, r running) {
			r.set(func() {
				r.fault = func(_ http.ResponseWriter, q *http.Request) bool { <-q.Context().Done(); return true }
			})
		}, "not available"},
		{"answers HTML, as a proxy", func(_ *testing.T, r running) {
			r.set(func() {
				r.fault = func(w http.ResponseWriter, _ *http.Request) bool {
					_, _ = w.Write([]byte("<html>please log in</html>"))
					return true
				}
			})
		}, "not JSON"},
		{"answers an empty object", func(_ *testing.T, r running) {
			r.set(func() {
				r.fault = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("{}")); return true }
			})
		}, "no list"},
		{"404 of a proxy", func(_ *testing.T, r running) {
			r.set(func() {
				r.fault = func(w http.ResponseWriter, _ *http.Request) bool { http.NotFound(w, nil); return true }
			})
		}, "the API is missing"},
		{"token expired", func(_ *testing.T, r running) { r.set(func() { r.tokens = map[string]bool{} }) }, "does not accept the token"},
		{"token file empty", func(t *testing.T, r running) { r.write(t, "token", "") }, "is empty"},
		{"403", func(_ *testing.T, r running) { r.set(func() { r.denied["list virtualmachines"] = true }) }, "has no right"},
		{"CRD missing", func(_ *testing.T, r running) { r.set(func() { r.versions = map[string][]string{} }) }, "and no API vmoperator.vmware.com"},
		{"another version", func(_ *testing.T, r running) {
			r.set(func() { r.versions = map[string][]string{"vmoperator.vmware.com": {"v1alpha5", "v1alpha6"}} })
		}, "it has vmoperator.vmware.com in v1alpha5, v1alpha6 only"},
		{"wrong namespace", func(t *testing.T, r running) {
			r.write(t, "namespace", "team-b")
			eventually(t, "the other namespace is in sync", func() error {
				if vms := r.vms.Load(); vms.Namespace() != "team-b" || vms.Current() != nil {
					return errWaiting
				}
				return nil
			})
		}, "has no VirtualMachine of any node"},
		{"an empty namespace", func(_ *testing.T, r running) { r.forget("worker-1") }, "has no VirtualMachine of any node"},
		{"another VM has no UUID yet", func(t *testing.T, r running) {
			r.edit(t, "virtualmachines", "worker-1", field("", "status", "biosUUID"))
		}, "may be the node's"},
		{"a VM of the node's name has no UUID, as after a restore", func(_ *testing.T, r running) {
			r.add(machine(0, field("", "status", "biosUUID"), field("2026-06-01T00:00:00Z", "metadata", "creationTimestamp")))
		}, "may be the node's"},
		{"the VM has another UUID", func(_ *testing.T, r running) {
			r.add(machine(0, field("42010203-aaaa-bbbb-cccc-000000000000", "status", "biosUUID")))
		}, "has another BIOS UUID now"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSupervisor(t)
			s.add(machine(0), machine(1))
			r := start(t, s, nil, true, newNode(0), newNode(1))
			s.forget("worker-0")
			tc.do(t, r)
			eventually(t, "the error", func() error {
				exists, err := r.InstanceExists(t.Context(), newNode(0))
				if !exists && err == nil {
					t.Fatal("reported gone")
				}
				if err == nil { // The store still has the VM; after a new list it does not. The watch may not have begun before.
					r.server.CloseClientConnections()
					return errWaiting
				}
				if !strings.Contains(err.Error(), tc.want) {
					return err
				}
				if !errors.Is(err, ErrDeletionHeldBack) {
					t.Errorf("not held back: %v", err)
				}
				return nil
			})
			if off, err := r.InstanceShutdown(t.Context(), newNode(0)); off {
				t.Errorf("reported off: %v", err)
			}
		})
	}
}

// A store that has not read anything yet answers nothing.
func TestNothingIsKnownBeforeTheFirstList(t *testing.T) {
	s := newSupervisor(t)
	s.set(func() { s.fault = code(503) })
	s.add(machine(0))
	r := start(t, s, nil, false, newNode(0))
	if exists, err := r.InstanceExists(t.Context(), newNode(0)); exists || err == nil {
		t.Errorf("exists: %v, %v", exists, err)
	}
	if m, err := r.InstanceMetadata(t.Context(), newNode(0)); m != nil || !errors.Is(err, supervisor.ErrUnavailable) {
		t.Errorf("metadata: %v, %v", m, err)
	}
	s.set(func() { s.fault = nil })
	eventually(t, "the Supervisor comes back", func() error {
		_, err := r.InstanceMetadata(t.Context(), newNode(0))
		return err
	})
}

func TestInstanceExists(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0), machine(1), machine(2))
	r := start(t, s, nil, true, newNode(0), newNode(1), newNode(2))
	exists := func(what string, n *corev1.Node, want bool) {
		t.Helper()
		if got, err := r.InstanceExists(t.Context(), n); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
	exists("there", newNode(0), true)
	if n := s.count("list virtualmachines"); n != 1 {
		t.Errorf("%d lists for a VM that is there", n)
	}
	s.delete("worker-0")
	r.seen(t, "worker-0")
	exists("deleted", newNode(0), false)
	exists("deleted, but its kubelet runs on another VM", newNode(0, func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = uuid(1) }), true)
	// A VM that is created later has no UUID yet: it cannot be the node's.
	s.add(machine(7, field("", "status", "biosUUID"), field("2026-06-01T00:00:00Z", "metadata", "creationTimestamp")))
	exists("deleted, while another one is created", newNode(0), false)
	// A VM of the same name, with another UUID, is another VM if it is newer.
	s.add(machine(0, field(uuid(9), "status", "biosUUID"), field("2026-06-01T00:00:00Z", "metadata", "creationTimestamp")))
	exists("replaced by one of its name", newNode(0), false)
	for what, edit := range map[string]func(*corev1.Node){
		"the node was replaced": func(n *corev1.Node) { n.UID = types.UID("older") },
		"the node is not known": func(n *corev1.Node) { n.Name = "other" },
	} {
		if got, err := r.InstanceExists(t.Context(), newNode(0, edit)); got || !errors.Is(err, errOutdated) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	// Without a providerID a node is never reported gone: upstream deletes it.
	if got, err := r.InstanceExists(t.Context(), newNode(0, func(n *corev1.Node) {
		n.Spec.ProviderID, n.Name, n.Status.NodeInfo.SystemUUID = "", "x", ""
	})); got || err == nil {
		t.Errorf("without a providerID: %v, %v", got, err)
	}
	for _, id := range []string{"aws:///i-1", "vsphere://nonsense"} {
		if got, err := r.InstanceExists(t.Context(), newNode(0, func(n *corev1.Node) { n.Spec.ProviderID = id })); got || err == nil {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
	// A VM that is being deleted, and has a finalizer, exists.
	s.edit(t, "virtualmachines", "worker-1", field("2026-06-01T00:00:00Z", "metadata", "deletionTimestamp"))
	exists("being deleted", newNode(1), true)
}

// The last VM of a cluster is gone: the list has no VM of any node, and only a report of the deletion distinguishes that from a wrong namespace.
func TestLastMachine(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0))
	r := start(t, s, nil, true, newNode(0))
	s.delete("worker-0")
	r.seen(t, "worker-0")
	if got, err := r.InstanceExists(t.Context(), newNode(0)); got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// The role that a Supervisor gives to guest clusters has no watch: the provider lists instead.
func TestWithoutTheRightToWatch(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0), machine(1))
	s.denied["watch virtualmachines"] = true
	var changed changes
	r := start(t, s, func(o *Options) { o.Resyncer = &changed }, true, newNode(0), newNode(1))
	s.edit(t, "virtualmachines", "worker-0", field("PoweredOff", "status", "powerState"))
	eventually(t, "off", func() error {
		if off, err := r.InstanceShutdown(t.Context(), newNode(0)); err != nil || !off {
			return errWaiting
		}
		return nil
	})
	s.delete("worker-0")
	eventually(t, "gone", func() error {
		if exists, err := r.InstanceExists(t.Context(), newNode(0)); exists || err != nil {
			return errWaiting
		}
		return nil
	})
	if changed.of("vsphere://"+uuid(0)) < 3 { // it appeared, was turned off, and disappeared
		t.Errorf("controllers were told of %d changes", changed.of("vsphere://"+uuid(0)))
	}
	if r.vms.Load().Current() != nil {
		t.Error("not current")
	}
}

// A token is replaced in the middle of everything, and the old one is refused at once, as by a Supervisor that rotates. Nothing
// fails, and no node is in doubt for longer than a request.
func TestTokenRotation(t *testing.T) {
	s := newSupervisor(t)
	s.add(machine(0), machine(1))
	r := start(t, s, nil, true, newNode(0), newNode(1))
	service := newService("web")
	// The token changes between the provider's reading of the file and the Supervisor's answer.
	rotated := false
	s.set(func() {
		s.fault = func(http.ResponseWriter, *http.Request) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !rotated {
				rotated = true
				s.write(t, "token", "token-2")
				s.tokens = map[string]bool{"token-2": true}
			}
			return false
		}
		s.react = assign("10.9.0.1")
	})
	if _, err := (loadBalancers{r.Provider}).EnsureLoadBalancer(t.Context(), cluster, service, nil); err != nil {
		t.Fatalf("a create in the middle of a rotation: %v", err)
	}
	if !rotated {
		t.Fatal("nothing was rotated")
	}
	s.delete("worker-0")
	r.seen(t, "worker-0")
	if exists, err := r.InstanceExists(t.Context(), newNode(0)); exists || err != nil {
		t.Errorf("after the rotation: %v, %v", exists, err)
	}
	// The new token comes late: until then nothing is known, and then all is.
	s.set(func() { s.fault, s.tokens = nil, map[string]bool{"token-3": true} })
	r.server.CloseClientConnections()
	eventually(t, "refused", func() error {
		if _, err := r.InstanceMetadata(t.Context(), newNode(1)); !errors.Is(err, supervisor.ErrUnauthorized) {
			return errWaiting
		}
		return nil
	})
	s.write(t, "token", "token-3")
	eventually(t, "accepted", func() error {
		_, err := r.InstanceMetadata(t.Context(), newNode(1))
		return err
	})
}

// The Supervisor's authority is replaced: connections that are made later trust the new one.
func TestAuthorityRotation(t *testing.T) {
	s, other := newSupervisor(t), newSupervisor(t)
	s.add(machine(0))
	r := start(t, s, nil, true, newNode(0))
	s.ca = other.ca
	certificate := s.certificate(t)
	s.server.TLS.Certificates[0] = certificate
	r.server.CloseClientConnections()
	eventually(t, "not trusted", func() error {
		_, err := r.InstanceMetadata(t.Context(), newNode(0))
		if err == nil || !strings.Contains(err.Error(), "is the authority of another API server, or was replaced") {
			return errors.Join(errWaiting, err)
		}
		return nil
	})
	s.write(t, "ca.crt", string(other.ca.Cert))
	eventually(t, "trusted", func() error {
		_, err := r.InstanceMetadata(t.Context(), newNode(0))
		return err
	})
}
